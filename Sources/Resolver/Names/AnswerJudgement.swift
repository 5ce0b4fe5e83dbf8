// What the policy of a name makes of an upstream's answer. A provider that gives only addresses that no public name may
// have, or says so by an extended error, blocks the name. Beside other addresses, such ones are taken out: they lead a
// browser into the local network (DNS rebinding), or are forged.

import DNSWire

/// What the policy of a name makes of an upstream's answer.
enum AnswerJudgement {
    /// The answer without private addresses.
    case usable(Answer)
    /// The provider blocks the name: the answer for clients, in place of every other source's.
    case blocked(Answer)
    /// All addresses of another upstream's answer are private, or a signature covers a private one beside others.
    case onlyPrivate
    indirect case contradicts(Contradiction)

    /// The answer for clients; nil if there is none to give.
    var usable: Answer? {
        switch self {
        case .usable(let answer), .blocked(let answer): answer
        case .onlyPrivate, .contradicts: nil
        }
    }
}

extension Answer {
    /// The answer is given on although an upstream denies it.
    var isLastKnownGood: Bool { remark?.tellsLastKnownGood ?? false }

    /// An upstream's answer without a remark that only this resolver may make. Another httpdnsd sends it, too.
    fileprivate var withoutOwnRemark: Answer { isLastKnownGood ? remarked(nil) : self }
}

extension NamePolicy {
    /// - Parameters:
    ///   - answer: the upstream's answer before filters and TTL limits.
    ///   - mayBlock: a provider gave it. No other upstream is a filter.
    ///   - isFilter: the operator chose the provider as a filter.
    ///   - carriesAliases: the upstream's format has CNAME records.
    func judged(
        _ answer: Answer, to question: Question, mayBlock: Bool, isFilter: Bool, carriesAliases: Bool
    ) -> AnswerJudgement {
        let hasPrivate = hasPrivateAddresses(answer)
        let isBlock = mayBlock && isBlock(answer, of: question, hasPrivate: hasPrivate)
        // A rule for the name knows better than a guess, but not better than a chosen filter.
        if let expectation, !isBlock || !isFilter,
            let contradiction = expectation.contradiction(
                in: answer, to: question, carriesAliases: carriesAliases, behind: probes.nat64Prefixes)
        {
            return .contradicts(contradiction)
        }
        guard !isBlock else { return .blocked(block(of: question, answer.ttlSeconds, answer.remark)) }
        guard hasPrivate else { return .usable(answer.withoutOwnRemark) }
        return withoutPrivateAddresses(answer.withoutOwnRemark, of: question.name).map { .usable($0) } ?? .onlyPrivate
    }

    /// Returns the answer for clients if the provider's error reply blocks the name; nil: it does not.
    ///
    /// RFC 8914 sections 4.16 to 4.18: "Blocked", "Censored" and "Filtered" are about the name, with every response
    /// code. "Prohibited" (4.19) with REFUSED, and a bare REFUSED, are about the client: they block a name only if the
    /// operator chose the provider as a filter.
    func block(of question: Question, by failure: NameFailure, isFilter: Bool) -> Answer? {
        let isBlock = failure.extendedError?.blocksName == true || isFilter && failure.responseCode == .refused
        guard isBlock, !mayBeLocal(question.name) else { return nil }
        return block(of: question, Answer.defaultNegativeTTLSeconds, failure.extendedError)
    }

    /// Whether a provider's answer blocks the name: it has only addresses that no public name may have, or none and an
    /// extended error that says so.
    private func isBlock(_ answer: Answer, of question: Question, hasPrivate: Bool) -> Bool {
        switch answer.kind {
        case .noSuchName, .noData, .ambiguousEmpty:
            return answer.remark?.tellsBlock == true && !mayBeLocal(question.name)
        case .records: break
        }
        guard hasPrivate else { return false }
        if question.type.isServiceBinding {
            let hints = answer.records.flatMap(\.addressHints)
            return !hints.isEmpty && hints.allSatisfy { $0.isUnspecified || $0.isLoopback }
                && !mayBeLocal(question.name)
        }
        let prefixes = probes.nat64Prefixes
        return !answer.addresses.isEmpty && answer.addresses.allSatisfy { $0.isPrivate(behind: prefixes) }
            && !mayBeLocal(question.name)
    }

