// Providers as operators name them: presets, ids, URLs and stamps.

import Control
import DNSWire
import Settings
import Testing

@testable import httpdnsctl

@Suite("Providers of setup")
struct ChosenProviderTests {
    private func read(_ words: String) throws -> [ChosenProvider] {
        try #require(try answers("--providers \(words)").providers)
    }

    private func refusal(_ word: String) -> String? {
        do throws(SetupRefusal) {
            _ = try answers("--providers \(word)")
            return nil
        } catch {
            let reason = error.reason.english
            return reason.hasPrefix("--providers: ") ? String(reason.dropFirst(13)) : reason
        }
    }

    @Test("a preset's URL or stamp is the preset")
    func presets() throws {
        let quad9 = try read("quad9")
        #expect(try read("https://dns.quad9.net/dns-query") == quad9)
        #expect(try read("HTTPS://DNS.QUAD9.NET:443/dns-query{?dns}") == quad9)
        let host = Array("dns.quad9.net".utf8)
        #expect(try read(StampText(address: "9.9.9.9", host: host).text) == quad9)
        #expect(try read(StampText(address: "", host: host).text) == quad9)
        #expect(try read("https://dns.nextdns.io/abc123") == read("nextdns:abc123"))
        #expect(try read("nextdns:abc123")[0].provider.url.description == "https://dns.nextdns.io/abc123")
        #expect(try read("quad9,quad9,https://dns.quad9.net/dns-query") == quad9)
    }

    @Test("a host of the table has its addresses, whatever the path; another port has none")
    func relatives() throws {
        let ali = try read("https://dns.alidns.com/dns-query")[0]
        #expect(ali.provider.addresses.map(\.description) == ["223.5.5.5", "223.6.6.6"])
        #expect(ali.company == "Alibaba" && ali.provider.name == "dns.alidns.com" && !ali.needsAddresses)
        #expect(try read("https://dns.google:8443/dns-query")[0].needsAddresses)
    }

    @Test("an address of a stamp is added to the table's")
    func otherAddress() throws {
        let chosen = try read(StampText(address: "192.0.2.9", host: Array("dns.quad9.net".utf8)).text)[0]
        #expect(chosen.word == "quad9" && chosen.hasGivenAddresses)
        let own = try read("quad9")[0].provider.addresses
        #expect(chosen.provider.addresses.map(\.description) == own.map(\.description) + ["192.0.2.9"])
    }

    @Test("the address of a stamp is dialled, also with an address as the host")
    func addressAsHost() throws {
        let stamp = StampText(address: "[2400:3200::1]", host: Array("223.5.5.5".utf8)).text
        let rest = " --account no --lan no --take-over no"
        for (words, addresses) in [
            (stamp, ["2400:3200::1"]),
            ("https://223.5.5.5/dns-query,\(stamp)", ["223.5.5.5", "2400:3200::1"]),
            ("https://223.5.5.5/dns-query", ["223.5.5.5"]),
        ] {
            let given = try answers("--providers \(words)\(rest)")
            let settings = try parsed(given.settingsFile().text)
            #expect(settings.providers.map(\.url.description) == ["https://223.5.5.5/dns-query"])
            #expect(settings.providers[0].addresses.map(\.description) == addresses, "\(words)")
            let words = given.command(at: ExaminedSettings.standardPath).dropFirst().flatMap(\.self)
                .map { $0.replacing("'", with: "") }
            let again = try SetupAnswers(httpdnsctl.SetupFlags(words, output: ""), machine: sampleMachine)
            #expect(again.providers?.map(\.provider) == given.providers?.map(\.provider), "\(words)")
        }
    }

    @Test("stamps of one URL are one provider with all their addresses")
    func merged() throws {
        let words = ["192.0.2.1", "[2001:db8::1]", "192.0.2.1"].map { StampText(address: $0).text }
        let chosen = try read("https://dns.example/dns-query," + words.joined(separator: ","))
        #expect(chosen.map { $0.provider.addresses.map(\.description) } == [["192.0.2.1", "2001:db8::1"]])
        let quad9 = StampText(address: "192.0.2.9", host: Array("dns.quad9.net".utf8)).text
        let addresses = try read("quad9")[0].provider.addresses.map(\.description) + ["192.0.2.9"]
        #expect(try read("quad9,\(quad9)").map { $0.provider.addresses.map(\.description) } == [addresses])
        #expect(try read("\(quad9),quad9").map { $0.provider.addresses.map(\.description) } == [addresses])
    }

    @Test("a relative of presets blocks if its host or path is known to")
    func relativesThatBlock() throws {
        for (url, blocks) in [
            ("https://dns.nextdns.io/abc123/phone", true), ("https://dns.nextdns.io/", nil),
            ("https://dns.quad9.net/other", true), ("https://freedns.controld.com/p2", true),
            ("https://freedns.controld.com/uncensored", false), ("https://freedns.controld.com/x", nil),
            ("https://dns.google/other", nil), ("https://dns.example/q", nil),
        ] as [(String, Bool?)] {
            #expect(try read(url)[0].blocks == blocks, "\(url)")
        }
        #expect(try read("https://dns.nextdns.io/abc123/") == read("nextdns:abc123"))
    }

