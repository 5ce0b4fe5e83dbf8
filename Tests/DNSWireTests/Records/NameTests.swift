// Names from text and back, their order in the tree of names, and invalid names.

import DNSWire
import TestSupport
import Testing

struct NameTests {
    @Test("presentation form is read, with and without its final dot, escapes included")
    func parse() {
        let cases: [(String, [UInt8])] = [
            (".", [0]), ("a", [1, 0x61, 0]), ("a.", [1, 0x61, 0]), ("A.b", [1, 0x41, 1, 0x62, 0]),
            ("a\\.b", [3, 0x61, 0x2E, 0x62, 0]), ("\\\\", [1, 0x5C, 0]), ("\\000\\255", [2, 0, 255, 0]),
            ("a\\.", [2, 0x61, 0x2E, 0]), ("_dns.x_y", [4, 0x5F, 0x64, 0x6E, 0x73, 3, 0x78, 0x5F, 0x79, 0]),
            ("a b", [3, 0x61, 0x20, 0x62, 0]),
        ]
        for (text, wire) in cases { #expect(Name(text)?.wire == wire, "\(text)") }
    }

    @Test(
        "what is no name is refused",
        arguments: [
            "", "..", ".a", "a..b", "a..", "\\", "a\\", "\\25", "\\256", "\\2x5", "\\999", "bücher.example", "\\é",
            "a\u{0301}",
        ])
    func refuse(text: String) {
        #expect(Name(text) == nil)
    }

    @Test("a label has 63 bytes at most, a name 255 with its root label")
    func limits() {
        let label = String(repeating: "x", count: 63)
        #expect(Name(label) != nil && Name(label + "x") == nil)
        let longest = [label, label, label, String(repeating: "x", count: 61)].joined(separator: ".")
        #expect(Name(longest)?.wire.count == 255 && Name(longest + ".")?.wire.count == 255)
        #expect(Name(longest + "x") == nil && Name(longest + ".x") == nil)
        #expect(Name(String(repeating: "a.", count: 127))?.labels.count == 127)
        #expect(Name(String(repeating: "a.", count: 128)) == nil)
    }

    @Test("names are equal and hash alike whatever the case of ASCII letters, and only of those")
    func caseFolding() throws {
        let lower = try #require(Name("www.example.com"))
        let mixed = try #require(Name("WwW.eXample.COM"))
        #expect(lower == mixed && Set([lower, mixed]).count == 1)
        // "[" and "{" differ in the same bit as "A" and "a" do.
        #expect(Name("[") != Name("{") && Name("@") != Name("`") && Name("\\193") != Name("\\225"))
        #expect(Name("a.b") != Name("a\\.b") && Name("ab") != Name("a.b"))
    }

    @Test("a name is within itself and its ancestors, on label borders only")
    func within() throws {
        let name = try #require(Name("www.example.com"))
        for (text, isWithin) in [
            (".", true), ("com", true), ("EXAMPLE.com", true), ("www.example.com", true), ("ample.com", false),
            ("a.www.example.com", false), ("org", false), ("xample.com", false),
        ] {
            #expect(name.isWithin(try #require(Name(text))) == isWithin, "\(text)")
        }
        // The length byte of a label looks like a letter of another.
        let trap = try #require(Name("a\\003com"))
        #expect(!trap.isWithin(try #require(Name("com"))))
    }

    @Test(
        "any name is printed in printable ASCII from which it can be read again",
        arguments: 1...20 as ClosedRange<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var wire: [UInt8] = []
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let label = (0..<Int.random(in: 1...63, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                guard wire.count + label.count + 2 <= 255 else { break }
                wire += [UInt8(label.count)] + label
            }
            let name = try #require(Name(wire: wire + [0]))
            #expect(name.description.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "seed \(seed)")
            #expect(Name(name.description)?.wire == name.wire, "seed \(seed)")
        }
    }

    @Test("wire form is taken whole or not at all")
    func wireForm() {
        #expect(Name(wire: [0])?.isRoot == true && Name(wire: [1, 0x61, 0])?.description == "a")
        let bad: [[UInt8]] = [
            [], [1], [1, 0x61], [0, 0], [1, 0x61, 0, 0], [64] + Array(repeating: 0, count: 65), [0xC0, 12],
        ]
        for wire in bad { #expect(Name(wire: wire) == nil, "\(wire)") }
        let label = [UInt8](repeating: 0x78, count: 63)
        let three = [63] + label + [63] + label + [63] + label
        #expect(Name(wire: three + [61] + label[..<61] + [0]) != nil)
        #expect(Name(wire: three + [62] + label[..<62] + [0]) == nil)
    }

    @Test("labels come without their lengths, the root has none")
    func labels() throws {
        #expect(try #require(Name("ab.c")).labels.map(Array.init) == [[0x61, 0x62], [0x63]])
        #expect(Name.root.labels.isEmpty && Name.root.isRoot && Name.root.description == ".")
    }
}