    /// Whether private addresses of the name are its own.
    private func mayBeLocal(_ name: Name) -> Bool { allowsPrivate ?? LocalNames.isOfLocalNetwork(name) }

    /// Returns the answer that clients get for a blocked name, with the TTL limits of negative answers.
    ///
    /// - Parameter upstream: the provider's extended error; nil: it sent none.
    private func block(of question: Question, _ ttlSeconds: UInt32, _ upstream: ExtendedError?) -> Answer {
        let ttl = cache.applied(to: Answer(negative: .noSuchName, ttlSeconds: ttlSeconds)).ttlSeconds
        let nothing = { (kind: Answer.Kind) in Answer.nothing(kind, inZone: question.name, ttlSeconds: ttl) }
        let answer =
            switch (blockedAnswer, question.type) {
            case (.noSuchName, _): nothing(.noSuchName)
            case (.unspecified, .a), (.unspecified, .aaaa):
                Answer(records: [
                    ResourceRecord(
                        owner: question.name, address: question.type == .a ? .v4(0) : .v6(high: 0, low: 0),
                        ttlSeconds: ttl)
                ])
            case (.noData, _), (.unspecified, _): nothing(.noData)
            }
        return answer.remarked(.blockedByProvider(upstream))
    }

    /// Returns the answer without private addresses and address hints, whichever upstream gave it; nil if none of its
    /// addresses is left, or if a signature covers them.
    func withoutPrivateAddresses(_ answer: Answer, of name: Name) -> Answer? {
        guard hasPrivateAddresses(answer), !mayBeLocal(name) else { return answer }
        guard !answer.isSigned else { return nil }
        let prefixes = probes.nat64Prefixes
        let isPrivate = { (address: Address) in address.isPrivate(behind: prefixes) }
        let records = answer.records.filter { !($0.address.map(isPrivate) ?? false) }
            .map { $0.withAddressHints { !isPrivate($0) } }
        guard records.contains(where: { $0.address != nil || $0.type.isServiceBinding }) else { return nil }
        return Answer(records: records).remarked(.filteredAddresses)
    }

    /// Whether an address or address hint of the answer is private.
    private func hasPrivateAddresses(_ answer: Answer) -> Bool {
        let prefixes = probes.nat64Prefixes
        // Records with hints answer questions of their own type.
        guard answer.addresses.isEmpty else { return answer.addresses.contains { $0.isPrivate(behind: prefixes) } }
        return answer.records.contains { record in
            record.type.isServiceBinding && record.addressHints.contains { $0.isPrivate(behind: prefixes) }
        }
    }
}

extension Answer {
    /// Whether the answer is a provider's block, as judged: no source may give another one for the name while it lasts.
    package var isBlock: Bool {
        guard let remark else { return false }
        return remark.tellsProvidersBlock && (kind != .records || addresses.allSatisfy(\.isUnspecified))
    }
}

extension ExtendedError {
    private static let blockText = "blocked by the provider"
    private static let blockCode: UInt16 = 15

    /// "Blocked" (15) with the provider's own text, if it sent one.
    static func blockedByProvider(_ upstream: ExtendedError?) -> ExtendedError {
        guard let text = upstream?.text, !text.isEmpty else {
            return ExtendedError(upstream: blockCode, text: blockText.utf8)
        }
        let whole = text.hasPrefix(blockText) ? text : "\(blockText): \(text)"
        return ExtendedError(upstream: blockCode, text: whole.utf8)
    }

    fileprivate var tellsProvidersBlock: Bool {
        code == ExtendedError.blockCode && text.hasPrefix(ExtendedError.blockText)
    }

    /// "Blocked", "Censored" or "Filtered": a filter answers in place of the name's own servers.
    fileprivate var blocksName: Bool { 15...17 ~= code }
}
