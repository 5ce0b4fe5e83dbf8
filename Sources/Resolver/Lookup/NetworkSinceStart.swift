// The network that a lookup restarts on.

/// Compared with the network that the lookup started on.
enum NetworkSinceStart {
    /// The network is the same, after a sleep or after a suspected change.
    case same
    /// A change is under way.
    case inDoubt
    case other
}
