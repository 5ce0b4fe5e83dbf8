// Decides whether a provider's HTTP 403 concerns one name or the account. For example, it concerns the name if the name
// was not added in the vendor's console (providers.md, correction C1). A wrong key and a closed account get the same
// reply.

import DNSWire
import Resolver

struct ForbiddenNames {
    /// The subject of a 403.
    enum Subject {
        case name
        case account
        /// The account, the name or the time of the request.
        case unclear
    }

    static let status = 403

    /// When the provider last answered with another status.
    private var answeredAt: Instant?
    /// Names of the latest answers, each once, in a ring.
    private var answered: [Name] = []
    private var oldest = 0
    /// Names that got a 403 since the last answer, although nothing shows that they are foreign to the account.
    private var unexplained: Set<Name> = []

    /// How long an answer proves that the account is in service.
    private static let recently: Duration = .seconds(3600)
    /// Bound on `answered`: enough to have several names of an account that is closed, however its clients mix them.
    private static let maxAnswered = 64
    /// From this many unexplained names in a row on, a 403 concerns the account: with a wrong key or a closed account,
    /// every name gets it. Two names may have been left out in the console.
    private static let namesOfAccount = 3

    mutating func answered(_ name: Name, now: Instant) {
        answeredAt = now
        unexplained = []
        guard !answered.contains(name) else { return }
        guard answered.count >= ForbiddenNames.maxAnswered else { return answered.append(name) }
        answered[oldest] = name
        oldest = (oldest + 1) % ForbiddenNames.maxAnswered
    }

    /// Returns what the 403 for this name concerns.
    ///
    /// - Parameters:
    ///   - hasList: the account has a list of names. Without one, a policy of the provider may refuse a few names.
    ///   - isClockRight: the request's time cannot be the reason.
    mutating func subject(of name: Name, hasList: Bool, isClockRight: Bool, now: Instant) -> Subject {
        let isServed = answeredAt.map { now - $0 < ForbiddenNames.recently } ?? false
        // The account works, and did not have this name lately.
        if hasList, isServed, !answered.contains(name) { return .name }
        if unexplained.count < ForbiddenNames.namesOfAccount { unexplained.insert(name) }
        if unexplained.count >= ForbiddenNames.namesOfAccount { return .account }
        return isServed || isClockRight ? .name : .unclear
    }
}
