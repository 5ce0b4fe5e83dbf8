// The heap, compared with a sorted array.

import DNSWire
import TestSupport
import Testing

@Suite("Deadlines")
struct DeadlineQueueTests {
    private struct Model {
        var entries: [(instant: Instant, number: Int)] = []

        var first: (instant: Instant, number: Int)? {
            entries.min { ($0.instant, $0.number) < ($1.instant, $1.number) }
        }

        mutating func set(_ instant: Instant, for number: Int) {
            remove(number)
            entries.append((instant, number))
        }

        mutating func remove(_ number: Int) { entries.removeAll { $0.number == number } }
    }

    @Test("the queue does what a plain list does", arguments: 1...20 as ClosedRange<UInt64>)
    func model(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = DeadlineQueue()
        var model = Model()
        let origin = Instant.testStart
        for _ in 0..<400 {
            // Few instants and numbers, so that equals and repetitions are frequent.
            let number = Int.random(in: 0..<24, using: &random)
            let instant = origin + .seconds(Int.random(in: 0..<30, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                queue.remove(number)
                model.remove(number)
            case 1:
                let due = model.first.flatMap { $0.instant <= instant ? $0.number : nil }
                #expect(queue.popDue(instant) == due, "seed \(seed)")
                if let due { model.remove(due) }
            default:
                queue.set(instant, for: number)
                model.set(instant, for: number)
            }
            #expect(queue.earliest == model.first?.instant, "seed \(seed)")
        }
        while let first = model.first {
            #expect(queue.popDue(first.instant) == first.number, "seed \(seed)")
            model.remove(first.number)
        }
        #expect(queue.earliest == nil && queue.popDue(origin + .seconds(99)) == nil, "seed \(seed)")
    }

    @Test("a deadline that moves comes at its new instant only")
    func moves() {
        let origin = Instant.testStart
        var queue = DeadlineQueue()
        queue.set(origin + .seconds(1), for: 1)
        queue.set(origin + .seconds(2), for: 2)
        queue.set(origin + .seconds(3), for: 1)
        #expect(queue.popDue(origin + .seconds(1)) == nil)
        #expect(queue.popDue(origin + .seconds(3)) == 2)
        #expect(queue.popDue(origin + .seconds(3)) == 1)
        #expect(queue.earliest == nil)
    }

    @Test("a number without deadline is removed without effect")
    func removesNothing() {
        let origin = Instant.testStart
        var queue = DeadlineQueue()
        queue.remove(1)
        queue.set(origin, for: 2)
        queue.remove(1)
        #expect(queue.popDue(origin) == 2)
    }
}
