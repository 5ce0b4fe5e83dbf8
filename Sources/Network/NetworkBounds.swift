// Every limit and deadline of this module, each with its reason.

package typealias Instant = ContinuousClock.Instant

package enum NetworkBounds {
    /// A change is over when nothing that matters has changed for so long: what DHCP clients and VPN programs do step
    /// by step lies closer together.
    package static let quiet: Duration = .milliseconds(250)
    /// So long after its first step a change is taken as it is: in a storm, and with a gateway that does not answer.
    package static let settleLimit: Duration = .seconds(1)
    /// Connections get over a way out that was gone for less; behind a longer gap everything is begun anew.
    package static let gap: Duration = .seconds(1)

    /// Interfaces of VPNs that tell networks apart. More is a router, not a client of so many.
    static let maxTunnels = 16
    /// Search domains that tell networks apart: as many as resolv.conf had room for in its classic form.
    static let maxSearchDomains = 6
    /// RFC 1035 section 2.3.4, as text.
    static let maxSearchDomainBytes = 253
    /// An identity in words, for one line of a report. The note has room for `maxKnown` of them.
    static let maxWordsBytes = 240

    /// Home, work, a phone's and a few on the way; each keeps a part of the cache.
    package static let maxKnown = 8
    /// Changes that are listed: some days of a laptop.
    package static let maxChanges = 64
    /// A note of the store has room for so much.
    package static let maxNoteBytes = 4096

    /// What the clocks with and without suspend may differ by without anything having slept: far more than the time
    /// between reading the one and the other.
    static let sleepFloor: Duration = .seconds(1)
    /// A loop that comes so much too late was stopped, not busy.
    static let stopFloor: Duration = .seconds(5)
    /// Who asks for nothing until so long after a change does not wait for its end.
    static let idleFloor: Duration = .seconds(1)
}
