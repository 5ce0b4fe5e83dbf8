// The complaints about wrong files: the table in WrongFiles.swift, and cases that a table cannot hold.

import Settings
import Testing

func complaints(_ text: String) -> [String] {
    complaints(Array(text.utf8))
}

private func complaints(_ bytes: [UInt8]) -> [String] {
    do throws(SettingsError) {
        _ = try Settings.parse(bytes: bytes, file: "f")
        return []
    } catch {
        return error.complaints.map(\.description)
    }
}

@Suite("Complaints")
struct ComplaintTests {
    @Test(
        "a wrong file is answered with place, finding, what is allowed, and a hint",
        arguments: wrongSections + wrongValues + wrongProviders + wrongCombinations + wrongPolicies + wrongProbes
            + wrongReceivers + wrongNameservers + wrongViews + wrongFleets + wrongParameters
            + wrongRules + wrongSyntax + commonMistakes)
    func wrongFile(_ file: Case) {
        #expect(complaints(file.text) == file.complaints, "\(file.text)")
    }

    @Test("in files with a mistake for every key of providers, templates and rules each is named with its place")
    func everyKey() {
        // The keys are in two files, because one would have more mistakes than the messages name.
        let rules = wrongKeys.firstIndex { $0.line == "[[rule]]" } ?? wrongKeys.endIndex
        for mistakes in [wrongKeys[..<rules], wrongKeys[rules...]] {
            let expected = mistakes.enumerated().compactMap { index, mistake in
                mistake.complaint.map { "f:\(index + 1):\(mistake.column): \($0)" }
            }
            let found = complaints(mistakes.map(\.line).joined(separator: "\n"))
            #expect(found == expected)
            for complaint in found { #expect(!complaint.contains("hunter2"), "\(complaint)") }
        }
        for table in ["[[provider]]", "[provider.template]", "[[rule]]"] {
            let lines = wrongKeys.drop { $0.line != table }.dropFirst().prefix { $0.complaint != nil }
            let keys = lines.map { $0.line.prefix { $0 != " " } }
            #expect(Set(keys) == Set(knownKeys(in: table)), "\(table)")
        }
    }

    /// The known keys of a table, taken from the message about an unknown one.
    private func knownKeys(in table: String) -> [Substring] {
        let header = table.hasPrefix("[[") ? table : "[[provider]]\n\(table)"
        let answer = complaints("\(header)\n\"?\" = 1")[0]
        let names = answer.suffix(from: answer.firstRange(of: "allowed: ")?.upperBound ?? answer.startIndex)
        return names.split { ", ".contains($0) }.filter { $0 != "template" }
    }

    @Test("a proxy is dialled by address and has no password in the settings", arguments: wrongProxies)
    func proxies(text: String, remedy: String) {
        let found = complaints(
            "[[provider]]\nname = \"a\"\ndialect = \"doh\"\nurl = \"https://192.0.2.1\"\nproxy = \"\(text)\"")
        let allowed = "\"http://[USER@]ADDR:PORT\" or \"socks5h://[USER@]ADDR:PORT\" with an IP address"
        #expect(found == ["f:5:9: provider.proxy: found \(hidden); allowed: \(allowed)\(remedy)"])
    }

    @Test("bytes that are not UTF-8 are named with their place, also behind a byte order mark")
    func notUTF8() {
        #expect(complaints(Array("# é\nx = \"é".utf8) + [0xFF]) == ["f:2:7: syntax: a byte that is not UTF-8"])
        #expect(complaints([0xEF, 0xBB, 0xBF, 0x20, 0xC3]) == ["f:1:2: syntax: a byte that is not UTF-8"])
        #expect(complaints([0xED, 0xA0, 0x80]) == ["f:1:1: syntax: a byte that is not UTF-8"])
    }

    @Test("a file of 1 MiB is read and one more byte is refused")
    func size() {
        let mebibyte = String(repeating: String(repeating: " ", count: 4095) + "\n", count: 256)
        #expect(complaints(mebibyte) == [])
        #expect(complaints(mebibyte + " ") == ["f:1:1: syntax: the file is larger than 1 MiB"])
    }

    @Test("a line may be as long as the file")
    func lineLength() {
        let names = String(repeating: "\"a.example\",", count: 20_000)
        #expect(complaints("#\(String(repeating: "x", count: 1_000_000))\n") == [])
        #expect(complaints("[cache]\nsize = [\(names)]").first?.hasPrefix("f:2:8: cache.size: found an array") == true)
    }

    @Test("nesting is refused before it can exhaust the stack, whatever brackets strings and comments hold")
    func depth() {
        let message = "values are nested deeper than 16 levels"
        #expect(complaints("a = " + String(repeating: "[", count: 4000)) == ["f:1:22: syntax: \(message)"])
        #expect(complaints("a = [\n" + String(repeating: "[\n", count: 9000)) == ["f:17:2: syntax: \(message)"])
        #expect(complaints("a = " + String(repeating: "{b=", count: 1000)) == ["f:1:54: syntax: \(message)"])
        #expect(complaints("a" + String(repeating: ".a", count: 1000) + " = 1") == ["f:1:35: syntax: \(message)"])
        let brackets = String(repeating: "[", count: 100)
        #expect(
            complaints("# \(brackets)\n[log]\nlevel = \"\(brackets)\"").first?.hasPrefix("f:3:9: log.level:") == true)
        #expect(complaints("[log]\nlevel = '''\n\(brackets)\n'''").first?.hasPrefix("f:2:9: log.level:") == true)
    }

