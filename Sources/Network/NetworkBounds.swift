// Every limit and deadline of this module, each with its reason.

package typealias Instant = ContinuousClock.Instant

package enum NetworkBounds {
    /// A change ends when no relevant change has happened for this long. The steps of DHCP clients and VPN programs
    /// follow each other faster.
    package static let quiet: Duration = .milliseconds(250)
    /// Time after which a change ends in any case: during a flood of changes, and with a gateway that does not
    /// answer.
    package static let settleLimit: Duration = .seconds(1)
    /// Connections survive a missing route out for this long; after a longer gap everything starts anew.
    package static let gap: Duration = .seconds(1)

    /// Bound on VPN interfaces in an identity. A machine with more is a router.
    static let maxTunnels = 16
    /// Bound on search domains in an identity: the classic limit of resolv.conf.
    static let maxSearchDomains = 6
    /// RFC 1035 section 2.3.4, as text.
    static let maxSearchDomainBytes = 253
    /// Identity as text, for one line of a report. The note has room for `maxKnown` of them.
    static let maxWordsBytes = 240

    /// Home, work, a phone's and a few others; each keeps a part of the cache.
    package static let maxKnown = 8
    /// Listed changes: some days of a laptop.
    package static let maxChanges = 64
    /// Size limit of a note in the store.
    package static let maxNoteBytes = 4096

    /// Tolerance between the clocks with and without suspend: far more than the time between the two readings.
    static let sleepFloor: Duration = .seconds(1)
    /// A loop that is late by this much was stopped, not busy.
    static let stopFloor: Duration = .seconds(5)
    /// If the first question comes this long after a change, the recovery time starts with the question.
    static let idleFloor: Duration = .seconds(1)
}
