// What the policy of a name makes of an upstream's answer. Addresses that no public name may have are taken out: they
// lead a browser into the local network (DNS rebinding), or are forged.

import DNSWire

/// What the policy of a name makes of an upstream's answer.
enum AnswerJudgement {
    /// The answer without private addresses.
    case usable(Answer)
    /// All addresses of the answer are private, or a signature covers a private one.
    case onlyPrivate
    case contradicts(Contradiction)

    /// The answer without private addresses; nil if it has none to give.
    var usable: Answer? { if case .usable(let answer) = self { answer } else { nil } }
}

extension NamePolicy {
    /// - Parameters:
    ///   - answer: the upstream's answer before filters and TTL limits.
    ///   - carriesAliases: the upstream's format has CNAME records.
    func judged(_ answer: Answer, to question: Question, carriesAliases: @autoclosure () -> Bool) -> AnswerJudgement {
        if let expectation,
            let contradiction = expectation.contradiction(
                in: answer, to: question, carriesAliases: carriesAliases(), behind: probes.nat64Prefixes)
        {
            return .contradicts(contradiction)
        }
        return withoutPrivateAddresses(answer, of: question.name).map { .usable($0) } ?? .onlyPrivate
    }

    /// Returns the answer without private addresses and address hints, whichever upstream gave it; nil if none of its
    /// addresses is left, or if a signature covers them.
    func withoutPrivateAddresses(_ answer: Answer, of name: Name) -> Answer? {
        let prefixes = probes.nat64Prefixes
        let isPrivate = { (address: Address) in address.isPrivate(behind: prefixes) }
        let hasPrivate =
            answer.addresses.contains(where: isPrivate)
            || answer.records.indices.contains { index in
                answer.records[index].type.isServiceBinding
                    && answer.records[index].addressHints.contains(where: isPrivate)
            }
        guard hasPrivate, !(allowsPrivate ?? LocalNames.isOfLocalNetwork(name)) else { return answer }
        guard !answer.isSigned else { return nil }
        let records = answer.records.filter { !($0.address.map(isPrivate) ?? false) }
            .map { $0.withAddressHints { !isPrivate($0) } }
        guard records.contains(where: { $0.address != nil || $0.type.isServiceBinding }) else { return nil }
        return Answer(records: records).remarked(.filteredAddresses)
    }
}
