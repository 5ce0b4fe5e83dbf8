// Search in texts: the first place, every place, and the cases at the ends.

import DNSWire
import Testing

struct TextSearchTests {
    @Test("the first place, and every place")
    func search() {
        let text = "ab.abc.é漢é"
        #expect(text.firstRange(of: "abc").map { text[$0] } == "abc")
        #expect(text.firstRange(of: "é").map { text[..<$0.lowerBound] } == "ab.abc.")
        #expect(text.firstRange(of: "abd") == nil && "".firstRange(of: "a") == nil)
        #expect(text.contains("漢é") && !text.contains("b.c"))
        #expect(text.replacing("ab", with: "") == ".c.é漢é" && text.replacing("é", with: "éé") == "ab.abc.éé漢éé")
        #expect("aaa".replacing("aa", with: "b") == "ba")
        #expect([1, 2, 1, 2, 3].map { UInt8($0) }.firstRange(of: [1, 2, 3]) == 2..<5)
    }
}
