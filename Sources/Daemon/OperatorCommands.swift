// What an operator changes while the daemon runs: `log`, `reload`.

import Control

extension ControlCommands {
    func setLogLevel(_ level: LogLevel, seconds: Int?, _ request: Request) -> ControlAnswer {
        whole(.logLevel(log.setLevel(level, seconds: seconds, now: now)), asJSON: request.wantsJSON)
    }

    /// As on SIGHUP, and the complaints go to whoever asked, too.
    func reloaded(_ request: Request) -> ControlAnswer {
        do throws(SettingsFile.Unusable) {
            return whole(.reloaded(try reload()), asJSON: request.wantsJSON)
        } catch {
            return whole(.notReloaded(error.complaints), asJSON: request.wantsJSON)
        }
    }
}
