// The times and batches of notifications to a receiver, and dropped events, on the test's clock.

import Control
import DNSWire
import TestSupport
import Testing

@testable import Daemon

@Suite("Queue of notifications")
struct NotificationQueueTests {
    private let start = Instant.testStart

    private func event(_ number: Int) -> NotificationReport.Event {
        .recovery(outageSeconds: number, seconds: Int64(number))
    }

    private func numbers(_ batch: NotificationQueue.Batch?) -> [Int]? { batch?.events.compactMap(\.outageSeconds) }

    /// Ends the POST that is due next, and returns its time since `start`.
    private func post(_ queue: inout NotificationQueue, isAccepted: Bool) throws -> Duration {
        let due = try #require(queue.nextDeadline)
        #expect(queue.begin(now: due) != nil)
        _ = queue.end(isAccepted: isAccepted, now: due)
        return start.duration(to: due)
    }

    @Test("events of one second share a POST; later ones wait until it has ended and 5 s more")
    func gathering() {
        var queue = NotificationQueue()
        #expect(queue.nextDeadline == nil)
        queue.add(event(1), now: start)
        queue.add(event(2), now: start + .milliseconds(900))
        #expect(queue.nextDeadline == start + .seconds(1))
        #expect(queue.begin(now: start + .milliseconds(999)) == nil)
        let first = queue.begin(now: start + .seconds(1))
        #expect(numbers(first) == [1, 2] && first?.number == 1)
        queue.add(event(3), now: start + .seconds(2))
        #expect(queue.nextDeadline == nil && queue.begin(now: start + .seconds(9)) == nil, "one POST at a time")
        #expect(queue.end(isAccepted: true, now: start + .seconds(3)) == nil)
        #expect(queue.nextDeadline == start + .seconds(8))
        let second = queue.begin(now: start + .seconds(8))
        #expect(numbers(second) == [3] && second?.number == 2)
        #expect(queue.end(isAccepted: true, now: start + .seconds(8)) == nil)
        #expect(queue.nextDeadline == nil && queue.accepted == 3 && queue.count == 0)
        // The pause after the last POST also applies to an event that comes before its end.
        queue.add(event(4), now: start + .seconds(9))
        #expect(queue.nextDeadline == start + .seconds(13))
    }

    @Test("a failed POST is repeated as it was, with pauses that double up to 10 minutes, 12 times at most")
    func backOff() throws {
        var queue = NotificationQueue()
        queue.add(event(1), now: start)
        var times: [Duration] = []
        for attempt in 1...NotificationQueue.maxTries {
            let due = try #require(queue.nextDeadline)
            times.append(start.duration(to: due))
            let batch = queue.begin(now: due)
            #expect(batch?.number == 1 && batch?.tries == attempt && numbers(batch) == [1])
            if attempt == 1 { queue.add(event(2), now: due) }
            #expect(queue.end(isAccepted: false, now: due) == (attempt == 1 ? .fails : nil))
        }
        let pauses = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600].map { Duration.seconds($0) })
        #expect(queue.dropped == 1 && queue.count == 1)
        // The next batch has its own attempts, and a pause that is not shorter.
        let due = try #require(queue.nextDeadline)
        #expect(due == start + (times.last ?? .zero) + .seconds(600))
        let second = queue.begin(now: due)
        #expect(second?.number == 2 && second?.tries == 1 && numbers(second) == [2])
        #expect(queue.end(isAccepted: true, now: due) == .works(after: (start + .seconds(1)).duration(to: due)))
        #expect(!queue.isFailing && queue.nextDeadline == nil && queue.accepted == 1)
    }

    @Test("after a success the pauses begin anew")
    func recovery() throws {
        var queue = NotificationQueue()
        queue.add(event(1), now: start)
        for _ in 0..<4 { _ = try post(&queue, isAccepted: false) }
        let accepted = try post(&queue, isAccepted: true)
        queue.add(event(2), now: start + accepted)
        let failed = try post(&queue, isAccepted: false)
        #expect(failed == accepted + NotificationQueue.pause)
        #expect(try post(&queue, isAccepted: true) == failed + NotificationQueue.pause)
    }

    @Test("the end of an outage shortens a long pause")
    func hastening() throws {
        var queue = NotificationQueue()
        queue.add(event(1), now: start)
        var now = start
        for _ in 0..<8 { now = start + (try post(&queue, isAccepted: false)) }
        #expect(queue.nextDeadline == now + .seconds(600))
        queue.hasten(now: now + .seconds(60))
        #expect(queue.nextDeadline == now + .seconds(65))
        queue.hasten(now: now + .seconds(63))
        #expect(queue.nextDeadline == now + .seconds(65))
        _ = queue.begin(now: now + .seconds(65))
        queue.hasten(now: now + .seconds(66))
        #expect(queue.nextDeadline == nil, "a POST is in flight")
    }

    @Test("without a route nothing is tried and nothing is lost")
    func route() {
        var queue = NotificationQueue()
        queue.postpone(now: start)
        #expect(queue.nextDeadline == nil)
        queue.add(event(1), now: start)
        var now = start + .seconds(1)
        for _ in 0..<1000 {
            queue.postpone(now: now)
            #expect(queue.nextDeadline == now + .seconds(30))
            now = now + .seconds(30)
        }
        #expect(queue.begin(now: now)?.tries == 1)
        #expect(queue.dropped == 0 && !queue.isFailing)
    }

    @Test("256 events wait, the oldest of more is dropped; a POST has 64")
    func bounds() throws {
        var queue = NotificationQueue()
        for number in 0..<300 { queue.add(event(number), now: start) }
        #expect(queue.count == NotificationQueue.maxWaiting && queue.dropped == 44)
        var sent: [Int] = []
        while let due = queue.nextDeadline {
            let batch = try #require(numbers(queue.begin(now: due)))
            #expect(batch.count <= NotificationQueue.maxBatch)
            sent += batch
            _ = queue.end(isAccepted: true, now: due)
        }
        #expect(sent == Array(44..<300) && queue.accepted == 256)
    }

    @Test("a receiver that hangs for a day gets no more than its tries, and keeps the latest events")
    func day() throws {
        var queue = NotificationQueue()
        var (now, posts, number) = (start, 0, 0)
        while start.duration(to: now) < .seconds(86_400) {
            if let due = queue.nextDeadline, due <= now {
                #expect(queue.begin(now: now) != nil)
                posts += 1
                now = now + .seconds(10)
                _ = queue.end(isAccepted: false, now: now)
            }
            if now - start >= .seconds(10) * number {
                queue.add(event(number), now: now)
                number += 1
            }
            #expect(queue.count <= NotificationQueue.maxWaiting + NotificationQueue.maxBatch)
            now = now + .seconds(1)
        }
        #expect(posts < 160)
        #expect(queue.count + Int(queue.dropped) == number && queue.accepted == 0)
        let due = max(now, try #require(queue.nextDeadline))
        queue.add(event(number), now: due)
        #expect(queue.begin(now: due) != nil)
        #expect(queue.end(isAccepted: true, now: due) != nil)
    }
}
