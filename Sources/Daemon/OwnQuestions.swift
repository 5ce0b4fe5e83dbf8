// Questions that nobody has sent over the network: an operator's `query`. They go the way of a client's question, and
// are no client's in any count.

import AnswerCache
import DNSWire
import LinuxIO
import Resolver

/// What came of one.
enum OwnReply {
    /// What a client would get without anything being looked up.
    case cached(Answer)
    case local(ResponseCode, [ResourceRecord], ExtendedError?)
    /// There is one, and it can't be taken apart to be shown.
    case unreadable(UpstreamReplyError)
    case answer(Answer, Source)
    case expired(ExpiredAnswer, StaleCause)
    case failure(ExtendedError, ResponseCode = .serverFailure)
}

struct OwnQuestions {
    /// Clients are numbered from the bottom, and what the resolver asks for itself from the top: both stay away from
    /// here.
    private var nextNumber: UInt64 = 1 << 62
    private var waiting: [Waiter: (OwnReply) -> Void] = [:]

    mutating func add(_ tell: @escaping (OwnReply) -> Void) -> Waiter {
        let waiter = Waiter(nextNumber)
        nextNumber += 1
        waiting[waiter] = tell
        return waiter
    }

    /// Nobody wants to know any more.
    mutating func forget(_ waiter: Waiter) { waiting[waiter] = nil }

    /// Nil for one that is not ours.
    mutating func take(_ waiter: Waiter) -> ((OwnReply) -> Void)? { waiting.removeValue(forKey: waiter) }
}

extension ResolvingLoop {
    /// - Parameters:
    ///   - skipsCache: what the cache holds fresh is not looked at.
    ///   - tell: called once, perhaps before this returns.
    /// - Returns: who waits; nil when it is answered.
    func ask(
        _ question: Question, skipsCache: Bool, now: Instant, _ tell: @escaping (OwnReply) -> Void
    ) -> Waiter? {
        if let reply = beforeCache(question, now: now) ?? (skipsCache ? nil : atOnce(question, now: now)) {
            tell(reply)
            return nil
        }
        let waiter = ownQuestions.add(tell)
        let expired = answers.expired(question, within: resolver.limits(for: question), now: now)
        handle(.asked(question, waiter, expired: expired), now: now)
        return waiter
    }

    /// Nothing happens where nobody wants to know.
    func tell(_ waiter: Waiter, _ reply: OwnReply) {
        let tell = ownQuestions.take(waiter)
        tell?(reply)
    }

    /// What no lookup and no cache has a say in.
    private func beforeCache(_ question: Question, now: Instant) -> OwnReply? {
        if let why = WhyQuestion(question) {
            guard let text = explained(why, to: question, now: now) else { return .failure(.notReady) }
            return .local(text.responseCode, text.records, text.remark)
        }
        switch BeforeCache(question, view) {
        case nil: return nil
        case .ownAnswer: return atOnce(question, now: now)
        case .refused(let code): return .local(code, [], nil)
        case .filteredFamily: return .local(.noError, [], .filteredFamily)
        }
    }

    /// As a client on this machine gets it over TCP, so that nothing is cut.
    private func atOnce(_ question: Question, now: Instant) -> OwnReply? {
        let packet = UpstreamQuery.message(for: question, id: 0)
        var outcome: FastPath.Outcome?
        let limit = StreamFraming.maxMessageBytes
        let message = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            outcome = lookUp(packet, from: ResolvingLoop.ownAddress, limit: limit, now: now, into: &output)
            count = unsafe output.finalize(for: buffer)
        }
        do throws(UpstreamReplyError) {
            switch outcome {
            case nil, .miss: return nil
            case .answered, .answeredAndDue, .answeredAwaited:
                return .cached(try UpstreamReply.answer(in: message, to: question, id: 0))
            case .local:
                let answer = try UpstreamReply.answer(in: message, to: question, id: 0)
                return .local(answer.responseCode, answer.records, nil)
            case .refused(let code): return .local(code, [], .prohibited)
            // Of clients elsewhere alone.
            case .limited, .dropped: return .local(.formatError, [], nil)
            }
        } catch {
            return .unreadable(error)
        }
    }

    private static let ownAddress = Address.v4(0x7F00_0001)
}
