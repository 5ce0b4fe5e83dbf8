// Patterns of names in the syntax of shells.

import DNSWire
import Testing

@testable import Control

@Suite("Patterns of names")
struct NamePatternTests {
    @Test(
        "a star stands for anything, a question mark for one character",
        arguments: [
            ("*", "www.example.com", true), ("*.example.com", "www.example.com", true),
            ("*.example.com", "example.com", false), ("*.example.com", "a.b.example.com", true),
            ("www.*", "www.example.com", true), ("www.*", "ww.example.com", false),
            ("w?w.example.com", "WWW.example.com", true), ("w?w.example.com", "ww.example.com", false),
            ("*a*b*c*", "aabbcc.example", true), ("*a*b*c", "abcabd", false), ("EXAMPLE.com.", "example.com", true),
            ("example.com", "www.example.com", false),
        ])
    func matching(_ text: String, _ name: String, _ expected: Bool) throws {
        let pattern = try #require(NamePattern(text))
        #expect(pattern.matches(try #require(Name(name))) == expected)
    }

    @Test(
        "what is empty, too long or not printable is no pattern",
        arguments: ["", "a b", "\u{7}", "ü", String(repeating: "a", count: 65)])
    func refused(_ text: String) {
        #expect(NamePattern(text) == nil)
    }

    @Test("a pattern of stars costs no more than pattern times name, and stops when that is too much")
    func stars() throws {
        let pattern = try #require(NamePattern(String(repeating: "*a", count: 32)))
        let name = try #require(Name(String(repeating: String(repeating: "a", count: 60) + ".", count: 4)))
        #expect(pattern.matches(name) == true)
        let costly = try #require(NamePattern("*" + String(repeating: "a", count: 59) + "b"))
        #expect(costly.matches(name) == false)
        let text = NamePattern.text(of: name)
        var steps = 64 * text.count
        #expect(costly.matches(text, steps: &steps) == false && steps >= 0)
        steps = 1000
        #expect(costly.matches(text, steps: &steps) == nil && steps == 0)
    }
}

extension NamePattern {
    fileprivate func matches(_ name: Name) -> Bool? {
        var steps = Int.max
        return matches(NamePattern.text(of: name), steps: &steps)
    }
}
