// The text that `httpdnsctl setup` writes, for every combination of answers.

import DNSWire
import Settings
import Testing

@testable import httpdnsctl

@Suite("The settings file of setup")
struct SetupTextTests {
    @Test("every combination of answers is a valid file with the chosen values", arguments: Combinations.providers)
    func combinations(_ providers: String) throws {
        for account in Combinations.accounts {
            for (index, lan) in Combinations.lan.enumerated() {
                let takeOver = index.isMultiple(of: 2) ? "yes" : "no"
                let line = "--providers \(providers) \(account) --lan \(lan) --take-over \(takeOver)"
                try check(answers(line), line)
            }
        }
    }

    private func check(_ answers: SetupAnswers, _ line: String) throws {
        #expect(answers.missing.isEmpty, "\(line)")
        let text = try answers.settingsFile().text
        let settings = try parsed(text)
        let isEmpty = answers.providers?.isEmpty == true && answers.service == nil
        #expect(settings.onlyListed == isEmpty, "\(line)")
        let expected = isEmpty ? Settings.Provider.builtIn : (answers.providers ?? []).map(\.provider)
        #expect(Array(settings.providers.prefix(expected.count)) == expected, "\(line)")
        #expect(settings.providers.count == expected.count + (answers.service == nil ? 0 : 1), "\(line)")
        if let service = answers.service {
            let last = settings.providers.last
            #expect(last?.dialect == service.dialect && last?.name == service.providerName, "\(line)")
            #expect(last?.account == answers.accountID && last?.keyFile == answers.keyFile, "\(line)")
            #expect(last?.accessKey == answers.accessKey && last?.url.description == answers.providerURL, "\(line)")
        }
        let listen = (answers.lan ?? []).map(\.listen)
        #expect(settings.server.listen.addresses == Settings.defaults.server.listen.addresses + listen, "\(line)")
        #expect(settings.server.allow == Settings.defaults.server.allow + answers.networks, "\(line)")
        #expect(listen.isEmpty == answers.networks.isEmpty, "\(line)")
        // The settings differ from the defaults only by the answers, and --print-effective shows all of them.
        var others = settings
        (others.onlyListed, others.providers, others.server) = (
            false, Settings.Provider.builtIn, Settings.defaults.server
        )
        #expect(others == .defaults, "\(line)")
        #expect(try parsed(settings.effectiveTOML) == settings, "\(line)")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 120 }, "\(line)")
        try checkArguments(of: answers, text)
    }

    /// Checks that the command line in the file's comment writes the same file.
    private func checkArguments(of answers: SetupAnswers, _ text: String) throws {
        // The shell takes the quotes.
        let words = answers.command(at: ExaminedSettings.standardPath).flatMap(\.self)
            .map { $0.replacing("'", with: "") }
        #expect(words.prefix(3) == ["httpdnsctl", "setup", "--replace"])
        let again = try httpdnsctl.SetupFlags(Array(words.dropFirst(2)), output: "")
        #expect(again.output == "" && again.replaces)
        #expect(try SetupAnswers(again, machine: sampleMachine).settingsFile().text == text, "\(words)")
    }

