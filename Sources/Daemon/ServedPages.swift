// What the HTTP listener answers: the pages, made of the same reports that the control socket gives. Reads state and
// has none.

import Control
import HTTPServer
import LinuxIO

struct ServedPages {
    /// The latest evidence of a page, which shows no more.
    private static let shownEvidence = 16

    let statistics: Statistics

    func reply(to request: PageRequest) -> PageReply {
        do throws(PageReply) {
            switch try request.page() {
            case .metrics: return .metrics(Reply.metrics(statistics.stats).rendered(asJSON: false))
            case .figures: return .json(Reply.figures(figures).rendered(asJSON: true))
            case .status:
                let entropy = SystemEntropy()
                return StatusPage.reply(nonce: (entropy.next(), entropy.next()))
            }
        } catch {
            return error
        }
    }

    private var figures: FiguresReport {
        FiguresReport(
            stats: statistics.stats, network: statistics.currentNetwork,
            changes: statistics.networkHistory.changes,
            evidence: Array(statistics.evidence.reports.suffix(ServedPages.shownEvidence)))
    }
}
