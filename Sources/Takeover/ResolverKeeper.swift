// Who decides on a machine what stands in /etc/resolv.conf: each has a way of its own to be told of a local resolver.

package enum ResolverKeeper: String, CaseIterable, Sendable {
    /// Nobody: a file that people write.
    case plainFile = "plain file"
    case resolved = "systemd-resolved"
    case networkManager = "NetworkManager"
    /// Debian's resolvconf, or openresolv.
    case resolvconf
}