    @Test("control characters in a file do not reach the terminal, and long texts are cut")
    func display() {
        #expect(
            complaints("[server]\n\"allow\\u001b\" = 1")
                == [
                    #"f:2:1: unknown key "allow\u001b" in [server]; did you mean "allow"? "#
                        + "allowed: listen, threads, allow, client-rate, prefix-rate, user, filter-aaaa, dns64"
                ])
        let long = String(repeating: "x", count: 1000)
        #expect(
            complaints("[log]\nlevel = \"\(long)\"")
                == [
                    "f:2:9: log.level: found \"\(long.prefix(60))\"...; "
                        + #"allowed: "error", "warning", "info", "debug""#
                ])
    }

    @Test("complaints stand in the order of the file, and those beyond a hundred are counted")
    func bound() {
        let text = "[server]\n" + (0..<110).map { "zz\($0) = 1\n" }.joined()
        #expect(throws: SettingsError.self) { try parse(text) }
        do throws(SettingsError) {
            _ = try Settings.parse(bytes: Array(text.utf8), file: "f")
        } catch {
            #expect(error.complaints.map(\.line) == Array(2...101))
            #expect(error.omitted == 10)
            #expect(error.description.hasSuffix("\nand 10 more"))
        }
    }

    @Test("bounds on lists hold at their edges")
    func listBounds() {
        let servers = { (count: Int) in
            "[system-resolver]\nservers = [" + (0..<count).map { "\"192.0.2.\($0)\"," }.joined() + "]"
        }
        #expect(complaints(servers(8)) == [])
        #expect(
            complaints(servers(9)) == [
                "f:2:11: system-resolver.servers: found 9 elements; "
                    + #"allowed: an array of 0 to 8 strings "ADDR[:PORT]""#
            ])
        let providers = { (count: Int) in
            (0..<count).map { "[[provider]]\nname=\"p\($0)\"\ndialect=\"json\"\nurl=\"http://192.0.2.1\"\n" }.joined()
        }
        #expect(complaints(providers(32)) == [])
        #expect(complaints(providers(33)) == ["f:1:1: provider: found 33 tables; allowed: 1 to 32"])
        let rules = { (count: Int) in
            (0..<count).map { "[[rule]]\nmatch=[\"r\($0).example\"]\nstale=false\n" }.joined()
        }
        #expect(complaints(rules(1000)) == [])
        #expect(complaints(rules(1001)) == ["f:1:1: rule: found 1001 tables; allowed: 0 to 1000"])
        let names = { (count: Int) in (0..<count).map { "\"n\($0).example\",\n" }.joined() }
        let matching = { "[[rule]]\nstale = true\nmatch = [\(names($0))]" }
        #expect(complaints(matching(1000)) == [])
        #expect(
            complaints(matching(1001))
                == ["f:3:9: rule.match: found 1001 elements; allowed: an array of 1 to 1000 names"])
        #expect(
            complaints("[prefetch]\nnames = [\(names(1001))]")
                == ["f:2:9: prefetch.names: found 1001 elements; allowed: an array of 0 to 1000 names"])
        let fallbacks = { (count: Int) in
            "[[rule]]\nmatch = [\".\"]\nfallback-addresses = ["
                + (0..<count).map { "\"192.0.2.\($0)\"," }.joined() + "]"
        }
        #expect(complaints(fallbacks(16)) == [])
        #expect(
            complaints(fallbacks(17)) == [
                "f:3:22: rule.fallback-addresses: found 17 elements; allowed: an array of 0 to 16 IP addresses"
            ])
    }
}
