// The log lines about a receiver of notifications.

import DNSWire

enum ReceiverNews {
    /// The receiver does not accept events.
    case fails(name: String, reason: String)
    /// The end of `fails`.
    case works(name: String, after: Duration)

    var text: String {
        switch self {
        case .fails(let name, let reason): "\(name) does not accept notifications: \(reason)"
        case .works(let name, let duration): "\(name) accepts notifications again after \(duration.wholeSeconds) s"
        }
    }
}
