// The output of `--check` for settings without errors.

import Settings
import Testing

@testable import Daemon
@testable import Upstreams

@Suite("Check report")
struct CheckReportTests {
    private func report(_ text: String) throws -> CheckReport {
        CheckReport(try Settings.parse(bytes: Array(text.utf8), file: "f"), file: "f")
    }

    private func provider(_ dialect: String, _ url: String, _ keys: String = "") -> String {
        "[[provider]]\nname = \"a\"\ndialect = \"\(dialect)\"\nurl = \"\(url)\"\n\(keys)\n"
    }

    @Test("providers and rules are counted, also one of them")
    func counts() throws {
        #expect(try report("").text == "f: valid: 4 providers, 0 rules\n")
        let text = provider("doh", "https://192.0.2.1/") + "[[rule]]\nmatch = [\"a.example\"]\nstale = false"
        #expect(try report(text).text == "f: valid: 1 provider, 1 rule\n")
    }

    @Test("only providers that are asked count, and are warned of")
    func onlyListed() throws {
        let providers =
            provider("json", "http://192.0.2.1/")
            + provider("doh", "https://192.0.2.2/").replacing("\"a\"", with: "\"b\"")
        let rule = { (resolver: String) in "[[rule]]\nmatch = [\"a.example\"]\nresolver = \"\(resolver)\"\n" }
        for (rest, asked, isWarned) in [
            ("", "no provider is asked, 0 rules", false),
            (providers, "no provider is asked, 0 rules", false),
            (providers + rule("system"), "no provider is asked, 1 rule", false),
            (providers + rule("b"), "1 provider, 1 rule", false),
            (providers + rule("a"), "1 provider, 1 rule", true),
            (providers + rule("httpdns"), "2 providers, 1 rule", true),
            (providers + "[[rule]]\nmatch = [\"a.example\"]\nstale = false\n", "2 providers, 1 rule", true),
        ] {
            let report = try report("only-listed = true\n" + rest)
            #expect(report.text == "f: valid: \(asked)\n")
            #expect(report.warnings.isEmpty != isWarned, "\(rest)")
        }
    }

    @Test("a family that no provider serves is named once")
    func oneFamily() throws {
        let template = { (name: String, path: String) in
            """
            [[provider]]
            name = "\(name)"
            dialect = "template"
            url = "https://192.0.2.1/q"
            addresses = ["192.0.2.1"]
            [provider.template]
            query = "dn={name}"
            \(path) = "ips"

            """
        }
        func warnings(_ text: String) throws -> [String] {
            let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
            return CheckReport(settings, try settings.providers.map { try ProviderAccount($0) }, file: "f").warnings
        }
        let rest =
            "queries: the system resolver answers them, or they get no data if there is none; add a provider for them"
        #expect(
            try warnings(template("a", "v4") + template("b", "v4")) == [
                "f: warning: no provider serves AAAA \(rest)"
            ])
        #expect(try warnings(template("a", "v6")) == ["f: warning: no provider serves A \(rest)"])
        #expect(try warnings(template("a", "v4") + template("b", "v6")) == [])
        #expect(try warnings(template("b", "v4") + provider("doh", "https://192.0.2.1/")) == [])
        #expect(try warnings("") == [])
    }

    @Test("preferred addresses that are never verified are warned of")
    func preferredWithoutProbes() throws {
        func warnings(_ isEnabled: Bool) throws -> [String] {
            let text = """
                [probe]
                enabled = \(isEnabled)
                [[rule]]
                match = ["edge.example"]
                prefer-addresses = ["203.0.113.0/24"]
                """
            return CheckReport(try Settings.parse(bytes: Array(text.utf8), file: "f"), file: "f").warnings
        }
        #expect(try warnings(true).filter { $0.contains("prefer-addresses") } == [])
        #expect(
            try warnings(false).filter { $0.contains("prefer-addresses") } == [
                "f: warning: rule.prefer-addresses has no effect with probe.enabled = false, as only verified "
                    + "addresses are given"
            ])
    }

    @Test("ways around a provider that blocks names are warned of")
    func waysAroundFilters() throws {
        func warnings(_ text: String) throws -> [String] {
            let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
            return CheckReport(settings, try settings.providers.map { try ProviderAccount($0) }, file: "f").warnings
        }
        let filter = provider("doh", "https://192.0.2.1/", "filters = true")
        let other = provider("doh", "https://192.0.2.2/").replacing("\"a\"", with: "\"b\"")
        #expect(try warnings(filter) == [] && warnings(other) == [])
        #expect(
            try warnings(filter + other) == [
                "f: warning: filters = true for \"a\" and not for \"b\": the others are asked only if no filter can "
                    + "be reached, and then nothing is blocked; remove them, or use a [[view]]"
            ])
        #expect(try warnings(filter + other + "names = [\"own.example\"]\n") == [])
        #expect(
            try warnings(filter + "[system-resolver]\norder = \"system-first\"\n") == [
                "f: warning: system-resolver.order = \"system-first\" asks nameservers that block nothing before a"
            ])
        #expect(
            try warnings(provider("doh", "https://dns.quad9.net/dns-query")) == [
                "f: warning: provider \"a\" is known to block names: write filters = true, or other sources may "
                    + "overrule it"
            ])
        #expect(
            try warnings(provider("dnspod", "http://127.0.0.1/d", "filters = true") + other).last
                == "f: warning: no provider with filters = true serves AAAA queries: others resolve blocked names by "
                + "this family")
    }

    @Test("without a file the defaults are named")
    func noFile() {
        #expect(CheckReport(.defaults, file: nil).text == "no file: built-in defaults\n")
    }

    @Test("an http URL is warned of, if names are readable on the path")
    func readableNames() throws {
        let account = "account = \"1\"\nkey-file = \"k\""
        let cipher = "\(account)\ncipher-key-file = \"c\"\ncipher"
        let expected = """
            f: warning: provider "a" has an http URL: everyone on the path can read the names and change the answers; \
            use https if the provider offers it
            """
        for text in [
            provider("dnspod", "http://192.0.2.1/d"), provider("json", "http://192.0.2.1/"),
            provider("alicloud-v2", "http://192.0.2.1/", account),
            provider("alicloud-v2", "http://192.0.2.1/", "\(account)\ncipher = \"none\""),
        ] {
            #expect(try report(text).warnings == [expected], "\(text)")
        }
        for text in [
            provider("doh", "https://192.0.2.1/"), provider("json", "http://127.0.0.1:8080/"),
            provider("dnspod-des", "http://192.0.2.1/d", account),
            provider("dnspod-aes", "http://192.0.2.1/d", account),
            provider("alicloud-v2", "http://192.0.2.1/", "\(cipher) = \"gcm\""),
            provider("alicloud-v2", "http://192.0.2.1/", "\(cipher) = \"cbc\""),
        ] {
            #expect(try report(text).warnings == [], "\(text)")
        }
    }
}
