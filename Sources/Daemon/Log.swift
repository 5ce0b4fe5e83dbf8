// What the daemon says to its operator: typed events, rendered in one place, to standard error. State changes, not
// traffic; no client addresses, no names asked, nothing secret.

import Control
import LinuxIO
import Settings

enum LogEvent {
    case ready(listen: [String], threads: Int, providers: [String], systemServers: [String])
    case stopping(signal: String)
    case stopped
    case settingsReloaded(needRestart: [String])
    case settingsRefused(complaints: [String])
    case providerDown(name: String, reason: String)
    case providerUp(name: String)
    case nameserverLoops(String)
    case nameserversChanged([String])
    case fileUnreadable(path: String, reason: String)

    var level: Settings.Log.Level {
        switch self {
        case .ready, .stopping, .stopped, .settingsReloaded, .providerUp, .nameserversChanged: .info
        case .providerDown, .nameserverLoops, .fileUnreadable: .warning
        case .settingsRefused: .error
        }
    }

    var text: String {
        switch self {
        case .ready(let listen, let threads, let providers, let systemServers):
            "ready: listening on \(list(listen)) (UDP x\(threads), TCP); providers \(list(providers)); "
                + "system resolver \(list(systemServers))"
        case .stopping(let signal): "stopping on \(signal)"
        case .stopped: "stopped"
        case .settingsReloaded(let needRestart):
            needRestart.isEmpty
                ? "settings reloaded" : "settings reloaded; a restart is needed for \(list(needRestart))"
        case .settingsRefused(let complaints):
            "settings not reloaded, the old ones stay in force:" + complaints.map { "\n  \($0)" }.joined()
        case .providerDown(let name, let reason): "provider \(name) fails: \(reason)"
        case .providerUp(let name): "provider \(name) answers"
        case .nameserverLoops(let server):
            "nameserver \(server) sends our own questions back to us; it is not asked any more"
        case .nameserversChanged(let servers): "system resolver is now \(list(servers))"
        case .fileUnreadable(let path, let reason): "\(path) can't be read: \(reason)"
        }
    }

    private func list(_ items: [String]) -> String { items.isEmpty ? "none" : items.joined(separator: ", ") }
}

/// Used by the main thread only.
struct Log {
    var level: Settings.Log.Level

    func callAsFunction(_ event: LogEvent) {
        guard event.level.rank <= level.rank else { return }
        StandardStreams.writeError("httpdnsd: \(event.text)\n")
    }
}

extension Settings.Log.Level {
    /// Most urgent first.
    fileprivate var rank: Int { Settings.Log.Level.allCases.firstIndex(of: self) ?? 0 }
}
