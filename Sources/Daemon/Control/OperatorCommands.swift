// The commands `log`, `reload` and `top` of the control socket.

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings

extension ControlCommands {
    func setLogLevel(_ level: LogLevel, seconds: Int?, _ request: Request) -> ControlAnswer {
        whole(log.setLevel(level, seconds: seconds, now: now), request)
    }

    /// Reloads the settings as on SIGHUP, and also returns the errors to the client.
    func reloaded(_ request: Request) -> ControlAnswer {
        let stream = ControlStream(wantsJSON: request.wantsJSON)
        reload { result in
            switch result {
            case .success(let report):
                stream.send(report)
                stream.finish()
            case .failure(let fault): stream.finish(.notReloaded(fault.complaints))
            }
        }
        return .stream(stream)
    }

    func top(_ request: Request) -> ControlAnswer {
        whole(
            topTexts.reply(in: request.wantsJSON, now: now) { topReport.rendered(asJSON: request.wantsJSON) })
    }

    private var topReport: TopReport {
        var report = TopReport(
            milliseconds: Clock.wallMilliseconds(), bootMilliseconds: Clock.millisecondsSinceBoot(now),
            stats: statistics.stats)
        report.hottest = resolving.hottestNames(atMost: TopReport.maxHottest, now: now)
        report.network = statistics.currentNetwork
        report.portal = statistics.portal
        report.switches = statistics.switches
        return report
    }
}
