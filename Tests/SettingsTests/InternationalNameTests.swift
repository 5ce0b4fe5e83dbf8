// Names in non-ASCII letters: the daemon uses only the names in DNS form.

import DNSWire
import Settings
import Testing

@Suite("International names")
struct InternationalNameTests {
    private func provider(_ lines: String) -> String {
        "[[provider]]\nname = \"a\"\ndialect = \"json\"\naddresses = [\"192.0.2.1\"]\n\(lines)"
    }

    @Test(
        "a name becomes A-labels, whatever the width, case and form of its letters and dots",
        arguments: [
            ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
            ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("例子.测试", "xn--fsqu00a.xn--0zwm56d"),
            ("例子。测试", "xn--fsqu00a.xn--0zwm56d"), ("www．例子｡测试", "www.xn--fsqu00a.xn--0zwm56d"),
            ("straße.example", "xn--strae-oqa.example"),
            ("FAẞ.de", "xn--fa-hia.de"), ("faß.de", "xn--fa-hia.de"),
            ("_sip.bücher.example", "_sip.xn--bcher-kva.example"),
            ("例子-abc.пример.example", "xn---abc-zu6fl73d.xn--e1afmkfd.example"),
            ("ｗｗｗ.example", "www.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("a--b_c.example", "a--b_c.example"),
        ])
    func names(text: String, ascii: String) throws {
        let settings = try parse(
            "[prefetch]\nnames = [\"\(text)\"]\n[[rule]]\nmatch = [\"\(text)\"]\nstale = true\n"
                + provider("url = \"https://\(text):8443/q\"\nsni = \"\(text)\"\nverify-name = \"\(text)\"\n")
                + "host = \"\(text):80\"\n")
        #expect(settings.prefetch.names.map(\.description) == [ascii])
        #expect(settings.rules[0].match.map(\.description) == [ascii])
        let provider = settings.providers[0]
        #expect(provider.url.description == "https://\(ascii):8443/q")
        #expect([provider.sni, provider.verifyName, provider.host] == [ascii, ascii, "\(ascii):80"])
        #expect(settings.effectiveTOML.utf8.allSatisfy { $0 < 0x80 })
        #expect(try parse(settings.effectiveTOML) == settings)
    }

    @Test("the same name in two alphabets' ways to write it is one name")
    func twice() {
        #expect(
            complaints("[[rule]]\nstale = true\nmatch = [\"bücher.example\", \"xn--bcher-kva.example\"]")
                == ["f:3:28: rule.match: found \"xn--bcher-kva.example\" for the second time; allowed: each once"])
    }

    @Test("what libidn2 refuses is named with its reason, and what cannot be seen is spelled out")
    func refused() {
        let allowed = "allowed: a domain name, such as \"www.example.com\""
        for (text, shown, reason) in [
            ("☃.example", "☃.example", "string contains a disallowed character"),
            ("😀.example", "😀.example", "string contains a disallowed character"),
            ("a\u{202E}b.example", #"a\u202eb.example"#, "string contains a disallowed character"),
            ("é\u{200D}b.example", #"é\u200db.example"#, "string contains a forbidden context-j character"),
            (
                String(repeating: "é", count: 64), String(repeating: "é", count: 60) + "\"...",
                "punycode encoded data will be too large"
            ),
        ] {
            let end = shown.hasSuffix("...") ? "" : "\""
            #expect(
                complaints("[prefetch]\nnames = [\"\(text)\"]")
                    == ["f:2:10: prefetch.names: found \"\(shown)\(end); \(allowed); IDNA2008 refuses it: \(reason)"])
        }
    }

    @Test("each place for a name gives the reason")
    func places() {
        let reason = "; IDNA2008 refuses it: string contains a disallowed character"
        let text = provider(
            "url = \"https://☃.example:8443/q\"\nsni = \"☃\"\nverify-name = \"☃.example\"\nhost = \"☃.example:80\"\n")
        let rule = "[[rule]]\nstale = true\nmatch = [\"☃.example\"]\n"
        let list = complaints(text + rule)
        #expect(list.count == 5 && list.allSatisfy { $0.hasSuffix(reason) }, "\(list)")
    }

    @Test("letters that turn into something else than a name, or hide its end, give no name")
    func disguises() {
        for text in ["a／b.example", "１２７.0.0.1", "ä\\u0000.example", "℀.example", "ä b.example", "ä..example"] {
            #expect(complaints("[prefetch]\nnames = [\"\(text)\"]").count == 1, "\(text)")
        }
        for url in ["https://ä.example／x", "https://ä.example/ö", "https://ä.example:８0/", "https://u＠ä.example/"] {
            #expect(complaints(provider("url = \"\(url)\"")).count == 1, "\(url)")
        }
    }
}
