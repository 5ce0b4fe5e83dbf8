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
                #"/names:4:1: found \#(hidden); \#(allowed)"#,
                #"/names:5:1: found \#(hidden); \#(allowed)"#,
            ])
    }

    private let hidden = "a value that is not shown, because it may be a key"

    @Test(
        "a secret in place of a name is not shown",
        arguments: [
            "!SECRET", "*SECRET", "SECRET==", "root:$6$SECRET.x:1", "SECRET+.x", "SECRET/.x", "key = \"SECRET.x\"",
            "u:SECRET@x.y",
            "eyJhbGciOiJIUzI1NiJ9.\(String(repeating: "SECRET", count: 11)).x", "=SECRET_=.x", "SECRET\u{0}.x",
        ])
    func secret(_ line: String) {
        guard case .failure(let error) = parse("ok.example\n  \(line)\n") else {
            return #expect(Bool(false), "no error")
        }
        #expect(error.description.contains("/names:2:3: found \(hidden)"), "\(error)")
        #expect(!error.description.contains("SECRET"), "\(error)")
    }

    @Test("a wrong file gets ten complaints, however long it is")
    func wrongFile() {
        guard case .failure(let error) = parse(String(repeating: "!\n", count: OwnNames.maxFileBytes / 2)) else {
            return #expect(Bool(false), "no error")
        }
        #expect(error.complaints.count == 11 && error.omitted == 0)
        #expect(
            error.complaints.last?.description
                == "/names:11:1: more wrong lines than this file can have by mistake; the rest was not checked")
    }

    @Test("more names than fit are an error, not a shorter list")
    func tooMany() {
        let names = (0...OwnNames.maxNames).map { "n\($0).example\n" }.joined()
        guard case .failure(let error) = parse(names) else { return #expect(Bool(false), "no error") }
        #expect(error.complaints.map(\.text) == ["found 10001 names; allowed: up to 10000"])
    }
}
