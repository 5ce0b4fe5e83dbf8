// The width of texts on a terminal.

import Control
import Testing

@Suite("Columns of a terminal")
struct TerminalColumnsTests {
    @Test(
        "Chinese characters and their marks take two columns, combining marks none",
        arguments: [
            ("", 0), ("abc", 3), ("域名", 4), ("（UDP）", 7), ("é", 1), ("e\u{301}", 1), ("한글", 4), ("ｱ", 1), ("、", 2),
            ("𠀀", 2), ("“a”", 3), ("a\u{200B}b", 2),
        ])
    func widths(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test("rows are aligned by columns")
    func rows() {
        #expect(LineFormat.aligned([["域名", "a"], ["b", "c"]]) == ["域名  a", "b     c"])
        #expect("域名".padded(to: 5) == "域名 " && "域名".padded(to: 3) == "域名")
    }
}
