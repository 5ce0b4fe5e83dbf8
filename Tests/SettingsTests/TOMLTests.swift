// Valid and invalid TOML 1.0 where parsers differ: cases in which toml11 3.7 or toml++ 3.3 crashes or is wrong.

import Testing

@testable import Settings

struct TOMLTests {
    @Test(
        "valid TOML is read",
        arguments: [
            // A table follows an array of tables inside it.
            "[[a.b]]\nc = 1\n[a]\nd = 2", "[a.b.c]\n[a]\nd = 1",
            // Characters that toml++ looks up in its tables of spaces.
            "a = \"\u{A7}\"\nb = '\u{A1}\u{1681}\u{2030}\u{3001}'", "\"\u{A0}\" = 1 # \u{FEFE}",
            "a = [ # one\n  1, 2,\n]\n", "a = {b.c = 1, \"d\" = [{}, {e = 'f'}]}",
            "a = \"\"\"\"\"quotes\"\"\"\"\"", "a = '''\n'x'''", "1.2 = 3", "a = -9223372036854775808\nb = 0xFFFF_FFFF",
            "a = 1e-2\nb = -inf\nc = nan", "a = 1979-05-27 07:32:00Z", "a = 07:32:00.5\r\n", "", "\n#",
            "[a]\n[a.b]\n[[a.c]]\n[[a.c]]\n[a.c.d]",
        ])
    func valid(text: String) throws {
        _ = try TOMLDocument(Array(text.utf8)[...])
    }

    @Test(
        "what is no TOML is refused, and ends nothing",
        arguments: [
            // Tables in arrays that are values: empty ones, full ones, and in other tables.
            "a = []\n[a.b]", "a = []\n[[a.b]]", "a = []\na.b = 1", "a = []\n[a.b.c]", "a = []\n[a]", "a = []\n[[a]]",
            "a = [[]]\n[a.b]", "a = [{}]\n[a.b]", "a = [{}]\n[[a]]", "a = [1]\na.b = 1", "x.a = []\n[x.a.b]",
            "[x]\na = []\n[x.a.b]", "[[x]]\na = []\n[x.a.b]", "x = {a = []}\n[x.a.b]", "x = {a = [], a.b = 1}",
            "provider = []\n[provider.template]", "[[a.b]]\n[a.b]", "[a]\n[[a]]", "[[a]]\na = 1\n[a.a.b]",
            // Inline tables and dotted keys are closed.
            "a = {}\n[a.b]", "a = {b = 1}\na.c = 2", "a.b = 1\n[a]", "a = {b = 1, b.c = 2}", "a = {b.c = 1, b = 2}",
            // Names of tables that begin like no key.
            "[.]", "[..]", "[$x]", "[é]", "[", "[[", "[]", "[[]]", "[a.]", "[a..b]", "[=]", "[[.]]", "[\n]",
            // Numbers, texts and line ends.
            "a = 99999999999999999999", "a = 01", "a = 1_", "a = 0x", "a = 1e", "a = .5", "a = +0x1",
            "a = \"\u{1}\"", "# \u{1}", "a = 1\rb = 2", "a = \"\\uD800\"", "a = \"\\x41\"", "a = 2021-02-30",
            "a = 24:00:00", "a = {b = 1,}", "a = {\nb = 1}", "a = \"\n\"", "\"\"\"a\"\"\" = 1",
        ])
    func invalid(text: String) {
        #expect(throws: TOMLDocument.SyntaxError.self) { _ = try TOMLDocument(Array(text.utf8)[...]) }
    }
}
