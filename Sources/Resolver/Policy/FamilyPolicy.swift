// A rule's setting `family`: which address family clients get for its names. Questions for the other one get no data:
// always, or if the preferred one has a usable address. That answer is the daemon's own and never cached. The cache
// holds nothing of an excluded family. Of one that yields it may hold an answer from before the preferred family had a
// usable address, or a provider's that outranks a substitute of the preferred family.

package import DNSWire

package enum FamilyPolicy: String, Sendable, CaseIterable {
    case both
    case ipv4
    case ipv6
    case preferIPv4 = "prefer-ipv4"
    case preferIPv6 = "prefer-ipv6"

    enum Treatment {
        case ordinary
        /// No data, and no upstream is asked.
        case excluded
        /// No data if the name has a usable address of the other family.
        case yielding
    }

    func treatment(of type: RecordType) -> Treatment {
        switch (self, type) {
        case (.ipv4, .aaaa), (.ipv6, .a): .excluded
        case (.preferIPv4, .aaaa), (.preferIPv6, .a): .yielding
        default: .ordinary
        }
    }
}

extension NamePolicy {
    func treatment(of type: RecordType) -> FamilyPolicy.Treatment { family?.treatment(of: type) ?? .ordinary }
}

extension Answer {
    static func withoutFamily(_ question: Question) -> Answer {
        nothing(.noData, about: question, by: .familyOfRule)
    }

    /// A negative answer because of a rule. The SOA record lets clients cache it (RFC 2308 section 5).
    static func nothing(_ kind: Kind, about question: Question, by remark: ExtendedError?) -> Answer {
        Answer.nothing(kind, inZone: question.name, ttlSeconds: Bounds.ruleTTLSeconds).remarked(remark)
    }
}

extension Resolver {
    /// Returns the daemon's own reply: local knowledge, a rule's answer, or no data because of a rule's `family`. Nil:
    /// upstreams are asked.
    ///
    /// - Parameters:
    ///   - preferred: the cached answer to `preferredQuestion(over:)`.
    ///   - expired: the expired answer to the question.
    func ownReply(
        _ question: Question, _ policy: NamePolicy, _ preferred: AgedAnswer? = nil, over expired: AgedAnswer? = nil,
        now: Instant
    ) -> LocalReply? {
        if case .here(let reply, _) = routing.place(of: question, now: now) { return reply }
        if routing.isFamilyUnserved(question, policy, state.ranking, now: now), !state.synthesis.isOn(for: question) {
            return .answer(.nothing(.noData, about: question, by: .familyUnserved))
        }
        return switch policy.treatment(of: question.type) {
        case .ordinary: nil
        case .excluded: .answer(.withoutFamily(question))
        case .yielding: yields(question, expired, to: preferred, policy) ? .answer(.withoutFamily(question)) : nil
        }
    }

    private func yields(
        _ question: Question, _ expired: AgedAnswer?, to aged: AgedAnswer?, _ policy: NamePolicy
    ) -> Bool {
        guard !state.synthesis.isOn, let aged, let preferred = question.otherFamily, !aged.answer.isNegative,
            aged.freshness(policy.limits) != .gone, let records = try? aged.answer.records(of: preferred)
        else { return false }
        let answer = Answer(records: records)
        let isOutranked =
            aged.origin == .system && expired?.origin == .provider
            && !state.verification.isVerified(preferred, answer)
        return !isOutranked && state.verification.hasUsableAddress(preferred, answer)
    }

    /// Returns the question whose cached answer decides about this one; nil: none does.
    package func preferredQuestion(over question: Question) -> Question? {
        guard question.type.isAddress, routing.withPolicy(of: question, { $0.rules.hasFamilies }),
            routing.policy(for: question).treatment(of: question.type) == .yielding
        else { return nil }
        return question.otherFamily
    }
}

extension Policy {
    /// Returns whether the settings have the name answered without this type in some case. Answers of this type that
    /// were cached under other settings are obsolete.
    package func limits(_ type: RecordType, of name: Name) -> Bool {
        rules.hasFamilies && of(name).treatment(of: type) != .ordinary
    }
}

extension ResolverState {
    /// Removes the other family's answer, which was cached while the preferred one had no usable address. An unverified
    /// substitute does not displace a provider's answer.
    mutating func removeYielding(_ question: Question, _ answer: Answer, _ policy: NamePolicy, isDoubted: Bool) {
        guard let yielding = question.otherFamily, policy.treatment(of: yielding.type) == .yielding, !synthesis.isOn,
            verification.hasUsableAddress(question, answer)
        else { return }
        if isDoubted, !verification.isVerified(question, answer) { return withdraw(yielding, from: .system) }
        verification.forgotten(yielding)
        actions.append(.remove(yielding))
    }
}

extension ResolverState {
    /// Returns the preferred family's answer in the cache if it takes no provider's place and needs no verdict; nil:
    /// there is none, or none may be cached.
    func knownPreferred(over question: Question) -> VerifiedQuestion.Kept? {
        guard isSettled, !synthesis.isOn, let preferred = question.otherFamily,
            let name = verification.known[question], let index = name.index(of: preferred),
            !name.questions[index].isDoubted
        else { return nil }
        return name.questions[index].kept
    }
}

extension Verification {
    /// Returns whether the answer has an address of the requested type that no probe found dead or mismatched. It does
    /// not matter if the fault is this machine's: clients here cannot use the address either.
    func hasUsableAddress(_ question: Question, _ answer: Answer) -> Bool {
        let addresses = answer.addresses.filter { $0.recordType == question.type }
        return !addresses.isEmpty && known[question]?.leadsNowhere(addresses) != true
    }
}
