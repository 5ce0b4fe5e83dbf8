// The remembered networks, their reports, and their notes for a restart.

import DNSWire
import Network
import Testing
import TestSupport

@Suite struct NetworkHistoryTests {
    private func id(_ number: Int) -> NetworkID { NetworkID(rawValue: UInt32(number)) }

    private func network(_ number: Int) -> NetworkIdentity {
        NetworkIdentity(kind: .wifi, searchDomains: ["n\(number)"])
    }

    /// - Parameter numbers: the networks in the order in which they are entered, one each second.
    private func history(_ numbers: [Int], startingAt second: Int64 = 1000) -> NetworkHistory {
        var history = NetworkHistory()
        for (index, number) in numbers.enumerated() {
            _ = history.entered(
                id(number), network(number), cause: index == 0 ? nil : .route, wallSeconds: second + Int64(index))
        }
        return history
    }

    @Test("eight networks are known, and the one not used for longest is forgotten")
    func leastRecentlyUsed() {
        var history = history([1, 2, 3, 4, 5, 6, 7, 8, 1])
        #expect(history.known.map(\.id) == [1, 8, 7, 6, 5, 4, 3, 2].map(id))
        #expect(history.entered(id(9), network(9), cause: .route, wallSeconds: 2000) == [id(2)])
        #expect(history.entered(id(3), network(3), cause: .route, wallSeconds: 2001).isEmpty)
        #expect(history.known.map(\.id) == [3, 9, 1, 8, 7, 6, 5, 4].map(id))
    }