    @Test("pasted texts may have quotes or angle brackets around them")
    func quoted() throws {
        let quad9 = try read("quad9")
        for word in ["<https://dns.quad9.net/dns-query>", "\"https://dns.quad9.net/dns-query\"", "'quad9'"] {
            #expect(try read(word) == quad9, "\(word)")
        }
        #expect(try read("https://dns.alidns.com/resolve") == read("alidns"))
    }

    @Test("the host of given addresses is read like that of a URL; addresses that no server can have are refused")
    func givenAddresses() throws {
        let words = "https://bücher.example/q,https://[2001:db8::1]/q"
        let given = "bücher.example=127.0.0.1,[2001:DB8::1]=192.0.2.1"
        let providers = try #require(try answers("--providers \(words) --provider-addresses \(given)").providers)
        #expect(providers.map { $0.provider.addresses.map(\.description) } == [["127.0.0.1"], ["192.0.2.1"]])
        for address in ["0.0.0.0", "::", "239.0.0.1", "ff02::1", "255.255.255.255", "::ffff:192.0.2.1"] {
            let word = "https://a.example/q --provider-addresses a.example=\(address)"
            #expect(refusal(word)?.contains("no server can have the address") == true, "\(address)")
        }
        #expect(try read("https://127.0.0.1/q")[0].provider.addresses == [.loopback4])
    }

    @Test("each provider has a name of its own that the settings accept")
    func names() throws {
        let long = String(repeating: "a", count: 50)
        let words =
            "https://a.example/1,https://a.example/2,https://\(long).example/1,https://\(long).example/2,"
            + "https://[2001:db8::1]/q,google"
        let names = try read(words).map(\.provider.name)
        let short = String(repeating: "a", count: 28)
        #expect(names == ["google", "a.example", "a.example-2", short, "\(short)-2", "2001-db8--1"])
    }

    @Test(
        "what is no provider of DNS over HTTPS is refused with a remedy",
        arguments: [
            ("nextdns", "nextdns needs the id of your profile with NextDNS; write nextdns:ID with that id"),
            ("nextdns:a/b", "nextdns needs the id of your profile with NextDNS; write nextdns:ID with that id"),
            ("google:abc", "found \"google:abc\"; google has no profiles, write google"),
            (
                "http://dns.example/q",
                "found \"http://dns.example/q\": everyone on the path can read and change it; write https://"
            ),
            (
                "tls://dns.example",
                "found \"tls://dns.example\": setup takes providers of DNS over HTTPS only; write their https:// URL, "
                    + "or name a server for DNS over TLS as a [[nameserver]]: man httpdnsd.toml"
            ),
            (
                "https://dns.google/resolve",
                "found \"https://dns.google/resolve\": /resolve is for JSON, and setup takes DNS over HTTPS; write "
                    + "/dns-query instead"
            ),
            ("https://dns.example/q;", "found \"https://dns.example/q;\": it ends with \";\"; leave that out"),
            (
                "https://0.0.0.0/q",
                "no server can have the address 0.0.0.0; write the one that the provider names"
            ),
            ("ftp://dns.example", "found \"ftp://dns.example\"; allowed: an https:// URL or an sdns:// stamp"),
            (
                "https://dns.example/q?x",
                "found \"https://dns.example/q?x\"; allowed: https://HOST[:PORT]/PATH without user name, query and "
                    + "fragment"
            ),
            (
                StampText(kind: 1).text,
                "this DNS stamp can't be used: it is for DNSCrypt, and setup takes DNS over HTTPS only; look for the "
                    + "provider's stamp or https:// URL for that"
            ),
            ("sdns://AgU", "this DNS stamp can't be used: it is cut off or damaged; copy it whole"),
        ] as [(String, String)])
    func refused(_ word: String, _ reason: String) {
        #expect(refusal(word) == reason)
    }

    @Test("a provider that blocks beside one that does not is noted before the file is written")
    func mixed() throws {
        for (words, isNoted) in [
            ("quad9,google", true), ("quad9,adguard", false), ("google,alidns", false),
            ("quad9 --account baidu --account-id 1 --key-file /k", true),
        ] {
            let rows = SetupSummary(try answers("--providers \(words)"), former: nil, leftOut: []).rows
            #expect(rows.contains { $0[0] == "note" } == isNoted, "\(words)")
        }
    }

    @Test("the description of each preset fits into its line of the dialogue")
    func words() {
        for preset in Settings.Provider.Preset.all {
            for language in [Language.english, .chinese] {
                let words = preset.words.text(in: language)
                #expect(words.columns <= 70, "\(words)")
            }
        }
    }
}
