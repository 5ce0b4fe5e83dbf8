// The check whether programs find the daemon, in every distinguished state of resolv.conf and nsswitch.conf.

import DNSWire
@testable import httpdnsctl
import Resolver
import Testing

@Suite("The way of programs to the daemon")
struct ResolvConfCheckTests {
    private static let ourselves = ListenAddresses([(.v4(0x7F00_0001), 53)])

    private func check(
        _ file: ResolvConfCheck.File, others: String = "nameserver 192.0.2.1\n", resolved: String = "",
        forwarders: Set<Nameserver> = [], isTakenOver: Bool = false, isImmutable: Bool = false, isMounted: Bool = false,
        ourPlace: String? = "127.0.0.1"
    ) -> ResolvConfCheck {
        let sources = NameserverSources(
            configured: [], resolvConf: "/etc/resolv.conf",
            contents: ["/run/systemd/resolve/resolv.conf": Array(others.utf8)],
            without: ResolvConfCheckTests.ourselves)
        return ResolvConfCheck(
            file: file, ourselves: ResolvConfCheckTests.ourselves, ourPlace: ourPlace, sources: sources,
            resolvedServers: Array(resolved.utf8), forwarders: forwarders, isTakenOver: isTakenOver,
            isImmutable: isImmutable,
            isMounted: isMounted)
    }

    private func text(_ text: String, isForEverybody: Bool = true) -> ResolvConfCheck.File {
        .text(Array(text.utf8), isForEverybody: isForEverybody)
    }

    @Test("a file that names the daemon alone is in order")
    func healthy() {
        let check = check(text("nameserver 127.0.0.1\noptions edns0\n"))
        #expect(check.findings.isEmpty && check.leadsToUs)
    }

    @Test(
        "each state of the file has its words",
        arguments: [
            ("nameserver 192.0.2.9\n", "not the daemon"), ("", "names no nameserver"),
            ("nameserver 127.0.0.1\nnameserver 192.0.2.9\n", "in addition to the daemon"),
            ("nameserver 127.0.0.11\n", "Docker's own resolver"), ("nameserver 127.0.0.53\n", "systemd-resolved"),
            ("nameserver 127.0.0.1\nnameserver router\n", "no addresses: router"),
            ("nameserver 192.0.2.9\nnameserver 127.0.0.1\nnameserver 192.0.2.8\n", "names 192.0.2.9 before the daemon"),
            ("search lan\r\nnameserver 127.0.0.1\r\n", "end with CR LF"),
        ])
    func states(file: String, words: String) {
        let findings = check(text(file)).findings
        #expect(findings.count == 1 && findings[0].text.english.contains(words), "\(findings)")
    }

    @Test("a file that is missing, or not readable for all users, is a fault")
    func access() {
        #expect(check(.missing).findings.map(\.gravity) == [.fault])
        #expect(check(.dangling(to: "../run/x")).findings[0].text.english.contains("../run/x"))
        #expect(check(.unreadable("EIO")).findings[0].text.english.contains("EIO"))
        let closed = check(text("nameserver 127.0.0.1\n", isForEverybody: false))
        #expect(closed.findings.map(\.remedy.english) == ["chmod 644 /etc/resolv.conf"])
    }

    @Test("more nameservers than programs read are counted, ours among them")
    func many() {
        let lines = (1...4).map { "nameserver 127.0.0.1\nnameserver 192.0.2.\($0)\n" }.joined()
        #expect(check(text(lines)).findings.contains { $0.text.english.hasPrefix("names 8 nameservers") })
        let three = "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n"
        #expect(!check(text(three)).findings.contains { $0.text.english.contains("programs read the first") })
    }

    @Test("a daemon without another nameserver behind it is reported")
    func loop() {
        let findings = check(text("nameserver 127.0.0.1\n"), others: "").findings
        #expect(findings.count == 1 && findings[0].remedy.english.contains("[system-resolver]"))
    }

    @Test("a file that was taken over and names another server is a fault")
    func rewritten() {
        let findings = check(text("nameserver 192.0.2.9\n"), isTakenOver: true).findings
        #expect(findings.map(\.gravity) == [.fault] && findings[0].text.english.contains("rewritten since"))
    }

    @Test("what keeps the file from being written stands with the remedy")
    func hindrances() {
        let other = text("nameserver 192.0.2.9\n")
        #expect(check(other, isImmutable: true).findings[0].remedy.english.contains("chattr -i"))
        #expect(check(other, isMounted: true).findings[0].remedy.english.contains("mounted from the host"))
    }

    @Test("systemd-resolved in between is as good, when it asks the daemon")
    func throughResolved() {
        let check = check(text("nameserver 127.0.0.53\n"), resolved: "nameserver 127.0.0.1\n")
        #expect(check.findings.isEmpty && check.leadsToUs)
    }

    @Test("a named server that was seen to query the daemon is accepted")
    func forwarded() {
        let file = text("nameserver 127.0.0.2\n")
        let check = check(file, forwarders: [Nameserver(.v4(0x7F00_0002))])
        #expect(check.findings.isEmpty && check.leadsToUs)
        let others = ResolvConfCheck.otherServers(file, without: ResolvConfCheckTests.ourselves)
        #expect(others == [Nameserver(.v4(0x7F00_0002))])
    }

    @Test("a daemon without port 53 is the port's matter")
    func otherPort() {
        #expect(check(text("nameserver 192.0.2.9\n"), ourPlace: nil).findings.isEmpty)
    }

    @Test(
        "the hosts line lets programs through, or says what stops them",
        arguments: [
            ("hosts: files dns", nil), ("hosts:\tfiles mdns4_minimal [NOTFOUND=return] dns myhostname", nil),
            ("# hosts: x\nHOSTS : files dns # dns", nil), ("passwd: files", "no hosts line"),
            ("hosts: files", "without dns"), ("hosts: dns files", "comes before files"),
            ("hosts: files mdns4 [NOTFOUND=return] dns", "mdns4 ends the search"),
            ("hosts: files [ NotFound=Return ] dns", "files ends the search"),
            ("hosts: files resolve [!UNAVAIL=return] dns", "systemd-resolved"), ("hosts: [", "without dns"),
        ] as [(String, String?)])
    func switches(file: String, words: String?) {
        let findings = NSSwitchCheck(text: Array(file.utf8), hasResolved: true, isResolvedOurs: false).findings
        #expect(findings.count == (words == nil ? 0 : 1), "\(findings)")
        if let words { #expect(findings.allSatisfy { $0.text.english.contains(words) }, "\(findings)") }
    }

    @Test("nss-resolve is in order without systemd-resolved, or when that asks the daemon")
    func resolve() {
        let text = Array("hosts: resolve [!UNAVAIL=return] files dns".utf8)
        #expect(NSSwitchCheck(text: text, hasResolved: false, isResolvedOurs: false).findings.isEmpty)
        #expect(NSSwitchCheck(text: text, hasResolved: true, isResolvedOurs: true).findings.isEmpty)
        #expect(NSSwitchCheck(text: nil, hasResolved: true, isResolvedOurs: true).findings.count == 1)
    }
}
