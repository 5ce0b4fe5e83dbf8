// The bytes that reach a terminal.

import FoundationEssentials
import Testing

@testable import LinuxIO

@Suite("Standard streams")
struct StandardStreamsTests {
    @Test(
        "control characters and direction marks are escaped, and letters of every script stay",
        arguments: [
            ("a.example\n", "a.example\n"), ("北京 é ❤\n", "北京 é ❤\n"), ("\u{1B}[2J\r\t", "\\u001b[2J\\u000d\\u0009"),
            ("\u{9B}1m\u{7F}\u{0}", "\\u009b1m\\u007f\\u0000"),
            ("\u{202E}a\u{2066}\u{61C}", "\\u202ea\\u2066\\u061c"),
            ("\u{2028}\u{2029}\u{85}\u{FEFF}", "\\u2028\\u2029\\u0085\\ufeff"), ("\u{E0041}", "\\udb40\\udc41"),
            ("\r\n", "\\u000d\n"), ("e\u{301}", "e\u{301}"),
        ])
    func printable(_ text: String, _ shown: String) {
        #expect(text.printable == shown && shown.printable == shown)
    }

    @Test("JSON keeps its meaning")
    func json() throws {
        let text = "\u{1B}]0;x\u{7}\u{9B}31m \u{202E}\u{E0041} \"\\u001b\""
        let encoded = String(decoding: try JSONEncoder().encode([text]), as: UTF8.self)
        #expect(try JSONDecoder().decode([String].self, from: Data(encoded.printable.utf8)) == [text])
        #expect(encoded.printable.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
    }
}
