// The commands `log`, `reload` and `top` of the control socket.

import Control
import DNSWire
import LinuxIO
import Resolver

extension ControlCommands {
    func setLogLevel(_ level: LogLevel, seconds: Int?, _ request: Request) -> ControlAnswer {
        whole(.logLevel(log.setLevel(level, seconds: seconds, now: now)), asJSON: request.wantsJSON)
    }

    /// Reloads the settings as on SIGHUP, and also returns the errors to the client.
    func reloaded(_ request: Request) -> ControlAnswer {
        do throws(SettingsFile.Unusable) {
            return whole(.reloaded(try reload()), asJSON: request.wantsJSON)
        } catch {
            return whole(.notReloaded(error.complaints), asJSON: request.wantsJSON)
        }
    }

    func top(_ request: Request) -> ControlAnswer {
        whole(
            topTexts.reply(in: request.wantsJSON, now: now) {
                Control.Reply.top(topReport).rendered(asJSON: request.wantsJSON)
            })
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
