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
        /// For `restore` after the next start; nil: as before.
        var note: String?
        var refusals: [Refusal] = []
    }

    private var flushes = Flushes()
    /// All up to this one are carried out, also before the start; nil: none is known.
    private var done: FlushNumber?
    /// `done` is known: the store was read, or there is none.
    private(set) var isRestored = false
    /// The stream was read since the start.
    private var hasRead = false
    /// The last element that was read since Redis was switched on; nil: none was.
    private var lastRead: FlushNumber?
    private(set) var isCaughtUp = false

    /// - Parameter note: of `Update`, before the start.
    mutating func restore(_ note: String?) {
        (done, isRestored) = (note.flatMap { FlushNumber(Array($0.utf8)) }, true)
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
    /// - Parameter isWhole: all flushes that the stream has were asked for.
    mutating func take(
        _ elements: [FlushElement], isWhole: Bool, at time: RedisTime, _ keys: FleetKeys, now: Instant
    ) -> Update {
        var update = Update()
        let present = FlushNumber(before: time)
        // Redis's clock was set back, or this is another Redis: its new elements have lower numbers.
        if isWhole, let former = done, present < former { done = present }
        let before = done
        for element in elements {
            lastRead = element.number
            let isNew = before.map { $0 < element.number } ?? hasRead
            guard isNew || !hasRead else { continue }
            do throws(Refusal) {
                let put = RedisTime(element.number.milliseconds)
                let order = try FlushOrder.read(element.order, at: put, keys)
                done = max(done ?? element.number, element.number)
                flushes.add(order.scope, at: now - max(.zero, time - put), now: now)
                if isNew, !update.scopes.contains(order.scope) { update.scopes.append(order.scope) }
            } catch {
                update.refusals.append(error)
            }
        }
        (isCaughtUp, hasRead) = (true, true)
        done = max(done ?? present, present)
        if done != before { update.note = done?.text }
        return update
    }
}
