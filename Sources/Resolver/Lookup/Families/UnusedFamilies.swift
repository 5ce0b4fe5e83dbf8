// Families of addresses that a name does not use.

import DNSWire

extension ResolverState {
    /// Removes the other family's answer, which was cached while the preferred one had no usable address. An unverified
    /// substitute does not displace a provider's answer.
    mutating func removeYielding(_ question: Question, _ answer: Answer, _ policy: NamePolicy, isDoubted: Bool) {
        guard policy.family != nil, let yielding = question.otherFamily,
            policy.treatment(of: yielding.type) == .yielding, !dns64.isOn,
            verification.hasUsableAddress(question, answer)
        else { return }
        if isDoubted, !verification.isVerified(question, answer) { return withdraw(yielding, from: .system) }
        verification.forgotten(yielding)
        actions.append(.remove(yielding))
    }

    /// Returns the preferred family's answer in the cache if it takes no provider's place and needs no verdict; nil:
    /// there is none, or none may be cached.
    func knownPreferred(over question: Question) -> VerifiedQuestion.Kept? {
        guard isStable, !dns64.isOn, let preferred = question.otherFamily,
            let name = verification.known[question], let index = name.index(of: preferred),
            !name.questions[index].isDoubted
        else { return nil }
        return name.questions[index].kept
    }
}
