// What the helper reads from nftables: declarations of sets, and the kernel's messages about changes.

import DNSWire
import SetFeed
import Testing

@testable import httpdnsd_nftset

@Suite struct RulesetTests {
    private func listing(_ lines: String...) -> String {
        "table inet filter {\n\tset allowed {\n" + lines.map { "\t\t\($0)\n" }.joined() + "\t}\n}\n"
    }

    @Test func declarationsOfSets() {
        let cases: [(String, SetState)] = [
            (listing("type ipv4_addr", "flags timeout"), .ready(.a)),
            (listing("type ipv6_addr", "size 65535", "flags interval,timeout"), .ready(.aaaa)),
            (listing("type ipv4_addr", "flags dynamic, timeout", "timeout 1h"), .ready(.a)),
            (listing("type ipv4_addr"), .untimed), (listing("type ipv4_addr", "flags interval"), .untimed),
            (listing("type ipv4_addr . inet_service", "flags timeout"), .otherType),
            (listing("type ether_addr", "flags timeout"), .otherType),
            (listing("typeof ip saddr", "flags timeout"), .otherType), ("", .otherType),
            (listing("type ipv4_addr", "comment \"flags timeout\""), .untimed),
        ]
        for (text, state) in cases { #expect(Ruleset.state(listing: text) == state, "\(text)") }
    }

    @Test func aRequestBecomesOneTransactionThatProlongs() throws {
        let set = try #require(AddressSet("inet#filter#allowed"))
        let elements = [
            SetElement(address: .v4(0xC000_0201), timeoutSeconds: 60),
            SetElement(address: .v4(0xC000_0202), timeoutSeconds: 5),
        ]
        #expect(
            Ruleset.addition(elements, to: set) == """
                add element inet filter allowed { 192.0.2.1 timeout 60s, 192.0.2.2 timeout 5s }
                delete element inet filter allowed { 192.0.2.1, 192.0.2.2 }
                add element inet filter allowed { 192.0.2.1 timeout 60s, 192.0.2.2 timeout 5s }

                """)
    }

    /// A message as the kernel writes it: nlmsghdr, nfgenmsg, attributes.
    private func message(_ type: UInt8, family: UInt8 = 1, port: UInt8 = 9, _ names: [(UInt8, String)]) -> [UInt8] {
        var body: [UInt8] = [family, 0, 0, 0]
        for (attribute, name) in names {
            let text = Array(name.utf8) + [0]
            body += [UInt8(text.count + 4), 0, attribute, 0] + text
            while body.count % 4 != 0 { body.append(0) }
        }
        return [UInt8(body.count + 16), 0, 0, 0, type, 10, 0, 0, 0, 0, 0, 0, port, 0, 0, 0] + body
    }

    @Test func changesOfTheSetsAreNoticed() throws {
        let sets: Set<AddressSet> = [try #require(AddressSet("inet#filter#allowed"))]
        let names: [(UInt8, String)] = [(1, "filter"), (2, "allowed")]
        func concerns(_ bytes: [UInt8]) -> Bool { RulesetChanges.concern(sets, in: bytes, without: 7) }
        #expect(concerns(message(14, names)))
        #expect(concerns(message(9, names)))
        #expect(concerns(message(11, names)))
        // Elements of other programs, and its own changes.
        #expect(!concerns(message(12, names)))
        #expect(!concerns(message(14, port: 7, names)))
        #expect(!concerns(message(14, family: 2, names)))
        #expect(!concerns(message(14, [(1, "filter"), (2, "other")])))
        #expect(!concerns(message(14, [(1, "nat"), (2, "allowed")])))
        // The second of two messages.
        #expect(concerns(message(12, names) + message(14, names)))
    }

    @Test func cutMessagesAreIgnored() throws {
        let sets: Set<AddressSet> = [try #require(AddressSet("inet#filter#allowed"))]
        let bytes = message(14, [(1, "filter"), (2, "allowed")])
        for count in bytes.indices {
            #expect(!RulesetChanges.concern(sets, in: Array(bytes[..<count]), without: 7), "\(count) bytes")
        }
        #expect(!RulesetChanges.concern(sets, in: [UInt8](repeating: 0, count: 64), without: 7))
    }
}
