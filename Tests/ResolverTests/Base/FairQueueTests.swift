// The order in which entries get places and leave the queue, also compared with a model that sorts all entries each
// time.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Fair queue")
struct FairQueueTests {
    private var queue = FairQueue(capacity: 4)
    private var next = 0

    private func holder(_ name: String, _ client: UInt32? = nil, isKnown: Bool = false) throws -> ShareHolder {
        ShareHolder(try #require(Name(name)), client.map { ClientID(.v4($0)) }, isKnown: isKnown)
    }

    @discardableResult
    private mutating func add(_ name: String, _ client: UInt32? = nil, isKnown: Bool = false) throws -> Int {
        queue.add(next, for: try holder(name, client, isKnown: isKnown))
        next += 1
        return next - 1
    }

    private mutating func takeAll() -> [Int] {
        var taken: [Int] = []
        while let id = queue.take() { taken.append(id) }
        return taken
    }

    @Test("one holder may have all places, and a free place goes to any holder that asks")
    mutating func workConserving() throws {
        for _ in 0..<6 { try add("n.slow.example", 1) }
        #expect(takeAll() == [0, 1, 2, 3] && queue.waitingCount == 2)
        queue.remove(1)
        #expect(takeAll() == [4])
    }

    @Test("the next free place goes to the client, the domain and the parent with the fewest, then to a known name")
    mutating func order() throws {
        for _ in 0..<4 { try add("n.hang.corp.example", 1) }
        #expect(takeAll().count == 4)
        let sibling = try add("n.hang.corp.example", 1)
        let unknown = try add("n.www.corp.example", 1)
        let known = try add("www.www.corp.example", 1, isKnown: true)
        let otherDomain = try add("n.other.example", 1)
        let otherClient = try add("n.hang.corp.example", 2)
        for expected in [otherClient, otherDomain, known, unknown, sibling] {
            #expect(queue.next == expected)
            queue.remove(expected)
        }
        #expect(queue.next == nil && queue.waitingCount == 0)
    }

    @Test("holders with equal numbers take turns")
    mutating func turns() throws {
        for _ in 0..<3 { for client in 1...3 as ClosedRange<UInt32> { try add("n.example", client) } }
        queue.capacity = .max
        #expect(takeAll() == [0, 1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test("an IPv6 /64 counts as one, and its addresses apart within it")
    mutating func networks() throws {
        let name = try #require(Name("n.example"))
        func client(_ low: UInt64) -> ShareHolder {
            ShareHolder(name, ClientID(.v6(high: 0x2001_0db8_0000_0001, low: low)))
        }
        for low in 1...8 as ClosedRange<UInt64> { queue.add(Int(low), for: client(low)) }
        #expect(takeAll() == [1, 2, 3, 4])
        queue.add(20, for: client(1))
        queue.add(21, for: ShareHolder(name, ClientID(.v4(0xC000_0201))))
        queue.remove(1)
        #expect(takeAll() == [21])
        queue.remove(2)
        #expect(takeAll() == [5], "addresses 1 and 5 have none, and 5 had no turn")
        queue.remove(3)
        #expect(takeAll() == [6])
        #expect(ClientID(.v6(high: 0, low: 0xffff_c000_0201)) == ClientID(.v4(0xc000_0201)))
        #expect(ClientID(.v6(high: 0, low: 1)).network == nil)
    }

    @Test("at a bound the newest of the largest holder leaves, or the oldest")
    mutating func leaving() throws {
        for _ in 0..<3 { try add("n.many.example", 1) }
        for number in 0..<2 { try add("n.few\(number).example", 2) }
        #expect(queue.waitingOfLargest == 2)
        for _ in 0..<2 { try add("n.few1.example", 2) }
        #expect(queue.waitingOfLargest == 6)
        queue = FairQueue(capacity: 0, leaving: .oldest)
        for name in ["a.many.example", "b.few.example", "c.many.example"] { try add(name) }
        #expect(queue.waitingOfLargest == next - 3)
        #expect(queue.next != nil && queue.take() == nil)
    }

    private struct Entry {
        let id: Int
        let holder: ShareHolder
        var isHeld = false
    }

    @Test("it agrees with a model over 20,000 random steps", arguments: 1...4 as ClosedRange<UInt64>)
    mutating func model(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var model: [Entry] = []
        func held(_ isMeant: (ShareHolder) -> Bool) -> Int { model.count { $0.isHeld && isMeant($0.holder) } }
        for step in 0..<5000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0...2:
                let name =
                    "n\(step).p\(Int.random(in: 0..<3, using: &random))."
                    + "d\(Int.random(in: 0..<3, using: &random)).example"
                let holder = try holder(
                    name, UInt32.random(in: 1...4, using: &random), isKnown: Bool.random(using: &random))
                queue.add(step, for: holder)
                model.append(Entry(id: step, holder: holder))
            case 3 where !model.isEmpty:
                queue.remove(model.remove(at: Int.random(in: 0..<model.count, using: &random)).id)
            default: break
            }
            guard queue.heldCount < 4, let taken = queue.take() else { continue }
            let index = try #require(model.firstIndex { $0.id == taken })
            let holder = model[index].holder
            for other in model where !other.isHeld {
                let (mine, theirs) = (holder, other.holder)
                let counts: [(Int, Int)] = [
                    (held { $0.client == mine.client }, held { $0.client == theirs.client }),
                    (
                        held { $0.client == mine.client && $0.domain == mine.domain },
                        held { $0.client == theirs.client && $0.domain == theirs.domain }
                    ),
                    (
                        held { $0.client == mine.client && $0.parent == mine.parent },
                        held { $0.client == theirs.client && $0.parent == theirs.parent }
                    ),
                ]
                if mine.client != theirs.client {
                    #expect(counts[0].0 <= counts[0].1)
                } else if mine.domain != theirs.domain {
                    #expect(counts[1].0 <= counts[1].1)
                } else if mine.parent != theirs.parent {
                    #expect(counts[2].0 <= counts[2].1)
                } else {
                    #expect(mine.isKnown || !theirs.isKnown)
                    if mine.isKnown == theirs.isKnown { #expect(taken <= other.id) }
                }
            }
            model[index].isHeld = true
            #expect(queue.heldCount == model.count(where: \.isHeld))
            #expect(queue.waitingCount == model.count { !$0.isHeld })
            #expect(queue.oldestHeld.map { queue.isHeld($0) } ?? false)
            if queue.heldCount == 4, step % 3 == 0, let oldest = queue.oldestHeld {
                queue.suspend(oldest)
                let index = try #require(model.firstIndex { $0.id == oldest })
                let suspended = model.remove(at: index)
                // The suspended entry goes to the end of its holder's queue.
                queue.remove(oldest)
                queue.add(100_000 + oldest, for: suspended.holder)
                model.append(Entry(id: 100_000 + oldest, holder: suspended.holder))
            }
        }
    }

    @Test("it costs no more while 10,000 wait")
    mutating func cost() throws {
        queue = FairQueue(capacity: 400)
        let holders = try (0..<2000).map { number in
            try holder("n.p\(number % 40).d\(number % 50).example", UInt32(number % 100))
        }
        let clock = ContinuousClock()
        let took = clock.measure {
            for number in 0..<10_000 { queue.add(number, for: holders[number % holders.count]) }
            for number in 10_000..<60_000 {
                queue.add(number % 20_000, for: holders[number % holders.count])
                if let id = queue.take() ?? queue.oldestHeld { queue.remove(id) }
            }
        }
        // Each operation takes some microseconds; a scan of the queue would take minutes.
        #expect(took < .seconds(20))
    }
}
