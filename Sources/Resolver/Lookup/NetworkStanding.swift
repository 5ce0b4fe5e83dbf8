// How much is known about the current network.

/// The network that a lookup restarts on, compared with the one that it started on.
enum NetworkStanding {
    /// The network is the same, after a sleep or after a suspected change.
    case same
    /// A change is under way.
    case inDoubt
    case other
}
