// The helper's parsing of nftables, its changes, and its messages to the kernel.

import CLinux
import DNSWire
import LinuxIO
import SetFeed
import Testing

@testable import NFTSetHelper

@Suite struct RulesetTests {
    // MARK: declarations

    /// A message NFT_MSG_NEWSET with NFTA_SET_FLAGS, NFTA_SET_KEY_TYPE, NFTA_SET_KEY_LEN, and NFTA_SET_USERDATA if
    /// there is some.
    private func declaration(_ flags: UInt8, type: [UInt8], length: UInt8, userData: [UInt8] = []) -> [UInt8] {
        var attributes: [(UInt8, [UInt8])] = [(3, [0, 0, 0, flags]), (4, type), (5, [0, 0, 0, length])]
        if !userData.isEmpty { attributes.append((13, userData)) }
        return rawMessage(9, attributes)
    }

    private func read(_ bytes: [UInt8]) -> SetDeclaration? {
        var messages = NetlinkMessages()
        return messages.next(in: bytes.span).flatMap { SetDeclaration($0, in: bytes.span) }
    }

    @Test func declarationsOfSets() {
        let (ip, ip6, ether): ([UInt8], [UInt8], [UInt8]) = ([0, 0, 0, 7], [0, 0, 0, 8], [0, 0, 0, 9])
        let (interval, map, timed): (UInt8, UInt8, UInt8) = (4, 8, 16)
        let cases: [([UInt8], SetState)] = [
            (declaration(timed, type: ip, length: 4), .ready(.a)),
            (declaration(timed, type: ip6, length: 16), .ready(.aaaa)),
            (declaration(timed | interval, type: ip, length: 4), .ready(.a)),
            // The set has the flag dynamic.
            (declaration(timed | 32, type: ip, length: 4), .ready(.a)),
            (declaration(0, type: ip, length: 4), .untimed(.a)),
            (declaration(interval, type: ip6, length: 16), .untimed(.aaaa)),
            // The type is an address and a port.
            (declaration(timed, type: [0, 0, 1, 0xCD], length: 8), .otherType),
            (declaration(timed, type: ether, length: 6), .otherType),
            (declaration(timed | map, type: ip, length: 4), .map),
        ]
        for (bytes, state) in cases { #expect(read(bytes)?.state == state, "\(bytes)") }
        #expect(read(rawMessage(12, [])) == nil)
    }

    @Test func intervalsThatNftMayMerge() {
        // NFTNL_UDATA_SET_KEYBYTEORDER, NFTNL_UDATA_SET_MERGE_ELEMENTS.
        let order: [UInt8] = [0, 4, 2, 0, 0, 0]
        let cases: [([UInt8], Bool)] = [
            ([], false), (order, false), (order + [2, 4, 1, 0, 0, 0], true), (order + [2, 4, 0, 0, 0, 0], false),
            (order + [2, 4, 1, 0], false), ([2], false), ([2, 0], false), ([2, 200, 1, 1, 1, 1], false),
        ]
        for (data, merges) in cases {
            let read = read(declaration(16 | 4, type: [0, 0, 0, 7], length: 4, userData: data))
            #expect(read?.isInterval == true)
            #expect(read?.merges == merges, "\(data)")
        }
    }

    // MARK: changes

    private func key(_ last: UInt32) -> SetKey { SetKey(.v4(0xC000_0200 + last)) }

    private func plan(
        _ wanted: [(last: UInt32, seconds: UInt64)], _ found: [ElementPlan.Found], merges: Bool = false
    ) -> ElementPlan {
        ElementPlan(
            wanted.map { ElementPlan.Requested(key: key($0.last), milliseconds: $0.seconds * 1000) }, found,
            merges: merges
        )
    }

    @Test func anAddressIsAddedProlongedAndNeverShortened() {
        let (one, life): (ClosedRange<SetKey>, UInt64) = (key(1)...key(1), 60_000)
        let addition = ElementPlan.Step.add(one, milliseconds: life)
        let cases: [(ElementPlan.Found, [ElementPlan.Step])] = [
            (.nothing, [addition]),
            (.element(one, milliseconds: 59_999), [addition, .delete(one), addition]),
            (.element(one, milliseconds: 0), [addition, .delete(one), addition]),
            (.element(one, milliseconds: 60_000), []), (.element(one, milliseconds: 300_000), []),
            // The element is the operator's own.
            (.element(one, milliseconds: nil), []),
        ]
        for (found, steps) in cases {
            let plan = plan([(1, 60)], [found])
            #expect(plan.changes.flatMap(\.steps) == steps, "\(found)")
            #expect(plan.refused.isEmpty)
        }
    }

    @Test func anIntervalThatContainsTheAddressIsTheOperators() {
        let wide = key(0)...key(127)
        for milliseconds: UInt64? in [nil, 1000, 300_000] {
            let plan = plan([(1, 60)], [.element(wide, milliseconds: milliseconds)])
            #expect(plan.changes.isEmpty)
            #expect(plan.refused == [key(1): 17])  // EEXIST
        }
    }

    @Test func anIntervalThatNftMayDivideIsDividedOnceForAllItsAddresses() {
        let wide = key(10)...key(13)
        func rest(_ range: ClosedRange<SetKey>) -> ElementPlan.Step { .add(range, milliseconds: 5000) }
        func own(_ last: UInt32) -> ElementPlan.Step { .add(key(last)...key(last), milliseconds: 60_000) }
        let cases: [([UInt32], [ElementPlan.Step])] = [
            ([10], [own(10), rest(key(11)...key(13))]), ([13], [rest(key(10)...key(12)), own(13)]),
            ([11], [rest(key(10)...key(10)), own(11), rest(key(12)...key(13))]),
            ([10, 12], [own(10), rest(key(11)...key(11)), own(12), rest(key(13)...key(13))]),
            ([10, 11, 12, 13], [own(10), own(11), own(12), own(13)]),
        ]
        for (lasts, steps) in cases {
            let plan = plan(
                lasts.map { ($0, 60) }, lasts.map { _ in .element(wide, milliseconds: 5000) }, merges: true)
            #expect(plan.changes.map(\.steps) == [[rest(wide), .delete(wide)] + steps], "\(lasts)")
            #expect(plan.changes.map(\.keys) == [lasts.map(key)])
            #expect(plan.refused.isEmpty)
        }
        // The element already lasts long enough.
        for milliseconds: UInt64? in [nil, 60_000] {
            #expect(plan([(11, 60)], [.element(wide, milliseconds: milliseconds)], merges: true).changes.isEmpty)
        }
        // The kernel might round the time-out to zero.
        let short = plan([(10, 60)], [.element(wide, milliseconds: 1)], merges: true)
        #expect(short.changes.first?.steps.last == .add(key(11)...key(13), milliseconds: 1000))
    }

    @Test func theEndsOfTheAddressSpace() throws {
        #expect(SetKey(.v4(.max)).next == nil && SetKey(.v4(0)).previous == nil)
        #expect(SetKey(.v4(0)).next == SetKey(.v4(1)))
        #expect(SetKey(.v6(high: .max, low: .max)).next == nil)
        #expect(SetKey(.v6(high: 1, low: .max)).next == SetKey(.v6(high: 2, low: 0)))
        #expect(SetKey(.v4(0xC000_0201)).bytes == [192, 0, 2, 1])
        #expect(SetKey(.v6(high: 1 << 56, low: 2)).bytes == [1] + [UInt8](repeating: 0, count: 14) + [2])
        #expect(SetKey(bytes: [1, 2, 3]) == nil)
    }

    @Test func aTransactionHasTheBytesOfItsFormat() throws {
        let set = try #require(AddressSet("ip#t#set"))
        let change = plan([(1, 60)], [.nothing]).changes
        // nlmsghdr, nfgenmsg, then NFTA_SET_ELEM_LIST_TABLE, _SET, _ELEMENTS.
        let begin: [UInt8] = [20, 0, 0, 0, 16, 0, 1, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 10]
        let names: [UInt8] = [6, 0, 1, 0, 116, 0, 0, 0, 8, 0, 2, 0, 115, 101, 116, 0]
        let element: [UInt8] =
            [28, 0, 1, 0x80, 12, 0, 1, 0x80, 8, 0, 1, 0, 192, 0, 2, 1] + [12, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0xEA, 0x60]
        let end: [UInt8] = [24, 0, 1, 0x80, 12, 0, 1, 0x80, 8, 0, 1, 0, 192, 0, 2, 2, 8, 0, 3, 0, 0, 0, 0, 1]
        func addition(_ elements: [UInt8]) -> [UInt8] {
            let size = UInt8(elements.count)
            return [size + 40, 0, 0, 0, 12, 10, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0] + names
                + [size + 4, 0, 3, 0x80] + elements
        }
        var finish = begin
        finish[4] = 17
        for (isInterval, elements) in [(false, element), (true, element + end)] {
            #expect(
                SetMessages.transaction(change, of: set, isInterval: isInterval) == begin + addition(elements) + finish)
        }
    }

