// The settings of a member of a fleet.

package import DNSWire

package struct FleetConfiguration: Equatable, Sendable {
    package let keys: FleetKeys
    /// Members that see the Internet from one place, such as "sh-a".
    package let site: String
    /// Name of this machine.
    package let member: String
    /// How long a request waits for a reply.
    package let readTimeout: Duration
    package let share: Set<SharedKind>

    package init(
        keys: FleetKeys, site: String, member: String, readTimeout: Duration = .milliseconds(5),
        share: Set<SharedKind> = Set(SharedKind.allCases)
    ) {
        (self.keys, self.site, self.member) = (keys, site, member)
        (self.readTimeout, self.share) = (readTimeout, share)
    }
}
