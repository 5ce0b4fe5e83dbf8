// Results of `ResolverState.orderInForce`: which upstream goes first for a name, and why.

package import DNSWire

/// How the order applies to one name at present.
package enum OrderInForce: Equatable, Sendable {
    /// The providers go first, by the setting.
    case providersFirst
    /// The system resolver is asked first.
    ///
    /// - Parameter isVerified: a probe has verified the system resolver's latest answer.
    case systemFirst(isVerified: Bool)
    /// The providers go first until this instant: the system resolver gave only mismatched addresses.
    case forged(until: Instant)
    /// The providers go first until this instant: the system resolver's answer contradicted the rule for the name.
    case contradicted(until: Instant)
    /// The system resolver's answer was forged earlier. It is asked first, and its answer must be verified before it is
    /// given.
    case onProbation
    /// The providers go first: the system resolver has forged answers about several registrable domains.
    case mistrusted

    var isSystemFirst: Bool {
        switch self {
        case .systemFirst, .onProbation: true
        case .providersFirst, .forged, .contradicted, .mistrusted: false
        }
    }
}

/// Whether a system resolver's answer may be given before a provider is asked.
enum FirstAnswerStanding {
    case usable
    /// A provider is asked first: the system resolver forged the name before, or answers "no such name" for a name with
    /// a verified address.
    case needsProvider
    /// All addresses of the answer are mismatched or unreachable.
    case unusable
}
