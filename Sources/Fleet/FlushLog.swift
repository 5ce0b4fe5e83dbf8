// Which flushes of the fleet this member has carried out. Redis keeps the last ones as a stream, which a member reads
// when it starts, and after each time without Redis.

import DNSWire

package struct FlushElement: Equatable, Sendable {
    package let number: FlushNumber
    /// A sealed `FlushOrder`.
    package let order: [UInt8]

    package init(_ number: FlushNumber, _ order: [UInt8]) { (self.number, self.order) = (number, order) }
}

struct FlushLog: Sendable {
    /// What follows from a reading of the stream.
    struct Update {
        /// To be carried out.
        var scopes: [QuestionScope] = []
        /// For `restore` after the next start.
        var note = ""
        var refusals: [Refusal] = []
    }

    /// All elements of a server's stream up to this one have been read.
    private struct Mark {
        let server: String
        let number: FlushNumber
    }

    private static let maxMarks = 4
    /// As many as the streams of the servers have.
    private static let maxKnown = maxMarks * Flushes.maxCount

    private var flushes = Flushes()
    /// One for each server, the last one that was used at the end.
    private var marks: [Mark] = []
    /// The marks before the start, of servers that were not read since.
    private var marksOfStore: [Mark] = []
    /// The store was read, or there is none.
    private(set) var isRestored = false
    /// A stream was read since the start.
    private var hasRead = false
    /// Hashes of the orders that were read since the start, the last ones in `knownInOrder`. Replicas have the same
    /// orders.
    private var known: Set<Int> = []
    private var knownInOrder: [Int] = []
    /// The last element that was read since Redis was switched on; nil: none was.
    private var lastRead: FlushNumber?
    private(set) var isCaughtUp = false

    /// - Parameter note: of `Update`, before the start.
    mutating func restore(_ note: String?) {
        isRestored = true
        marksOfStore = (note ?? "").split(separator: "\n").suffix(FlushLog.maxMarks).compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let number = FlushNumber(Array(parts[0].utf8)) else { return nil }
            return Mark(server: String(parts[1]), number: number)
        }
        marks = marksOfStore
    }

    /// Answers that a provider gave before are not used any more.
    mutating func add(_ scope: QuestionScope, now: Instant) { flushes.add(scope, at: now, now: now) }

    /// As in `Flushes`.
    func age(of question: Question, now: Instant) -> Duration? { flushes.age(of: question, now: now) }

    /// Redis is not used any more; it may have another stream when it is used again.
    mutating func switchedOff() { (isCaughtUp, lastRead) = (false, nil) }

    /// The first element to be read, as XRANGE takes it, and whether that is the whole stream.
    var next: (first: String, isWhole: Bool) { (lastRead.map { "(\($0.text)" } ?? "-", lastRead == nil) }

    /// Returns the flushes that are to be carried out. The first reading after the start records also those that were
    /// carried out before: shared answers that are older are not used.
    ///
    /// - Parameters:
    ///   - server: that was asked.
    ///   - isWhole: all flushes that its stream has were asked for.
    ///   - time: of the reply.
    mutating func take(
        _ elements: [FlushElement], of server: String, isWhole: Bool, at time: RedisTime, _ keys: FleetKeys,
        now: Instant
    ) -> Update {
        var update = Update()
        for (place, element) in elements.enumerated() {
            lastRead = element.number
            guard remember(element.order) else { continue }
            let isNew = isNew(element.number, of: server, at: time)
            do throws(Refusal) {
                let put = RedisTime(element.number.milliseconds)
                let (scope, given) = try FlushOrder.read(element.order, at: put, now: time, keys)
                let at = now - max(.zero, time - given)
                flushes.add(scope, at: at, now: now)
                guard isNew, !update.scopes.contains(scope) else { continue }
                update.scopes.append(scope)
                // Redis keeps no more: there may have been others before the first one.
                if isWhole, place == 0, elements.count >= Flushes.maxCount {
                    flushes.forget(before: at)
                    update.scopes = [.everything]
                }
            } catch {
                update.refusals.append(error)
            }
        }
        (isCaughtUp, hasRead) = (true, true)
        marksOfStore.removeAll { $0.server == server }
        let present = FlushNumber(before: time)
        marks.removeAll { $0.server == server }
        marks.append(Mark(server: server, number: max(elements.last?.number ?? present, present)))
        marks = marks.suffix(FlushLog.maxMarks)
        update.note = marks.map { "\($0.number.text) \($0.server)" }.joined(separator: "\n")
        return update
    }

    /// - Returns: false if the order was read before.
    private mutating func remember(_ order: [UInt8]) -> Bool {
        guard known.insert(order.hashValue).inserted else { return false }
        knownInOrder.append(order.hashValue)
        if knownInOrder.count > FlushLog.maxKnown {
            known.subtract(knownInOrder.prefix(Flushes.maxCount))
            knownInOrder.removeFirst(Flushes.maxCount)
        }
        return true
    }

    /// Whether an element was not read before the start either. A member that is new to the fleet has nothing that was
    /// flushed before.
    private func isNew(_ number: FlushNumber, of server: String, at time: RedisTime) -> Bool {
        guard let mark = marksOfStore.last(where: { $0.server == server }) else {
            return hasRead || !marksOfStore.isEmpty
        }
        // A mark of the future: the clock of Redis was set back.
        return mark.number < number || FlushNumber(before: time) < mark.number
    }
}
