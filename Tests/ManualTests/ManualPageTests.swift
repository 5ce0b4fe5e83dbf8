// The reader of manual pages, on a page with all supported macros and escapes.

import Testing

@Suite("Manual pages, as tests read them")
struct ManualPageTests {
    private let page = ManualPage(
        source: """
            .TH PAGE 1
            .SH KEYS
            Words before.
            .SS "At the top"
            .TP
            \\fBonly\\-listed\\fR = false
            White list: see
            .BR httpdnsd (8).
            .B \\(dqa b\\(dq
            .TP
            .BR SIGTERM ", " SIGINT
            .PP
            Words behind.
            .SH FILES
            .TP
            .I /etc/x
            .TQ
            .I /etc/y
            """)

    @Test("tags stand under their headings, fonts and escapes are gone")
    func tags() {
        #expect(page.tags(under: "At the top") == ["only-listed = false", "SIGTERM, SIGINT"])
        #expect(page.tags(under: "FILES") == ["/etc/x", "/etc/y"])
        #expect(page.tags(under: "KEYS").isEmpty)
    }

    @Test("the text of an entry is one line, and ends with the list")
    func texts() {
        #expect(page.entries.map(\.text) == ["White list: see httpdnsd(8). \"a b\"", "", "", ""])
        #expect(page.lines.contains("Words behind."))
    }
}
