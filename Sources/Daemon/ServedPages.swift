// What the HTTP listener answers: the pages, made of the same reports that the control socket gives. Reads state and
// has none but the replies of the last moments.

import Control
import HTTPServer
import LinuxIO

final class ServedPages {
    /// The latest evidence of a page, which shows no more.
    private static let shownEvidence = 16

    private let statistics: (Instant) -> Statistics
    private let entropy = SystemEntropy()
    private let kept = KeptReplies<Page, PageReply>()

    /// - Parameter statistics: of that moment.
    init(_ statistics: @escaping (Instant) -> Statistics) {
        self.statistics = statistics
        StatusPage.prepare()
    }

    func reply(to request: PageRequest, now: Instant) -> PageReply {
        do throws(PageReply) {
            let page = try request.page()
            // It has a nonce of its own each time.
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
