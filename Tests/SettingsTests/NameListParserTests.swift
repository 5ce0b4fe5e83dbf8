// Lists of names in the formats of other programs.

import DNSWire
import TestSupport
import Testing

@testable import Settings

@Suite("Lists of names for rules")
struct NameListParserTests {
    private func parse(_ text: String, pieceBytes: Int = 1 << 16) throws(SettingsError) -> NameList {
        var parser = NameListParser(file: "/list")
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            parser.take(Array(bytes[start..<min(bytes.count, start + pieceBytes)]))
        }
        return try parser.finish()
    }

    private func complaints(_ text: String) -> [String] {
        do throws(SettingsError) {
            _ = try parse(text)
            return []
        } catch {
            return error.complaints.map(\.description)
        }
    }

    /// The lines of the entries that apply to a name: those of the name itself, then those of each parent.
    private func lines(_ list: NameList, _ text: String) throws -> [Int] {
        let name = try #require(Name(text))
        return sequence(first: name, next: \.parent).compactMap { list.entry(at: $0, isWhole: $0 == name)?.line }
    }

    @Test("plain names are for themselves and all names below them; behind \"=\" for themselves alone")
    func plain() throws {
        let text = """
            \u{FEFF}# a comment

            Example.COM \t# and below\r
            =api.example.net
            a_b.example#x
            .dotted.example
            *.below.example
            final.example.
            bücher.example
            last
            """
        for pieceBytes in [1, 7, 1 << 16] {
            let list = try parse(text, pieceBytes: pieceBytes)
            #expect(list.count == 8)
            #expect(try lines(list, "example.com") == [3] && lines(list, "a.b.EXAMPLE.com") == [3])
            #expect(try lines(list, "notexample.com").isEmpty && lines(list, "com").isEmpty)
            #expect(try lines(list, "api.example.net") == [4] && lines(list, "x.api.example.net").isEmpty)
            #expect(try lines(list, "x.a_b.example") == [5] && lines(list, "dotted.example") == [6])
            #expect(try lines(list, "below.example").isEmpty && lines(list, "x.y.below.example") == [7])
            #expect(try lines(list, "final.example") == [8] && lines(list, "xn--bcher-kva.example") == [9])
            #expect(try lines(list, "x.last") == [10])
        }
        #expect(try parse("").count == 0)
    }

    @Test("dnsmasq's options with names; what follows the names has no meaning")
    func dnsmasq() throws {
        let list = try parse(
            """
            server=/a.example/114.114.114.114#5353
            server = /b.example/c.example/   # two names
            address=/d.example/
            address=/.e.example/192.0.2.1
            local=/lan/
            server=/*.f.example/192.0.2.1
            ipset=/g.example/h.example/set1,set2
            """)
        #expect(list.count == 9)
        for (name, line) in [
            ("a.example", 1), ("x.b.example", 2), ("c.example", 2), ("d.example", 3), ("e.example", 4), ("nas.lan", 5),
            ("x.f.example", 6), ("g.example", 7), ("x.h.example", 7),
        ] {
            #expect(try lines(list, name) == [line], "\(name)")
        }
        #expect(try lines(list, "f.example").isEmpty)
        #expect(try lines(parse("address=/#/"), "any.name") == [1])
    }

    @Test("the names of a hosts file, each alone")
    func hosts() throws {
        let list = try parse(
            """
            127.0.0.1 localhost loopback # names
            0.0.0.0\tads.example  tracker.example#x
            ::1 ip6.example
            fe80::1%lo0 link.example
            """)
        #expect(list.count == 6)
        for (name, line) in [
            ("localhost", 1), ("loopback", 1), ("ads.example", 2), ("tracker.example", 2), ("ip6.example", 3),
            ("link.example", 4),
        ] {
            #expect(try lines(list, name) == [line], "\(name)")
            #expect(try lines(list, "x.\(name)").isEmpty)
        }
    }

    @Test("v2fly's lists, with attributes that say nothing")
    func v2fly() throws {
        let list = try parse(
            "a.example @ads @!cn\ndomain:b.example\nfull:c.example @cn # x\nfull:d.example:@cn\ndomain:e.example &f\n")
        #expect(try lines(list, "x.a.example") == [1] && lines(list, "x.b.example") == [2])
        #expect(try lines(list, "c.example") == [3] && lines(list, "x.c.example").isEmpty)
        #expect(try lines(list, "d.example") == [4] && lines(list, "x.d.example").isEmpty)
        #expect(try lines(list, "x.e.example") == [5])
    }

    private static let allowed =
        "allowed: a name for it and all names below it, \"=NAME\" for that name alone, a line of hosts(5), "
        + "\"full:NAME\" or \"domain:NAME\", or dnsmasq's \"server=/NAME/\", \"local=/NAME/\" or \"address=/NAME/\""

    @Test(
        "a wrong line is named with its place, what was found and what is allowed",
        arguments: [
            ("regexp:^ad.*$", "found \"regexp:\""), ("keyword:ads", "found \"keyword:\""),
            ("include:other", "found \"include:\""),
        ])
    func patterns(_ line: String, _ found: String) {
        #expect(
            complaints("ok.example\n  \(line)\n") == [
                "/list:2:3: \(found); \(Self.allowed); leave the line out, or write the names that it stands for"
            ])
    }

    @Test("wrong names")
    func wrongNames() {
        for (line, found) in [
            ("a..b", "\"a..b\""), ("192.0.2.1", "\"192.0.2.1\""), ("*ads.example..", "\"*ads.example..\""),
            ("\(String(repeating: "a", count: 64)).x", "\"\(String(repeating: "a", count: 60))\"..."),
            ("a.example b.example", "\"a.example b.example\""), ("= a.example", "\"= a.example\""),
            ("||ads.example^", "\"||ads.example^\""), ("server=/a..b/192.0.2.1", "\"a..b\""),
            ("=*.a.example", "\"*.a.example\""), ("conf-dir=/etc", "\"conf-dir=\""), ("\u{1b}[2J", "\"\\u001b[2J\""),
            ("other:a.example", "\"other:a.example\""), ("127.0.0.1 a..b", "\"a..b\""),
        ] {
            let column = line.hasPrefix("server") ? 9 : line.hasPrefix("127") ? 11 : line == "=*.a.example" ? 2 : 1
            #expect(complaints(line) == ["/list:1:\(column): found \(found); \(Self.allowed)"], "\(line)")
        }
        #expect(complaints("i\u{2764}.example").first?.hasPrefix("/list:1:1: found \"i\u{2764}.example\"; ") == true)
        #expect(complaints("server=192.0.2.1") == ["/list:1:1: found \"server=\" without names; write server=/NAME/"])
        #expect(complaints("server=/a.example") == ["/list:1:1: found \"server=\" without names; write server=/NAME/"])
        #expect(complaints("server=//192.0.2.1").count == 1)
        #expect(
            complaints("server=/example/192.0.2.1\nserver=/a.example/#") == [
                "/list:2:1: found \"server=\" with \"#\", which exempts names; leave the line out, and write a rule "
                    + "for them"
            ])
        #expect(complaints("server=/#/192.0.2.1") == [])
        #expect(complaints("☃☃.example\u{200D}").count == 1)
    }

    @Test("a wrong file gets ten complaints, however long it is, and a line has a bound")
    func wrongFile() {
        let found = complaints(String(repeating: "!\n", count: 100_000))
        #expect(found.count == 11)
        #expect(
            found.last
                == "/list:11:1: more wrong lines than this file can have by mistake; the rest was not checked")
        #expect(
            complaints("a.example\n" + String(repeating: "a", count: 70_000))
                == ["/list:2:1: found a line of more than 65536 bytes; allowed: up to that"])
    }

    @Test("random bytes never stop the parser, in pieces of any size")
    func noise() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        let alphabet = Array("a.=/#:* \t\r\n@-_server1full:\u{0}\u{FF}é".utf8)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0..<80, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            let outcomes = [1, 5, 100].map { pieceBytes -> [String] in
                var parser = NameListParser(file: "f")
                for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
                    parser.take(Array(bytes[start..<min(bytes.count, start + pieceBytes)]))
                }
                do throws(SettingsError) {
                    return ["\(try parser.finish().count)"]
                } catch {
                    return error.complaints.map(\.description)
                }
            }
            #expect(outcomes[0] == outcomes[1] && outcomes[1] == outcomes[2], "\(bytes), seed \(seed)")
        }
    }
}
