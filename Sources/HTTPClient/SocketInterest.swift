// Which readiness of a descriptor a connection waits for.

package enum SocketInterest: Sendable {
    /// Stop watching the descriptor. It is closed right after, or already was.
    case none
    case read, write, both
}

/// Called when the requested readiness of a descriptor changes.
typealias InterestHandler = (_ descriptor: Int32, _ wants: SocketInterest) -> Void
