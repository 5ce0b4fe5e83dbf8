// The messages between the daemon and its helper, above all those of a compromised daemon.

import DNSWire
import SetFeed
import Testing

@Suite struct SetMessageTests {
    private let set = AddressSet("inet#filter#allowed")

    private func request(_ elements: [SetElement]) throws -> SetRequest {
        SetRequest(number: 0x0102_0304, set: try #require(set), elements: elements)
    }

    private func elements(_ count: Int) -> [SetElement] {
        (0..<count).map { SetElement(address: .v4(UInt32($0)), timeoutSeconds: 60) }
    }

    @Test func aRequestHasTheBytesOfItsFormat() throws {
        let request = try request([
            SetElement(address: .v4(0xC000_0201), timeoutSeconds: 300),
            SetElement(address: .v6(high: 0x2001_0DB8_0000_0000, low: 1), timeoutSeconds: 1),
        ])
        let expected: [UInt8] =
            [2, 1, 2, 3, 4, 19] + Array("inet#filter#allowed".utf8) + [0, 2]
            + [4, 192, 0, 2, 1, 0, 0, 1, 44]
            + [16, 0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
        #expect(request.bytes == expected)
        #expect(SetRequest(expected) == request)
    }

    @Test func theLongestRequestFitsOneMessage() throws {
        let name = String(repeating: "a", count: 64)
        let set = try #require(AddressSet("inet#\(name)#\(name)"))
        let elements = (0..<SetRequest.maxElements).map {
            SetElement(address: .v6(high: .max, low: UInt64($0)), timeoutSeconds: SetElement.timeouts.upperBound)
        }
        let request = SetRequest(number: .max, set: set, elements: elements)
        #expect(request.bytes.count <= SetRequest.maxBytes)
        #expect(SetRequest(request.bytes) == request)
    }

    @Test func everyCutOrLengthenedRequestIsRefused() throws {
        let bytes = try request(elements(3)).bytes
        for count in bytes.indices { #expect(SetRequest(Array(bytes[..<count])) == nil, "\(count) bytes") }
        #expect(SetRequest(bytes + [0]) == nil)
    }

    @Test func hostileRequestsAreRefused() throws {
        let good = try request(elements(1)).bytes
        func changed(_ place: Int, _ byte: UInt8) -> [UInt8] {
            var bytes = good
            bytes[place] = byte
            return bytes
        }
        let countAt = 6 + 19
        let cases: [(String, [UInt8])] = [
            ("another version", changed(0, 1)),
            ("a count that is larger than the content", changed(countAt + 1, 255)),
            ("a huge count", changed(countAt, 255)),
            ("an address of 5 bytes", changed(countAt + 2, 5)),
            ("no time-out", changed(good.count - 1, 0)),
            ("a time-out of years", changed(good.count - 4, 255)),
            ("a name that is longer than the message", changed(5, 255)),
            ("a line end in a name", changed(10, 10)), ("a quote in a name", changed(12, 0x22)),
            ("a brace in a name", changed(12, 0x7B)), ("a byte that is no ASCII", changed(12, 0xFF)),
        ]
        for (what, bytes) in cases { #expect(SetRequest(bytes) == nil, "\(what)") }
    }

    @Test func moreElementsThanAllowedAreRefused() throws {
        #expect(SetRequest(try request(elements(SetRequest.maxElements)).bytes) != nil)
        #expect(SetRequest(try request(elements(SetRequest.maxElements + 1)).bytes) == nil)
    }

    @Test func randomBytesAreNoRequestAndNoReply() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in UInt8.random(in: 0...255) }
            // Neither parser may trap. Random bytes rarely have a valid name, so no request is expected.
            #expect(SetRequest(bytes) == nil)
            if let reply = SetReply(bytes) { #expect(SetReply(reply.bytes) == reply) }
        }
    }

    @Test func repliesSurviveTheWay() {
        let states: [SetState] = [
            .ready(.a), .ready(.aaaa), .notListed, .missing, .noTable, .untimed(.a), .untimed(.aaaa), .otherType, .map,
        ]
        let refused = SetReply.done(number: 7, .ready(.a), SetReply.Refusal(places: [0, 9, 255], reason: "it is full"))
        for reply in states.map({ SetReply.done(number: 7, $0) }) + [refused, .rulesetChanged] {
            #expect(SetReply(reply.bytes) == reply)
            for count in reply.bytes.indices { #expect(SetReply(Array(reply.bytes[..<count])) == nil) }
            #expect(SetReply(reply.bytes + [0]) == nil)
        }
    }

    @Test func placesThatDoNotIncreaseAreRefused() {
        let good = SetReply.done(number: 7, .ready(.a), SetReply.Refusal(places: [3, 4], reason: "")).bytes
        #expect(SetReply(good) != nil)
        for places: [UInt8] in [[4, 4], [5, 4]] {
            #expect(SetReply(Array(good.prefix(11)) + places + [0]) == nil)
        }
    }

    @Test func aLongReasonIsCutAndControlCharactersAreRemoved() {
        func reply(_ reason: String) -> SetReply {
            .done(number: 1, .ready(.a), SetReply.Refusal(places: Array(0..<256), reason: reason))
        }
        let long = reply("a\u{1B}\n" + String(repeating: "x", count: 1000))
        #expect(long.bytes.count <= SetReply.maxBytes)
        let expected = "a  " + String(repeating: "x", count: SetReply.maxTextBytes - 3)
        #expect(SetReply(long.bytes) == reply(expected))
    }

    @Test func namesOfSets() {
        for text in ["inet#filter#allowed", "ip#a#b", "ip6#_t#s-1.x"] {
            #expect(AddressSet(text)?.description == text)
            #expect(AddressSetTarget("4#" + text)?.description == "4#" + text)
        }
        let refused = [
            "", "inet", "inet#filter", "inet#filter#a#b", "bridge#t#s", "inet##s", "inet#t#", "inet#1t#s", "inet#t#s s",
            "inet#t#s;", "inet#t#{", "INET#t#s", "inet#t#" + String(repeating: "s", count: 65), "inet#-t#s",
        ]
        for text in refused { #expect(AddressSet(text) == nil, "\(text)") }
        for text in ["5#inet#t#s", "4#t#s", "4#4#inet#t#s"] { #expect(AddressSetTarget(text) == nil, "\(text)") }
    }
}
