// Wrong command lines of `httpdnsctl setup`, each with the message that it gets.

import DNSWire
import LinuxIO
import Testing

@testable import httpdnsctl

@Suite("The flags of setup")
struct SetupFlagsTests {
    @Test("flags are read in any order")
    func read() throws {
        let read = try flags("--replace --lan no --output /tmp/x --dry-run --providers google")
        #expect(read.replaces && read.isDryRun && read.output == "/tmp/x")
        #expect(read.answers == [.lan: "no", .providers: "google"])
    }

    private static let path =
        "a path that begins with / is needed; put the key itself into that file. "
        + "A systemd credential is named as credential:NAME"

    private static let services =
        "no, alidns, alicloud, alicloud-v2, dnspod-https, dnspod-aes, dnspod-des, volcengine, baidu, ucloud"

    private static let pairs = "IP addresses with the host of their provider: HOST=ADDR,HOST=ADDR"

    @Test(
        "a wrong flag is refused, and the message says what is allowed",
        arguments: [
            ("nonsense", "unknown argument nonsense of setup"),
            ("--nonsense x", "unknown argument --nonsense of setup"),
            ("--lan", "--lan needs a value"),
            ("--lan --dry-run", "--lan needs a value"),
            ("--lan no --lan no", "--lan is given twice"),
            ("--output", "--output needs a value"),
            (
                "--providers gogle",
                "--providers: found \"gogle\"; allowed: \(presets); did you mean \"google\"?"
            ),
            (
                "--providers none,google",
                "--providers: none and providers exclude each other; leave one of them out"
            ),
            (
                "--providers ,",
                "--providers: found \",\"; allowed: \(presets)"
            ),
            ("--provider-addresses 192.0.2.1", "--provider-addresses: found \"192.0.2.1\"; allowed: \(pairs)"),
            ("--providers google --provider-addresses x=y", "--provider-addresses: found \"x=y\"; allowed: \(pairs)"),
            (
                "--providers google --provider-addresses a.example=192.0.2.1",
                "--provider-addresses: no provider of --providers has the host \"a.example\""
            ),
            ("--account yes", "--account: found \"yes\"; allowed: \(services)"),
            ("--account bidu", "--account: found \"bidu\"; allowed: \(services); did you mean \"baidu\"?"),
            ("--account-id 5", "--account-id: found without an account; add --account SERVICE"),
            (
                "--account no --addresses 192.0.2.1",
                "--addresses: found without an account; add --account SERVICE"
            ),
            (
                "--account baidu --account-id ä",
                "--account-id: found a value that is not shown, because it may be a key; allowed: 1 to 64 letters, "
                    + "digits, \"-\", \"_\" or \".\""
            ),
            (
                "--account baidu --access-key x",
                "--access-key: found with dialect \"baidu\"; allowed: with \"json\""
            ),
            (
                "--account baidu --key-file credential:a/b",
                "--key-file: found a value that is not shown, because it may be a key; allowed: the absolute path of "
                    + "a file, or the name of a systemd credential"
            ),
            (
                "--account baidu --key-file 3f9c1b7a",
                "--key-file: \(path)"
            ),
            (
                "--account baidu --key-file credential:",
                "--key-file: \(path)"
            ),
            (
                "--account baidu --key-file /a/\"b",
                "--key-file: found \"/a/\\\"b\"; allowed: a path without quotes and invisible characters"
            ),
            (
                "--account baidu --key-file /a\"b",
                "--key-file: found (a value that is not shown, because it may be a key); allowed: a path without "
                    + "quotes and invisible characters"
            ),
            (
                "--account baidu --url example.com",
                "--url: found \"example.com\"; allowed: \"https://HOST[:PORT]/PATH\" or \"http://HOST[:PORT]/PATH\" "
                    + "without user name, query and fragment; a scheme is missing: write \"https://example.com/\""
            ),
            (
                "--account baidu --addresses a.example",
                "--addresses: found \"a.example\"; allowed: IP addresses of the service, such as 192.0.2.1"
            ),
            (
                "--lan eth0",
                "--lan: found \"eth0\"; allowed: no, or addresses of this machine: ADDR, ADDR:PORT or [ADDR]:PORT"
            ),
            ("--lan 192.168.7.5,no", "--lan: no and addresses exclude each other; leave one of them out"),
            (
                "--lan ::ffff:192.168.7.5",
                "--lan: ::ffff:192.168.7.5 is an IPv4 address in IPv6 form; write 192.168.7.5"
            ),
            (
                "--lan fe80::1",
                "--lan: fe80::1 is link-local, and settings cannot name its interface; name another address here"
            ),
            ("--lan 192.168.7.5:0", "--lan: port 0 cannot be queried"),
            ("--allow 10.0.0.0/8", "--allow: needs an address for --lan"),
            ("--lan no --allow 10.0.0.0/8", "--allow: needs an address for --lan"),
            (
                "--lan 192.168.7.5 --allow 10.0.0.1/8",
                "--allow: found \"10.0.0.1/8\"; allowed: networks of other machines, such as 192.168.1.0/24"
            ),
            (
                "--lan 192.168.7.5 --allow 127.0.0.0/8",
                "--allow: found \"127.0.0.0/8\"; allowed: networks of other machines, such as 192.168.1.0/24"
            ),
            ("--take-over maybe", "--take-over: found \"maybe\"; allowed: yes, no"),
        ] as [(String, String)])
    func refused(_ line: String, _ reason: String) {
        #expect(throws: SetupRefusal(LocalizedText(verbatim: reason))) { try answers(line) }
    }

