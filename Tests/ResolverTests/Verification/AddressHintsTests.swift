// Hints in HTTPS and SVCB answers follow the addresses that the name's own answers contain.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Address hints")
struct AddressHintsTests {
    private var stand: VerificationStand

    init() throws {
        stand = try VerificationStand()
    }

    private var https: Question { Question(stand.name, .https) }

    /// A record with priority 1, ALPN h2, and an ipv4hint.
    private func binding(_ numbers: [Int], target: Name = .root, owner: Name? = nil) -> ResourceRecord {
        let hint = numbers.flatMap { VerificationStand.address($0).bytes }
        let parameters: [UInt8] =
            [0, 1, 0, 3, 2, 0x68, 0x32] + (hint.isEmpty ? [] : [0, 4, 0, UInt8(hint.count)] + hint)
        return ResourceRecord(
            owner: owner ?? stand.name, type: .https, ttlSeconds: 60, data: [0, 1] + target.wire + parameters)
    }

    private mutating func hints(_ record: ResourceRecord) -> [Address] {
        let error = ExtendedError(upstream: 3, text: "old".utf8)
        let arranged = stand.verification.arranged(https, Answer(records: [record]).remarked(error), now: stand.now)
        #expect(
            arranged.remark == error && arranged.records.count == 1
                && arranged.records[0].data.prefix(3) == record.data.prefix(3))
        return arranged.records[0].addressHints
    }

    @Test("private hints go, whatever is handed out; a signed answer with one is refused")
    func privateHints() throws {
        let policy = Policy().of(stand.name)
        let binding = { (hints: [String]) throws -> ResourceRecord in
            let addresses = try hints.map { try #require(Address($0)) }
            let key: UInt8 = addresses[0].isIPv6 ? 6 : 4
            let bytes = addresses.flatMap(\.bytes)
            return ResourceRecord(
                owner: stand.name, type: .https, ttlSeconds: 60, data: [0, 1, 0, 0, key, 0, UInt8(bytes.count)] + bytes)
        }
        for (hints, left) in [
            (["192.168.0.1", "93.184.216.34"], ["93.184.216.34"]), (["10.0.0.1"], []), (["127.0.0.1"], []),
            (["fd00::1", "2606:2800::1"], ["2606:2800::1"]), (["::1"], []), (["93.184.216.34"], ["93.184.216.34"]),
        ] {
            let answer = policy.withoutPrivateAddresses(Answer(records: [try binding(hints)]), of: stand.name)
            #expect(answer?.records.count == 1 && answer?.records[0].addressHints.map(\.description) == left)
        }
        let signature = ResourceRecord(owner: stand.name, type: .rrsig, ttlSeconds: 60, data: [0, 65])
        let signed = { (record: ResourceRecord) in Answer(records: [record]).whole([record, signature], []) }
        #expect(policy.withoutPrivateAddresses(signed(try binding(["192.168.0.1"])), of: stand.name) == nil)
        let unchanged = signed(try binding(["93.184.216.34"]))
        #expect(policy.withoutPrivateAddresses(unchanged, of: stand.name) == unchanged)
    }

    @Test("hints go where no address of the name is known")
    mutating func unknown() throws {
        let hints = hints(binding([1, 2]))
        #expect(hints.isEmpty)
    }

    @Test("hints are cut to what is handed out, verdicts counted in")
    mutating func cut() throws {
        stand.kept([1, 2, 66])
        var hints = hints(binding([1, 66, 9]))
        #expect(hints == [1, 66].map(VerificationStand.address))
        try stand.learn([66: .untrusted, 1: .verified, 2: .refused])
        hints = self.hints(binding([1, 2, 66, 9]))
        #expect(hints == [VerificationStand.address(1)])
    }

    @Test("hints for another target go: its addresses are not looked after here")
    mutating func otherTarget() throws {
        stand.kept([1])
        let other = try #require(Name("svc.example"))
        var hints = hints(binding([1], target: other))
        #expect(hints.isEmpty)
        hints = self.hints(binding([1], target: stand.name, owner: other))
        #expect(hints == [VerificationStand.address(1)])
        hints = self.hints(binding([1], target: other, owner: other))
        #expect(hints == [VerificationStand.address(1)])
    }

    @Test("what is kept follows each change of the addresses, and stays as it is when they only take turns")
    mutating func rearranged() throws {
        stand.kept(https, Answer(records: [binding([1, 66])]))
        _ = stand.take()
        stand.kept([1, 66])
        var follows = stand.take()
        #expect(
            follows.contains(.rearrange(https, Answer(records: [binding([1, 66])]), VerificationStand.alpha)))
        stand.pass(Bounds.probeJitter)
        try stand.found(1, .verified)
        _ = stand.take()
        try stand.found(66, .nameMismatch)
        follows = stand.take()
        #expect(follows.contains(.rearrange(https, Answer(records: [binding([1])]), VerificationStand.alpha)))
        stand.pass(.seconds(6))
        stand.requested(1)
        try stand.found(1, .verified)
        follows = stand.take()
        #expect(!follows.contains { if case .rearrange = $0 { true } else { false } })
    }

    @Test("an answer that is too large to be looked after has no hints")
    mutating func tooLarge() throws {
        stand.kept([1])
        let records = (0..<100).map { _ in binding([1]) }
        let arranged = stand.verification.arranged(https, Answer(records: records), now: stand.now)
        #expect(arranged.records.count == 100 && arranged.records.allSatisfy(\.addressHints.isEmpty))
        stand.kept(https, Answer(records: records))
        _ = stand.take()
        stand.kept([2])
        let follows = stand.take()
        #expect(!follows.contains { if case .rearrange = $0 { true } else { false } })
    }
}
