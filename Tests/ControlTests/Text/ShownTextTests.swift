// Text from outside neither changes the terminal nor exceeds the line's limit.

import TestSupport
import Testing

@testable import Control

@Suite("Words of strangers")
struct ShownTextTests {
    @Test(
        "what could move a cursor or turn a line around is escaped, and letters of every script stay",
        arguments: [
            ("a.example", "a.example"), ("a\u{1B}[2Jb\n", "a\\u{1B}[2Jb\\n"), ("北京 é", "北京 é"),
            ("\u{202E}abc\u{2066}", "\\u{202E}abc\\u{2066}"), ("\u{9B}1m\u{7F}", "\\u{009B}1m\\u{7F}"),
            ("\u{2028}\u{FEFF}\u{E000}", "\\u{2028}\\u{FEFF}\\u{E000}"), ("\"\\", "\"\\"),
        ])
    func escaped(_ text: String, _ shown: String) {
        #expect(text.shown(maxBytes: 100) == shown)
    }

    @Test("what is too long is cut at a character, by the bytes that JSON needs")
    func cut() {
        #expect("abcdef".shown(maxBytes: 6) == "abcdef")
        #expect("abcdefg".shown(maxBytes: 6) == "abc...")
        #expect("北京北".shown(maxBytes: 9) == "北京北" && "北京北京".shown(maxBytes: 11) == "北京...")
        #expect("\"\"\"\"".shown(maxBytes: 7) == "\"\"...")
        #expect("ab\u{1B}cdef".shown(maxBytes: 9) == "ab...")
    }

    @Test("random text is printable, within its bound, and stays as it is when it is shown again")
    func random() {
        let seed: UInt64 = 0x5EE_11
        var random = SeededRandom(seed: seed)
        for round in 0..<2_000 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<40, using: &random) {
                let most: UInt32 = Bool.random(using: &random) ? 0x7F : 0x10_FFFF
                if let scalar = Unicode.Scalar(UInt32.random(in: 0...most, using: &random)) {
                    text.unicodeScalars.append(scalar)
                }
            }
            let bound = Int.random(in: 3..<80, using: &random)
            let shown = text.shown(maxBytes: bound)
            let isSafe = shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
            let bytes = json([shown]).utf8.count - "[\"\"]\n".utf8.count
            #expect(isSafe && bytes <= bound && shown.shown(maxBytes: bound) == shown, "seed \(seed) round \(round)")
        }
    }
}
