// Questions of an operator's `query` command. They are resolved like a client's question, but the client counters
// exclude them.

import DNSWire
import LinuxIO
import Resolver
import Serving

/// The outcome of such a question.
enum OwnReply {
    /// A cached answer, as a client would get it without a lookup.
    case cached(Answer)
    case local(ResponseCode, [ResourceRecord], ExtendedError?)
    /// A reply exists, but it can't be parsed for display.
    case unreadable(UpstreamReplyError)
    case answer(Answer, Source)
    case expired(ExpiredAnswer, StaleCause)
    case failure(ExtendedError, ResponseCode = .serverFailure)
}

struct OwnQuestions {
    /// Starts at 2^62. Clients' waiters count up from 0 and the resolver's own count down from `UInt64.max`; neither
    /// range reaches this one.
    private var nextNumber: UInt64 = 1 << 62
    private var waiting: [Waiter: (OwnReply) -> Void] = [:]

    /// - Parameter client: the client that the question counts against; nil: none.
    mutating func add(of client: ClientID? = nil, _ tell: @escaping (OwnReply) -> Void) -> Waiter {
        let waiter = Waiter(nextNumber, of: client)
        nextNumber += 1
        waiting[waiter] = tell
        return waiter
    }

    /// Cancels the waiter: its reply is discarded.
    mutating func forget(_ waiter: Waiter) { waiting[waiter] = nil }

    /// Returns what takes the reply; nil: the waiter is a client.
    mutating func take(_ waiter: Waiter) -> ((OwnReply) -> Void)? { waiting.removeValue(forKey: waiter) }
}

extension ResolvingLoop {
    /// Resolves a question and passes the reply to `tell`.
    ///
    /// - Parameters:
    ///   - skipsCache: ignores fresh cache entries.
    ///   - asker: the client for which the daemon asks; nil: the question is the operator's.
    ///   - tell: called once, possibly before this function returns.
    /// - Returns: the waiter of the lookup; nil if the question was answered without a lookup.
    @discardableResult
    func ask(
        _ question: Question, skipsCache: Bool, for asker: Client? = nil, now: Instant,
        _ tell: @escaping (OwnReply) -> Void
    ) -> Waiter? {
        if let reply = replyWithoutLookup(question, now: now) {
            tell(reply)
            return nil
        }
        if let aliases = resolver.aliases(of: question) {
            guard let target = aliases.target else {
                tell(.failure(.aliasLoop))
                return nil
            }
            return ask(target, skipsCache: skipsCache, for: asker, now: now) { reply in
                tell(reply.behind(aliases.links, from: question, to: target))
            }
        }
        if !skipsCache, let reply = atOnce(question, for: asker, now: now) {
            tell(reply)
            return nil
        }
        let waiter = ownQuestions.add(of: asker.map { ClientID($0.address) }, tell)
        let isCacheOnly = asker.map { !$0.query.wantsRecursion } ?? false
        handle(.asked(question, waiter, isCacheOnly: isCacheOnly), now: now)
        return waiter
    }

    /// Delivers a reply; does nothing if the waiter was cancelled.
    func tell(_ waiter: Waiter, _ reply: OwnReply) {
        let tell = ownQuestions.take(waiter)
        tell?(reply)
    }

    /// Returns the reply if it depends on neither cache nor lookup.
    private func replyWithoutLookup(_ question: Question, now: Instant) -> OwnReply? {
        if let why = WhyQuestion(question, key: explanations.key) {
            do throws(UnexplainedReason) {
                let text = try explained(why, to: question, now: now)
                return .local(text.responseCode, text.records, text.remark)
            } catch {
                return .failure(error.failure.0, error.failure.1)
            }
        }
        switch LocalPolicy(question, answers.serving) {
        case nil: return nil
        case .ownAnswer: return atOnce(question, now: now)
        case .refused(let code): return .local(code, [], nil)
        case .filteredFamily: return .local(.noError, [], .filteredFamily)
        }
    }

    /// Returns the reply of the fast path to a client over TCP, where no answer is truncated.
    ///
    /// - Parameter asker: a client whose own query was checked already; nil: a client on this machine.
    private func atOnce(_ question: Question, for asker: Client? = nil, now: Instant) -> OwnReply? {
        let subnet = question.clients.hidesSubnet ? Prefix.nowhere : nil
        let packet = UpstreamQuery.message(for: question, id: 0, clientSubnet: subnet)
        var outcome: FastPath.Outcome?
        let limit = StreamFraming.maxMessageBytes
        let received = Query.receive(packet.span, over: .tcp)
        let query: Query? = if asker != nil, case .query(let query) = received { query } else { nil }
        let address = asker?.address ?? ResolvingLoop.ownAddress
        let message = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            outcome = lookUp(packet, from: address, query, now: now, into: &output)
            count = unsafe output.finalize(for: buffer)
        }
        report(outcome, now: now)
        do throws(UpstreamReplyError) {
            switch outcome {
            case nil, .miss: return nil
            case .answered, .answeredAndDue, .answeredAwaited:
                return .cached(try UpstreamReply.answer(in: message, to: question, id: 0))
            case .local:
                let answer = try UpstreamReply.answer(in: message, to: question, id: 0)
                return .local(answer.responseCode, answer.records, nil)
            case .refused(let code): return .local(code, [], .prohibited)
            // Only remote clients get these outcomes.
            case .limited, .dropped: return .local(.formatError, [], nil)
            }
        } catch {
            return .unreadable(error)
        }
    }

    private static let ownAddress = Address.v4(0x7F00_0001)
}
