// Pages of the HTTP listener, built from the same reports as the control socket's output. Its only state is a
// short-lived cache of replies.

import Control
import DNSWire
import HTTPServer
import LinuxIO

final class ServedPages {
    /// Evidence entries on a page; the latest ones are shown.
    private static let shownEvidence = 16

    private let statistics: (Instant) -> Statistics
    private let entropy = SystemEntropy()
    private let kept = KeptReplies<Page, PageReply>()

    /// - Parameter statistics: returns the statistics of a moment.
    init(_ statistics: @escaping (Instant) -> Statistics) {
        self.statistics = statistics
        StatusPage.prepare()
    }

    func reply(to request: PageRequest, now: Instant) -> PageReply {
        do throws(PageReply) {
            let page = try request.page()
            // Not kept: each reply has its own nonce.
            guard page != .status else { return made(page, now: now) }
            return kept.reply(in: page, now: now) { made(page, now: now) }
        } catch {
            return error
        }
    }

    private func made(_ page: Page, now: Instant) -> PageReply {
        switch page {
        case .metrics: .metrics(Reply.metrics(statistics(now).stats).rendered(asJSON: false))
        case .figures: .json(Reply.figures(figures(statistics(now))).rendered(asJSON: true))
        case .status: StatusPage.reply(nonce: (entropy.next(), entropy.next()))
        }
    }

    private func figures(_ statistics: Statistics) -> FiguresReport {
        FiguresReport(
            stats: statistics.stats, network: statistics.currentNetwork,
            changes: statistics.networkHistory.changes,
            evidence: Array(statistics.evidence.reports.suffix(ServedPages.shownEvidence)))
    }
}
