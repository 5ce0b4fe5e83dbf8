// Limits and deadlines of the network module, each with its reason.

package import DNSWire

package enum NetworkBounds {
    /// A change ends after this time without a relevant step. The steps of DHCP clients and VPN programs follow each
    /// other faster.
    package static let quiet: Duration = .milliseconds(250)
    /// A change ends after this time in any case: during a flood of steps, or if a gateway does not answer.
    package static let settleLimit: Duration = .seconds(1)
    /// Connections survive a missing default route for this long. After a longer gap the network is a new one.
    package static let gap: Duration = .seconds(1)

    /// Maximum number of VPN interfaces in an identity. A machine with more is a router.
    static let maxTunnels = 16
    /// Maximum number of search domains in an identity: the classic limit of resolv.conf.
    static let maxSearchDomains = 6
    /// Maximum size of a search domain as text (RFC 1035 section 2.3.4).
    static let maxSearchDomainBytes = 253
    /// Maximum size of an identity as text, for one line of a report. The note has room for `maxKnown` of them.
    static let maxWordsBytes = 240

    /// Time in which all replies of a single provider must report another carrier, if no other provider can contradict
    /// it: one odd reply, or two, change nothing.
    static let exitConfirmation: Duration = .seconds(2)
    /// Time between two changes of the carrier: a router may send each connection through another one, or a carrier has
    /// addresses of several prefixes. Also how long a provider's report can contradict those of another one: longer
    /// than the time between two background measurements.
    static let carrierHold: Duration = .seconds(300)
    /// Reports of exit addresses: one of each family for 32 providers, the most that the settings allow.
    static let maxExitReports = 64

    /// Known networks, such as home, work and a phone. Each keeps a part of the cache.
    package static let maxKnown = 8
    /// Changes in the history: some days of a laptop.
    package static let maxChanges = 64
    /// Size limit of a note in the store.
    package static let maxNoteBytes = 4096

    /// Tolerance between the clocks with and without suspend: far more than the time between the two readings.
    static let sleepFloor: Duration = .seconds(1)
    /// A longer delay of the event loop means that the process was stopped.
    static let stopFloor: Duration = .seconds(5)
    /// Recovery time starts with the question if the first one comes this long after a change.
    static let idleFloor: Duration = .seconds(1)
}