    // MARK: messages of the kernel

    /// A message as the kernel writes it: nlmsghdr, nfgenmsg, attributes.
    private func rawMessage(
        _ type: UInt8, family: UInt8 = 1, port: UInt8 = 9, _ attributes: [(UInt8, [UInt8])]
    ) -> [UInt8] {
        var body: [UInt8] = [family, 0, 0, 0]
        for (attribute, value) in attributes {
            body += [UInt8(value.count + 4), 0, attribute, 0] + value
            while body.count % 4 != 0 { body.append(0) }
        }
        return [UInt8(body.count + 16), 0, 0, 0, type, 10, 0, 0, 0, 0, 0, 0, port, 0, 0, 0] + body
    }

    private func message(_ type: UInt8, family: UInt8 = 1, port: UInt8 = 9, _ names: [(UInt8, String)]) -> [UInt8] {
        rawMessage(type, family: family, port: port, names.map { ($0, Array($1.utf8) + [0]) })
    }

    @Test func changesOfTheSetsAreNoticed() throws {
        let sets: Set<AddressSet> = [try #require(AddressSet("inet#filter#allowed"))]
        let names: [(UInt8, String)] = [(1, "filter"), (2, "allowed")]
        func concerns(_ bytes: [UInt8]) -> Bool { SetReports.concern(sets, in: bytes.span, without: 7) }
        #expect(concerns(message(14, names)))
        #expect(concerns(message(9, names)))
        #expect(concerns(message(11, names)))
        // Messages about elements, the helper's own changes, and other sets do not count.
        #expect(!concerns(message(12, names)))
        #expect(!concerns(message(14, port: 7, names)))
        #expect(!concerns(message(14, family: 2, names)))
        #expect(!concerns(message(14, [(1, "filter"), (2, "other")])))
        #expect(!concerns(message(14, [(1, "nat"), (2, "allowed")])))
        // The relevant message is the second of two.
        #expect(concerns(message(12, names) + message(14, names)))
    }

    @Test func cutMessagesAreIgnored() throws {
        let sets: Set<AddressSet> = [try #require(AddressSet("inet#filter#allowed"))]
        func concerns(_ bytes: [UInt8]) -> Bool { SetReports.concern(sets, in: bytes.span, without: 7) }
        let bytes = message(14, [(1, "filter"), (2, "allowed")])
        for count in bytes.indices {
            #expect(!concerns(Array(bytes[..<count])), "\(count) bytes")
        }
        #expect(!concerns([UInt8](repeating: 0, count: 64)))
    }
}
