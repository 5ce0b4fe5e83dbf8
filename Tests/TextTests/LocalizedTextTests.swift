// Texts with values in two languages.

import Testing

@testable import httpdnsctl

@Suite("Localized texts")
struct LocalizedTextTests {
    @Test("values stand where the translation wants them")
    func order() {
        let text: LocalizedText = "\("/etc/x") can't be read by \("httpdnsd")"
        #expect(text.english == "/etc/x can't be read by httpdnsd")
        #expect(text.text(in: .chinese) == "httpdnsd 无法读取 /etc/x")
    }

    @Test("a text within a text is translated, and a list gets the comma of the language")
    func nested() {
        let one: LocalizedText = "\("127.0.0.1:53") over \("UDP")"
        let text: LocalizedText = "\(list: [one, "no route"]): held by \("dnsmasq (pid 7)")"
        #expect(text.english == "127.0.0.1:53 over UDP, no route: held by dnsmasq (pid 7)")
        #expect(text.text(in: .chinese) == "127.0.0.1:53（UDP）、没有路由：已被 dnsmasq (pid 7) 占用")
        #expect(LocalizedText(list: [one, one]).english == "127.0.0.1:53 over UDP, 127.0.0.1:53 over UDP")
    }

    @Test("values are no templates: what a stranger wrote stays as it is")
    func values() {
        let text: LocalizedText = "can't be read: \("%1 %2 no route %")"
        #expect(text.english == "can't be read: %1 %2 no route %")
        #expect(text.text(in: .chinese) == "无法读取：%1 %2 no route %")
        #expect(LocalizedText(verbatim: "no route").text(in: .chinese) == "no route")
        #expect(text.mapValues { _ in "x" }.english == "can't be read: x")
    }

    @Test("a text without translation is English, and a percent sign stays")
    func missing() {
        let text: LocalizedText = "used: 80 % of \(5), or 100%"
        #expect(text.english == "used: 80 % of 5, or 100%" && text.text(in: .chinese) == text.english)
        #expect(("" as LocalizedText).text(in: .chinese) == "")
    }

    @Test("many names are counted")
    func names() {
        #expect(LocalizedText(names: ["a", "b"], maxShown: 2).text(in: .chinese) == "a, b")
        #expect(LocalizedText(names: ["a", "b", "c"], maxShown: 2).english == "a, b and 1 more")
        #expect(LocalizedText(names: ["a", "b", "c"], maxShown: 2).text(in: .chinese) == "a, b 等，另有 1 个")
    }
}
