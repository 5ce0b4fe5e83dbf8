// Decides whether a provider as a whole is out of order, although each reply could concern its name only. A reply is
// unusable if it has HTTP 5xx or a wrong body, for instance.

import DNSWire

struct UnusableReplies {
    /// Names or domains whose questions no address answered, since the last usable reply.
    private var subjects: Set<Name> = []
    /// Names in a row that prove an outage.
    private let limit: Int

    /// The usual limit. One name may draw an unusable reply from every address, and so may a second one.
    private static let usualLimit = 3

    /// - Parameter names: the number of names that the provider is asked for; nil: unlimited.
    init(ofNames names: Int? = nil) {
        limit = min(names ?? UnusableReplies.usualLimit, UnusableReplies.usualLimit)
    }

    /// Whether no address answers. Then one address is asked for each question, because the others would not answer
    /// either.
    var showOutage: Bool { subjects.count >= limit }

    /// Adds a question that every address left without a usable reply, or every address that may be asked for one
    /// question.
    ///
    /// - Parameter subject: the question's name. For a provider that many registrable domains share, the name's
    ///   registrable domain: one domain's nameservers may be broken for all its names.
    mutating func add(_ subject: Name) {
        guard !showOutage else { return }
        subjects.insert(subject)
    }

    mutating func answered() { subjects = [] }
}