    @Test("a file as a whole")
    func whole() throws {
        let line = "--providers google --account baidu --account-id 100 --key-file /etc/httpdnsd/baidu.key "
        #expect(
            try answers(line + "--lan 192.168.7.5 --take-over no").settingsFile().text == """
                #:schema file:///usr/share/httpdnsd/httpdnsd.schema.json
                # Settings of httpdnsd, written by "httpdnsctl setup". This command writes the same file:
                #   httpdnsctl setup --replace --providers google --account baidu --account-id 100 \\
                #       --key-file /etc/httpdnsd/baidu.key --lan 192.168.7.5 --take-over no
                # All keys and their defaults: man httpdnsd.toml
                # Check a changed file: httpdnsd --check
                # Have the daemon read it: httpdnsctl reload

                [server]
                # This machine and its network. Changes of these two keys need a restart.
                listen = ["127.0.0.1:53", "[::1]:53", "192.168.7.5:53"]
                allow = ["127.0.0.0/8", "::1/128", "192.168.7.0/24"]

                # Public providers, without an account. Each sees the names that it is asked for. They are
                # ranked by measurements; their order means nothing.
                # Google, United States; blocks nothing; sends client subnets
                [[provider]]
                name = "google"
                dialect = "doh"
                url = "https://dns.google/dns-query"
                addresses = ["8.8.8.8", "8.8.4.4"]

                # Baidu: HTTPDNS. It sees the names that it is asked for.
                # Further keys of this dialect: man httpdnsd-providers
                [[provider]]
                name = "baidu"
                dialect = "baidu"
                url = "https://180.76.76.200/v4/resolve"
                account = "100"
                key-file = "/etc/httpdnsd/baidu.key"

                """)
    }

    @Test("another path stands in the commands of the file's comment")
    func otherPath() throws {
        let answers = try answers("--providers google --account no --lan no --take-over no")
        let text = try answers.settingsFile(at: "/srv/my files/dns.toml").text
        #expect(text.contains("#   httpdnsctl setup --replace --output '/srv/my files/dns.toml' --providers google"))
        #expect(text.contains("# Check a changed file: httpdnsd --check --config '/srv/my files/dns.toml'\n"))
        for wrong in ["/a\nlisten = 1", "/a\"b"] {
            #expect(throws: SetupRefusal.self) { try answers.settingsFile(at: wrong) }
        }
    }

    @Test("the key itself is in no text")
    func secret() throws {
        var machine = sampleMachine
        machine.keyFile = { _ in .missing }
        var typed = try answers(
            "--providers none --account baidu --account-id 1 --key-file /k --lan no --take-over no", machine)
        #expect(typed.needsKey)
        try typed.takeKey("hunter2")
        #expect(!typed.needsKey && typed.missing.isEmpty)
        #expect(!(try typed.settingsFile()).text.contains("hunter2"))
        #expect(!typed.command(at: "/x").joined().contains("hunter2"))
        #expect(
            SetupSummary(typed, former: nil, leftOut: []).rows.allSatisfy {
                !$0.map(\.english).joined().contains("hunter2")
            })
        for wrong in ["", "two words", "ключ", String(repeating: "k", count: 1024)] {
            #expect(throws: SetupRefusal.self) { try typed.takeKey(wrong) }
        }
    }
}

@Suite("The services of setup")
struct VendorAccountTests {
    @Test("what a service requires is what its dialect requires", arguments: VendorAccount.all)
    func requirements(_ service: VendorAccount) throws {
        let given = try flags(service.requiredFlags).answers.keys
        let keys: [(SetupFlags.Answer, Bool)] = [
            (.accountID, service.needs(.account)), (.accessKey, service.needs(.accessKey)),
            (.keyFile, service.needs(.keyFile)), (.addresses, service.needsAddresses),
        ]
        for (key, isNeeded) in keys {
            let others = try flags(service.requiredFlags).answers.filter { $0.key != key }
            let words = others.flatMap { [$0.key.rawValue, $0.value] }.joined(separator: " ")
            let rest = try answers("--providers none --lan no --take-over no " + words)
            #expect(given.contains(key) == isNeeded, "\(key)")
            #expect(rest.missing == (isNeeded ? [key] : []), "\(key)")
            if isNeeded { #expect(throws: SetupRefusal.self, "\(key)") { try rest.settingsFile() } }
        }
    }

    @Test("names and dialects are the settings' own")
    func names() {
        for service in VendorAccount.all where service.dialect != .json {
            #expect(service.name == service.dialect.rawValue)
        }
        let accounts = Settings.Provider.Dialect.allCases.filter { ![.dnspod, .doh, .template].contains($0) }
        #expect(Set(VendorAccount.all.map(\.dialect)) == Set(accounts))
    }
}
