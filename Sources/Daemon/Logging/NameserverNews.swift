// What the log says about a nameserver: of the operator, by its name, or of the system, by its address.

import Control

enum NameserverNews {
    /// Every server of the operator's nameserver fails.
    case down(name: String, reason: String)
    case up(name: String)
    /// A server of the system forwards queries back to this daemon.
    case loops(String)
    case askedAgain(String)

    var word: String {
        switch self {
        case .down: "nameserver-down"
        case .up: "nameserver-up"
        case .loops: "nameserver-loops"
        case .askedAgain: "nameserver-asked-again"
        }
    }

    var text: String {
        switch self {
        case .down(let name, let reason): "nameserver \(name) is down: \(reason)"
        case .up(let name): "nameserver \(name) is up"
        case .loops(let server): "nameserver \(server) forwards queries back to this daemon; not used"
        case .askedAgain(let server): "nameserver \(server) no longer forwards queries back to this daemon; used again"
        }
    }

    var fields: [String: LogField] {
        switch self {
        case .down(let name, let reason): ["nameserver": .text(name), "reason": .text(reason)]
        case .up(let name): ["nameserver": .text(name)]
        case .loops(let server), .askedAgain(let server): ["server": .text(server)]
        }
    }
}