    @Test(
        "an address that no other machine can query is refused",
        arguments: [
            "0.0.0.0", "0.0.0.1", "::", "127.0.0.2", "::1", "224.0.0.1", "239.1.2.3", "ff02::1", "240.0.0.1",
            "255.255.255.255", "192.168.7.0", "192.168.7.255:5353",
        ])
    func unreachable(_ address: String) {
        let shown = address.replacing(":5353", with: "")
        let reason =
            "--lan: other machines can't reach this one at \(shown); name an address of one of its interfaces"
        #expect(throws: SetupRefusal(LocalizedText(verbatim: reason))) { try answers("--lan \(address)") }
    }

    @Test("an interface's network of one address tells no network")
    func hostRoutes() throws {
        var machine = sampleMachine
        machine.addresses = [
            InterfaceAddress(interface: "wg0", address: .v4(0x0A08_0002), prefixLength: 32),
            InterfaceAddress(interface: "wg0", address: .v6(high: 0xFD00_0000_0000_0000, low: 2), prefixLength: 128),
        ]
        let line = "--providers google --account no --take-over no --lan 10.8.0.2,fd00::2"
        #expect(try answers(line, machine).missing == [.allow])
        #expect(try answers(line, machine).addressesWithoutNetwork == "10.8.0.2, fd00::2")
        #expect(try answers(line + " --allow 10.8.0.0/24", machine).missing == [])
    }

    @Test("yes and no may be short")
    func yesAndNo() throws {
        for (word, isYes) in [("yes", true), ("y", true), ("Y", true), ("no", false), ("n", false), ("No", false)] {
            #expect(try answers("--take-over \(word)").takesOver == isYes)
        }
        let short = try answers("--account n --lan N")
        #expect(short.account == .no && short.lan == [])
    }

    @Test("standard output means a dry run")
    func standardOutput() throws {
        let read = try flags("--output -")
        #expect(read.isDryRun && read.output == "/etc/httpdnsd/httpdnsd.toml")
    }

    @Test("without root nothing is taken over")
    func unprivileged() throws {
        var machine = sampleMachine
        machine.isRoot = false
        let reason = "--take-over: only root can change this machine's resolver; run setup with sudo"
        #expect(throws: SetupRefusal(LocalizedText(verbatim: reason))) { try answers("--take-over yes", machine) }
        #expect(try answers("--providers none --account no --lan no", machine).missing.isEmpty)
        machine.isDryRun = true
        #expect(try answers("--take-over yes", machine).takesOver == true)
    }

    @Test("a key file that the daemon cannot use is refused with its remedy")
    func keyFile() throws {
        var machine = sampleMachine
        let line = "--account baidu --account-id 1 --key-file /d/k"
        machine.keyFile = { .fault("\($0) is accessible to all users; remedy: chmod o= \($0)") }
        let reason = "--key-file: /d/k is accessible to all users; remedy: chmod o= /d/k"
        #expect(throws: SetupRefusal(LocalizedText(verbatim: reason))) { try answers(line, machine) }
        machine.keyFile = { _ in .missing }
        #expect(try answers(line, machine).needsKey)
        #expect(try !answers("--account baidu --account-id 1 --key-file credential:k", machine).needsKey)
        machine.isDryRun = true
        #expect(try !answers(line, machine).needsKey)
    }

    @Test("answers that are missing are named, in the order of the questions")
    func missing() throws {
        #expect(try answers("").missing == [.providers, .account, .lan, .takeOver])
        #expect(
            try answers("--providers none --account volcengine --lan 198.51.100.1 --take-over no").missing
                == [.accountID, .keyFile, .allow])
        #expect(try answers("--account volcengine --url https://192.0.2.1/").missing.contains(.addresses) == false)
        #expect(try answers("--account alidns --url http://dns.example/").missing.contains(.addresses))
        #expect(try !answers("--account alidns --url https://dns.example/").missing.contains(.addresses))
        #expect(try answers("--lan 192.168.7.5").networks.map(\.description) == ["192.168.7.0/24"])
    }
}