    @Test("a network is seen from its first entry to the last time it was left")
    func visits() throws {
        let history = history([1, 2, 1, 2])
        let (second, first) = (try #require(history.known.first), try #require(history.known.last))
        #expect([first.firstSeen, first.lastSeen, Int64(first.times)] == [1000, 1003, 2])
        #expect([second.firstSeen, second.lastSeen, Int64(second.times)] == [1001, 1003, 2])
        #expect(first.words == "wifi, search n1")
    }

    @Test("where nothing leads out no network is entered")
    func isolated() {
        var history = NetworkHistory()
        #expect(history.entered(id(1), .isolated, cause: nil, wallSeconds: 1).isEmpty)
        #expect(history.known.isEmpty && history.changes.isEmpty)
    }

    @Test("changes are counted by cause, and the last 64 are listed")
    func changes() {
        var history = NetworkHistory()
        _ = history.entered(id(0), network(0), cause: nil, wallSeconds: 0)
        #expect(history.changeCount == 0)
        for number in 1...100 {
            _ = history.entered(
                id(number % 3), network(number % 3), cause: number.isMultiple(of: 4) ? .wake : .vpn,
                wallSeconds: Int64(number))
        }
        #expect(history.changes.count == 64)
        #expect(history.changes.first?.wallSeconds == 100)
        #expect(history.changes.last?.wallSeconds == 37)
        #expect(history.changeCount == 100)
        #expect(history.countByCause == [.wake: 25, .vpn: 75])
    }

    @Test("a recovery belongs to the last change, once")
    func recovery() {
        var history = NetworkHistory()
        history.recovered(after: .seconds(9))
        #expect(history.lastRecovery == nil)
        _ = history.entered(id(1), network(1), cause: .route, wallSeconds: 1)
        _ = history.entered(id(2), network(2), cause: .route, wallSeconds: 2)
        history.recovered(after: .milliseconds(300))
        history.recovered(after: .milliseconds(900))
        #expect(history.changes.map(\.recovery) == [.milliseconds(300), nil])
        #expect(history.lastRecovery == .milliseconds(300))
    }

    @Test("known networks survive a restart; changes do not")
    func restart() {
        let before = history([1, 2, 3, 2])
        let after = NetworkHistory(restoring: before.encoded)
        #expect(after.known == before.known)
        #expect(after.changes.isEmpty && after.changeCount == 0)
        #expect(NetworkHistory(restoring: "") == NetworkHistory())
    }

    @Test("networks with one identity are told apart by their carriers, also after a restart")
    func carriers() throws {
        var history = NetworkHistory()
        let (home, mobile) = (try #require(Prefix("203.0.0.0/16")), try #require(Prefix("198.51.0.0/16")))
        for (number, prefix) in [(1, home), (2, mobile)] {
            _ = history.entered(id(number), onLink: id(1), network(1), cause: .carrier, wallSeconds: 1)
            var carrier = Carrier()
            carrier.set(prefix)
            let (isNews, isNewsAgain) = (history.found(carrier, of: id(number)), history.found(carrier, of: id(number)))
            #expect(isNews && !isNewsAgain)
        }
        var restored = NetworkHistory()
        _ = restored.entered(id(1), network(1), cause: nil, wallSeconds: 2)
        _ = restored.merge(NetworkHistory(restoring: history.encoded))
        for history in [history, restored] {
            #expect(history.network(onLink: id(1), of: home)?.id == id(1))
            #expect(history.network(onLink: id(1), of: mobile)?.id == id(2))
            #expect(history.network(onLink: id(2), of: mobile) == nil)
        }
        #expect(history.latest(onLink: id(1))?.id == id(2) && history.latest(onLink: id(3)) == nil)
        #expect(restored.carrier(of: id(1)).prefixes == [home])
    }

    @Test("the note of eight networks with long names fits")
    func noteSize() throws {
        var history = NetworkHistory()
        for number in 0..<8 {
            let domains = (0..<6).map { _ in String(repeating: "d", count: 253) }
            _ = history.entered(
                NetworkID(rawValue: .max - UInt32(number)), NetworkIdentity(kind: .wifi, searchDomains: domains),
                cause: .route, wallSeconds: .min)
            var carrier = Carrier()
            for text in ["203.113.0.0/16", "2001:dbff::/32"] { carrier.set(try #require(Prefix(text))) }
            _ = history.found(carrier, of: NetworkID(rawValue: .max - UInt32(number)))
        }
        #expect(history.encoded.utf8.count <= NetworkBounds.maxNoteBytes)
        #expect(NetworkHistory(restoring: history.encoded).known == history.known)
    }

    @Test("what a later release writes besides is passed over")
    func unknownFields() {
        let text = """
            form later
            known id=00000001 colour=blue first=5 last=7 times=2 words=wifi, search words=none
            """
        let known = NetworkHistory(restoring: text).known
        #expect(known.map(\.words) == ["wifi, search words=none"])
        #expect(known.map(\.lastSeen) == [7])
    }

    @Test(
        "a damaged note is no history",
        arguments: [
            "known id=0000001 first=5 last=7 times=2 words=wifi", "known id=00000001 first=5 last=7 words=wifi",
            "known id=00000001 first=x last=7 times=2 words=wifi",
            "known id=00000001 first=5 last=7 times=0 words=wifi",
            "known id=00000001 first=5 last=7 times=2", "known id=00000001 first=5 last=7 times=2 words=w\u{1B}",
            "known id=00000001 first=5 last=7 times=99999999999 words=wifi",
            "known id=00000001 carrier=203.0.113.1/16 first=5 last=7 times=2 words=wifi",
            "known id=00000001 link=x first=5 last=7 times=2 words=wifi",
            "known id=00000001 first 5 last=7 times=2 words=wifi", "known ",
            "known id=00000002 first=5 last=7 times=2 words=wifi", String(repeating: "x", count: 4097),
        ])
    func damage(_ line: String) {
        let good = "known id=00000002 first=5 last=7 times=2 words=wifi"
        #expect(NetworkHistory(restoring: good).known.count == 1)
        #expect(NetworkHistory(restoring: good + "\n" + line) == NetworkHistory())
    }

    @Test(
        "any damage of a note leaves networks as they were written, or none", arguments: 1...200 as ClosedRange<UInt64>)
    func anyDamage(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = Array(history([1, 2, 3]).encoded.utf8)
        for _ in 0...2 {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let restored = NetworkHistory(restoring: String(decoding: bytes, as: UTF8.self))
        #expect(restored.known.count <= 3, "seed \(seed)")
        #expect(NetworkHistory(restoring: restored.encoded).known == restored.known, "seed \(seed)")
    }

    @Test("nine known networks were never written")
    func tooMany() {
        let lines = (1...9).map { "known id=0000000\($0) first=5 last=7 times=2 words=wifi" }
        #expect(NetworkHistory(restoring: lines.dropLast().joined(separator: "\n")).known.count == 8)
        #expect(NetworkHistory(restoring: lines.joined(separator: "\n")).known.isEmpty)
    }

    @Test("what was known before the start goes behind what was learned since")
    func merge() {
        let earlier = NetworkHistory(restoring: history([1, 2, 3, 4, 5, 6, 7, 8]).encoded)
        var history = history([9, 7], startingAt: 9000)
        #expect(history.merge(earlier) == [id(1)])
        #expect(history.known.map(\.id) == [7, 9, 8, 6, 5, 4, 3, 2].map(id))
        #expect(history.known.first.map { [$0.firstSeen, $0.lastSeen, Int64($0.times)] } == [1006, 9001, 2])
        #expect(history.changeCount == 1)
    }
}
