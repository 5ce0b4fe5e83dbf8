// SVCB and HTTPS records: the vectors of RFC 9460 appendix D, removed hints, and truncated or damaged data.

import DNSWire
import TestSupport
import Testing

@Suite("Service binding")
struct ServiceBindingTests {
    /// Names in wire form.
    private static let fooExampleCom = "03666f6f076578616d706c6503636f6d00"
    private static let fooExampleOrg = "03666f6f076578616d706c65036f726700"

    private func record(_ hex: String, _ type: RecordType = .https) throws -> ResourceRecord {
        ResourceRecord(owner: .root, type: type, ttlSeconds: 300, data: try bytes(hex))
    }

    private func bytes(_ hex: String) throws -> [UInt8] {
        let digits = hex.filter { $0 != " " }
        return try stride(from: 0, to: digits.count, by: 2).map { at in
            try #require(UInt8(digits.dropFirst(at).prefix(2), radix: 16))
        }
    }

    private func addresses(_ texts: [String]) throws -> [Address] {
        try texts.map { try #require(Address($0)) }
    }

    /// Hints of both families, both mandatory, between unrelated keys: alpn, port, ech, 667.
    private static let everything = """
        0010 \(fooExampleOrg) 0000 0006 000100040006 0001 0006 026832026833 0003 0002 01bb
        0004 0008 c0000201c6336401 0005 0003 abcdef
        0006 0020 20010db800000000000000000000000120010db8000000000000000000530001 029b 0000
        """.filter { $0 != "\n" }

    @Test(
        "the vectors of RFC 9460 appendix D are read",
        arguments: [
            ("0000 \(fooExampleCom)", "foo.example.com", []),
            ("0001 00", ".", []),
            ("0010 \(fooExampleCom) 0003 0002 0035", "foo.example.com", []),
            ("0001 \(fooExampleCom) 029b 0005 68656c6c6f", "foo.example.com", []),
            ("0001 \(fooExampleCom) 029b 0009 68656c6c6fd2716f6f", "foo.example.com", []),
            (
                "0001 \(fooExampleCom) 0006 0020 20010db8000000000000000000000001 20010db8000000000000000000530001",
                "foo.example.com", ["2001:db8::1", "2001:db8::53:1"]
            ),
            (
                "0001 076578616d706c6503636f6d00 0006 0010 20010db8012203440000 0000c0000221", "example.com",
                ["2001:db8:122:344::192.0.2.33"]
            ),
            (
                "0010 \(fooExampleOrg) 0000 0004 00010004 0001 0009 0268320568332d3139 0004 0004 c0000201",
                "foo.example.org", ["192.0.2.1"]
            ),
            ("0010 \(fooExampleOrg) 0001 000c 08665c6f6f2c626172026832", "foo.example.org", []),
        ])
    func vectors(hex: String, target: String, hints: [String]) throws {
        for type in [RecordType.svcb, .https] {
            let record = try record(hex, type)
            #expect(record.bindingTarget?.description == target)
            #expect(record.addressHints == (try addresses(hints)))
            #expect(record.withAddressHints { _ in true } == record)
        }
    }

    @Test("only hints that are allowed stay, and everything around them byte for byte")
    func someHints() throws {
        let record = try record(ServiceBindingTests.everything)
        let allowed = try addresses(["198.51.100.1", "2001:db8::1"])
        let cut = record.withAddressHints(allowed.contains)
        let expected = try self.record(
            """
            0010 \(ServiceBindingTests.fooExampleOrg) 0000 0006 000100040006 0001 0006 026832026833 0003 0002 01bb \
            0004 0004 c6336401 0005 0003 abcdef 0006 0010 20010db8000000000000000000000001 029b 0000
            """)
        #expect(cut == expected)
        #expect(cut.addressHints == allowed)
    }

    @Test("a hint that is left empty goes, and is not mandatory any more")
    func emptiedHint() throws {
        let record = try record(ServiceBindingTests.everything)
        let cut = record.withAddressHints { $0.recordType == .aaaa }
        let expected = try self.record(
            """
            0010 \(ServiceBindingTests.fooExampleOrg) 0000 0004 00010006 0001 0006 026832026833 0003 0002 01bb \
            0005 0003 abcdef 0006 0020 20010db800000000000000000000000120010db8000000000000000000530001 029b 0000
            """)
        #expect(cut == expected)
    }

    @Test("where only hints were mandatory, nothing is")
    func emptiedMandatory() throws {
        let record = try record("0001 00 0000 0004 00040006 0004 0004 c0000201 0005 0001 ff 0006 0010 \(zeros(16))")
        #expect(record.withAddressHints { _ in false } == (try self.record("0001 00 0005 0001 ff")))
    }

    @Test("a hint that is mandatory and was never there stays mandatory")
    func missingHint() throws {
        let record = try record("0001 00 0000 0004 00040006 0004 0004 c0000201")
        #expect(record.withAddressHints { _ in false } == (try self.record("0001 00 0000 0002 0006")))
    }

    @Test("in AliasMode there are no hints, and parameters go")
    func alias() throws {
        let bare = try record("0000 \(ServiceBindingTests.fooExampleCom)")
        for parameters in ["", "0001 0003 026832", "0004 0004 c0000201", "0004 0003 c00002"] {
            let record = try record("0000 \(ServiceBindingTests.fooExampleCom) \(parameters)")
            #expect(record.addressHints.isEmpty)
            #expect(record.bindingTarget == Name("foo.example.com"))
            #expect(record.withAddressHints { _ in false } == bare)
            #expect(record.withAddressHints { _ in true } == bare)
        }
    }

    @Test("other types have no target and no hints, and do not change")
    func otherTypes() throws {
        for type in [RecordType.a, .txt, .cname, RecordType(rawValue: 63), RecordType(rawValue: 66)] {
            let record = try record(ServiceBindingTests.everything, type)
            #expect(record.bindingTarget == nil)
            #expect(record.addressHints.isEmpty)
            #expect(record.withAddressHints { _ in false } == record)
        }
    }

    @Test(
        "malformed parameters hint at nothing, and are cut off whatever is allowed",
        arguments: [
            "00", "0004", "0004 00", "0004 0004", "0004 0004 c00002", "0004 0000", "0004 0003 c00002",
            "0004 0005 c000020101", "0006 0004 c0000201", "0006 0000", "0006 000f 0102030405060708090a0b0c0d0e0f",
            "0004 0004 c0000201 0004 0004 c0000202", "0004 0004 c0000201 0001 0003 026832",
            "0004 0004 c0000201 029b 0005 6865", "0000 0000", "0000 0001 00", "0000 0003 000400 0004 0004 c0000201",
            "0000 0004 00040004 0004 0004 c0000201", "0000 0004 00060004 0004 0004 c0000201",
        ])
    func malformedParameters(hex: String) throws {
        let record = try record("0001 \(ServiceBindingTests.fooExampleCom) \(hex)")
        #expect(record.addressHints.isEmpty)
        #expect(record.bindingTarget == Name("foo.example.com"))
        #expect(record.withAddressHints { _ in true } == (try self.record("0001 \(ServiceBindingTests.fooExampleCom)")))
    }

    @Test(
        "without a target that can be read only the priority stays",
        arguments: [
            "", "03", "03666f", "03666f6f", "c000", "c00c 0004 0004 c0000201", "03666f6fc002 0004 0004 c0000201",
            "40 0004 0004 c0000201", "80",
        ])
    func malformedTarget(hex: String) throws {
        let record = try record("0001 \(hex)")
        #expect(record.bindingTarget == nil)
        #expect(record.addressHints.isEmpty)
        #expect(record.withAddressHints { _ in true } == (try self.record("0001")))
    }

    @Test("no data, or half a priority, stays what it is")
    func noPriority() throws {
        for hex in ["", "00", "01"] {
            let record = try record(hex)
            #expect(record.bindingTarget == nil)
            #expect(record.withAddressHints { _ in false } == record)
        }
    }

    @Test("wherever the data ends, no hint passes that is not allowed")
    func truncations() throws {
        let whole = try bytes(ServiceBindingTests.everything)
        for count in 0...whole.count { try check(Array(whole.prefix(count)), allowed: [], "cut at \(count)") }
    }

    @Test("whatever is done to the data, no hint passes that is not allowed", arguments: 0..<8 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let whole = try bytes(ServiceBindingTests.everything)
        let allowed = try addresses(["192.0.2.1", "2001:db8::1"])
        for round in 0..<2_000 {
            var data = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = Int.random(in: 0..<data.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: data[at] = UInt8.random(in: 0...255, using: &random)
                case 1: data[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: data.remove(at: at)
                default: data.insert(UInt8.random(in: 0...8, using: &random), at: at)
                }
            }
            try check(data, allowed: allowed, "seed \(seed), round \(round)")
        }
    }

    /// Checks the invariants for any data: the remaining hints are the allowed ones; a second removal changes nothing;
    /// the target is the same; and if all hints are allowed, well-formed data does not change.
    private func check(_ data: [UInt8], allowed: [Address], _ what: Comment) throws {
        let record = ResourceRecord(owner: .root, type: .https, ttlSeconds: 300, data: data)
        let cut = record.withAddressHints(allowed.contains)
        #expect(cut.addressHints == record.addressHints.filter(allowed.contains), what)
        #expect(cut.withAddressHints(allowed.contains) == cut, what)
        #expect(cut.bindingTarget == record.bindingTarget, what)
        #expect(cut.data.count <= data.count, what)
        if !record.addressHints.isEmpty { #expect(record.withAddressHints { _ in true } == record, what) }
    }

    private func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }
}
