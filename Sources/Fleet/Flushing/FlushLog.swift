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
    /// The consequences of a reading of the stream.
    struct Update {
        /// The scopes that are to be flushed.
        var scopes: [QuestionScope] = []
        /// The note for `restore` after the next start.
        var note = ""
        var refusals: [Refusal] = []
    }

    /// All elements of a server's stream up to this one have been read.
    private struct Mark {
        let server: String
        let number: FlushNumber
    }

    private static let maxMarks = 4
    /// The number of orders in the streams of all servers.
    private static let maxKnown = maxMarks * FlushAges.maxCount

    private var flushes = FlushAges()
    /// One mark for each server, the server used last at the end. Marks of the store come from before the start.
    private var marks: [Mark] = []
    /// The store was read, or there is none.
    private(set) var isRestored = false
    /// When the member began to keep answers.
    private var startedAt: Instant?
    /// A stream was read since the start.
    private var hasRead = false
    /// Hashes of the orders that were read since the start, the last ones in `knownInOrder`. Replicas have the same
    /// orders.
    private var known: Set<Int> = []
    private var knownInOrder: [Int] = []
    /// The last element that was read since Redis was switched on; nil: none was.
    private var lastRead: FlushNumber?
    private(set) var isCaughtUp = false

    /// Records the start of the member. Only the first call counts.
    mutating func start(now: Instant) { startedAt = startedAt ?? now }

    /// - Parameter note: the last `Update.note` before the start.
    mutating func restore(_ note: String?) {
        isRestored = true
        marks = FleetNote.lines(of: note ?? "").suffix(FlushLog.maxMarks).compactMap { number, server in
            FlushNumber(Array(number.utf8)).map { Mark(server: server, number: $0) }
        }
    }

    /// Records a flush: answers that a provider gave before are not used any more.
    mutating func add(_ scope: QuestionScope, now: Instant) { flushes.add(scope, at: now, now: now) }

    /// Returns `FlushAges.age`.
    func age(of question: Question, now: Instant) -> Duration? { flushes.age(of: question, now: now) }

    /// Redis is not used any more; it may have another stream when it is used again.
    mutating func switchedOff() { (isCaughtUp, lastRead) = (false, nil) }

    /// The first element to be read, in the syntax of XRANGE, and whether the whole stream is to be read.
    var next: (first: String, isWhole: Bool) { (lastRead.map { "(\($0.text)" } ?? "-", lastRead == nil) }

    /// Returns the flushes that are to be carried out. The first reading after the start records also those that were
    /// carried out before: shared answers that are older are not used.
    ///
    /// - Parameters:
    ///   - server: the server that was asked.
    ///   - isWhole: all flushes that its stream has were asked for.
    ///   - time: the time of the reply.
    mutating func take(
        _ elements: [FlushElement], of server: String, isWhole: Bool, at time: RedisTime, _ keys: FleetKeys,
        now: Instant
    ) -> Update {
        var (update, mark) = (Update(), FlushNumber(before: time))
        for (place, element) in elements.enumerated() {
            lastRead = element.number
            guard !known.contains(element.order.hashValue) else { continue }
            do throws(Refusal) {
                let put = RedisTime(element.number.milliseconds)
                let (scope, given) = try FlushOrder.read(element.order, at: put, now: time, keys)
                let at = now - max(.zero, time - given)
                let isNew = isNew(element.number, given: at, of: server, at: time)
                remember(element.order)
                mark = max(mark, element.number)
                flushes.add(scope, at: at, now: now)
                // Redis keeps no more orders: there may have been others before the first one.
                let isCut = isWhole && place == 0 && elements.count >= FlushAges.maxCount
                if isCut { flushes.forget(before: at) }
                guard isNew, update.scopes.first != .everything else { continue }
                if isCut || scope == .everything {
                    update.scopes = [.everything]
                } else if !update.scopes.contains(scope) {
                    update.scopes.append(scope)
                }
            } catch {
                update.refusals.append(error)
            }
        }
        (isCaughtUp, hasRead) = (true, true)
        marks.removeAll { $0.server == server }
        marks.append(Mark(server: server, number: mark))
        marks = marks.suffix(FlushLog.maxMarks)
        update.note = marks.map { "\($0.number.text) \($0.server)" }.joined(separator: "\n")
        return update
    }

    private mutating func remember(_ order: [UInt8]) {
        known.insert(order.hashValue)
        knownInOrder.append(order.hashValue)
        guard knownInOrder.count > FlushLog.maxKnown else { return }
        known.subtract(knownInOrder.prefix(FlushAges.maxCount))
        knownInOrder.removeFirst(FlushAges.maxCount)
    }

    private func mark(of server: String) -> FlushNumber? { marks.last { $0.server == server }?.number }

    /// Whether an element was not read before. At its first start, a member has no older answers.
    ///
    /// - Parameter instant: when the order was given.
    private func isNew(
        _ number: FlushNumber, given instant: Instant, of server: String, at time: RedisTime
    ) -> Bool {
        guard let mark = mark(of: server) else {
            return hasRead || !marks.isEmpty || startedAt.map { $0 <= instant } ?? false
        }
        // A mark of the future: the clock of Redis was set back.
        return mark < number || FlushNumber(before: time) < mark
    }
}
