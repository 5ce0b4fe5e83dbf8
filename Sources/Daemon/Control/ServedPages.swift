// Pages of the HTTP listener, built from the same reports as the control socket's output. Its only state is a
// short-lived cache of replies.

import Control
import DNSWire
import HTTPServer
import LinuxIO
import Resolver

final class ServedPages {
    private let statistics: (Instant) -> Statistics
    private let sampler: StatisticsSampler
    private let entropy = SystemEntropy()
    private let kept = KeptReplies<Page, PageReply>()
    private let keptLonger = KeptReplies<SlowReply, PageReply>(for: .seconds(2))

    /// Replies that cost the main thread milliseconds, and that change slowly.
    private enum SlowReply: Hashable {
        case names
        case history(HistorySpan)
    }

    /// - Parameter statistics: returns the statistics of a moment.
    init(_ sampler: StatisticsSampler, _ statistics: @escaping (Instant) -> Statistics) {
        self.sampler = sampler
        self.statistics = statistics
        StatusPage.prepare()
    }

    func reply(to request: PageRequest, now: Instant) -> PageReply {
        do throws(PageReply) {
            switch try request.page() {
            // The status page is not kept: each reply has its own nonce.
            case .status:
                return StatusPage.reply(nonce: (entropy.next(), entropy.next()), showsNames: request.isFromThisMachine)
            case .metrics:
                return kept.reply(in: .metrics, now: now) {
                    .metrics(statistics(now).prometheus)
                }
            case .figures:
                return kept.reply(in: .figures, now: now) { .json(figures(statistics(now)).jsonLine) }
            case .names:
                return keptLonger.reply(in: .names, now: now) { .json(statistics(now).names.jsonLine) }
            case .history:
                let span = try checked { () throws(Refusal) in try HistorySpan(request.arguments[.span]) }
                return keptLonger.reply(in: .history(span), now: now) {
                    .json(sampler.history.report(of: span, now: now).jsonLine)
                }
            case .explanation: return try explanation(request, now: now)
            }
        } catch {
            return error
        }
    }

    private func figures(_ statistics: Statistics) -> FiguresReport {
        FiguresReport(
            stats: statistics.stats, network: statistics.currentNetwork,
            changes: statistics.networkHistory.changes)
    }

    /// All readers of the page share the rate limit of unprivileged users.
    private func explanation(_ request: PageRequest, now: Instant) throws(PageReply) -> PageReply {
        let question = try checked { () throws(Refusal) in
            try Request.question(request.arguments[.name], request.arguments[.type])
        }
        let resolving = statistics(now).resolving
        guard resolving.explanations.take(now: now) else {
            throw PageReply(429, refusing: Refusal(ExplanationLimit.refusal))
        }
        return PageReply(200, resolving.explanation(of: question, now: now).text)
    }

    private func checked<Value>(_ parsed: () throws(Refusal) -> Value) throws(PageReply) -> Value {
        do throws(Refusal) {
            return try parsed()
        } catch {
            throw PageReply(400, refusing: error)
        }
    }
}

extension PageReply {
    /// Creates an error reply with the text that the control socket sends.
    fileprivate init(_ status: UInt32, refusing refusal: Refusal) {
        self.init(status, Reply.refusal(refusal).rendered(asJSON: false))
    }
}
