// The file with an account's names.

import DNSWire
import Testing

@testable import Settings

@Suite("Names of an account in a file")
struct OwnNamesTests {
    private func parse(_ text: String) -> Result<[String], SettingsError> {
        do throws(SettingsError) {
            return .success(try OwnNames.parse(bytes: Array(text.utf8), file: "/names").map(OwnNames.text))
        } catch {
            return .failure(error)
        }
    }

    @Test("one name per line, alone behind \"=\", with comments and blank lines")
    func names() throws {
        let text = "# ours\n\n  Shop.example \t# and below\r\n=api.example.net\n=a_b.example#x\nlast.example"
        #expect(try parse(text).get() == ["shop.example", "=api.example.net", "=a_b.example", "last.example"])
        #expect(try parse("").get().isEmpty)
    }

    @Test("every wrong line is named with its place")
    func complaints() {
        guard case .failure(let error) = parse("ok.example\n *.a.example\n..\n= b.example\n\u{0}\n") else {
            return #expect(Bool(false), "no error")
        }
        let allowed = #"allowed: a domain name for it and all names below it, or "=NAME" for that name alone"#
        #expect(
            error.complaints.map(\.description) == [
                #"/names:2:2: found "*.a.example"; \#(allowed); a name includes its subdomains: write "a.example""#,
                #"/names:3:1: found ".."; \#(allowed)"#,
                #"/names:4:1: found "= b.example"; \#(allowed)"#,
                #"/names:5:1: found "\u0000"; \#(allowed)"#,
            ])
    }

    @Test("more names than fit are an error, not a shorter list")
    func tooMany() {
        let names = (0...OwnNames.maxNames).map { "n\($0).example\n" }.joined()
        guard case .failure(let error) = parse(names) else { return #expect(Bool(false), "no error") }
        #expect(error.complaints.map(\.text) == ["found 10001 names; allowed: up to 10000"])
    }
}
