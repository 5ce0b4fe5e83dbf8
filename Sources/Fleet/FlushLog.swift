// Which flushes of the fleet this member has carried out. Redis keeps the last ones as a stream; a member that was away
// reads it before it answers.

import DNSWire

package struct FlushElement: Equatable, Sendable {
    package let number: FlushNumber
    /// A sealed `FlushOrder`.
    package let order: [UInt8]

    package init(_ number: FlushNumber, _ order: [UInt8]) { (self.number, self.order) = (number, order) }
}

struct FlushLog: Sendable {
    /// What follows from a reading of the stream.
    struct News {
        /// To be carried out.
        var scopes: [QuestionScope] = []
        /// For `restore` after the next start; nil: as before.
        var note: String?
        var refusals: [Refusal] = []
    }

    private var flushes = Flushes()
    /// The last flush that was carried out before the start; nil: none is known.
    private var seenBefore: FlushNumber?
    /// `seenBefore` is known: the store was read, or there is none.
    private(set) var isRestored = false
    /// The flushes that were read, by number; nil: none were read yet.
    private var seen: Set<String>?
    /// The last of them since Redis is used; nil: none were read since then.
    private var lastSeen: String?
    private(set) var isCaughtUp = false

    /// - Parameter note: of `News`, before the start.
    mutating func restore(_ note: String?) {
        (seenBefore, isRestored) = (note.flatMap { FlushNumber(Array($0.utf8)) }, true)
    }

    /// Answers that a provider gave before are not used any more.
    mutating func add(_ scope: QuestionScope, now: Instant) { flushes.add(scope, at: now, now: now) }

    /// As in `Flushes`.
    func age(of question: Question, now: Instant) -> Duration? { flushes.age(of: question, now: now) }

    /// Redis is not used any more; it may have another stream when it is used again.
    mutating func switchedOff() { (isCaughtUp, lastSeen) = (false, nil) }

    /// The first element that is wanted, as XRANGE takes it, and whether that is the whole stream.
    var next: (first: String, isWhole: Bool) { (lastSeen.map { "(\($0)" } ?? "-", lastSeen == nil) }

    /// After the start, those are carried out that this machine has not carried out before it; later all that are new.
    ///
    /// - Parameter isWhole: all flushes that the stream has were asked for.
    mutating func take(
        _ elements: [FlushElement], isWhole: Bool, at time: RedisTime, _ keys: FleetKeys, now: Instant
    ) -> News {
        var news = News()
        let (before, isFirst) = (seen ?? [], seen == nil)
        if isWhole { seen = [] }
        var hasNew = false
        for element in elements {
            lastSeen = element.number.text
            seen?.insert(element.number.text)
            guard !before.contains(element.number.text) else { continue }
            hasNew = true
            do throws(Refusal) {
                let put = RedisTime(element.number.milliseconds)
                let order = try FlushOrder.read(element.order, at: put, keys)
                flushes.add(order.scope, at: now - max(.zero, time - put), now: now)
                if !isFirst || seenBefore.map({ $0 < element.number }) ?? false { news.scopes.append(order.scope) }
            } catch {
                news.refusals.append(error)
            }
        }
        isCaughtUp = true
        // The next reading is whole, and leaves out those that the stream has no more.
        if (seen ?? []).count > 2 * Flushes.maxCount { lastSeen = nil }
        // Elements that come later have this number or a greater one.
        if isFirst || hasNew { news.note = "\(time.milliseconds - 1)-0" }
        return news
    }
}
