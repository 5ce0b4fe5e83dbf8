// Everything the resolver can want, on one screen. Carried out by the daemon, in order.

package import DNSWire

package enum Action: Equatable, Sendable {
    /// Ask an upstream; report `fetchFinished` under this ID.
    case fetch(FetchID, Question, Upstream)
    /// Ask a provider beside a lookup; report `fetchFinished` under this ID. The answer is for nobody: it is measured,
    /// and compared where the provider is a shadow.
    case shadow(FetchID, Question, ProviderID)
    /// The result is no longer wanted.
    case abandon(FetchID)
    /// Keep this answer; its TTLs are as they should be kept.
    case store(Question, Answer, Source)
    case reply(Waiter, Answer, Source)
    case replyExpired(Waiter, ExpiredAnswer, StaleCause)
    /// A reply without records: SERVFAIL, or YXDOMAIN, with the reason.
    case fail(Waiter, ExtendedError, ResponseCode = .serverFailure)
    /// Put this in the place of the answer that the cache keeps from this source: other addresses or another order, for
    /// as long as that one would be kept. What the cache does not have is not to come back.
    case rearrange(Question, Answer, Source)
    /// The cache is to give nothing for it any more.
    case remove(Question)
    /// The cache is not to give what this source said any more.
    case withdraw(Question, Source)
    /// Report the next time that the cache gives its answer from this source: `givenAgain`.
    case awaitAsk(Question, Source)
    /// Connect to an address as a client would; report `probeFinished` under this ID.
    case probe(ProbeID, ProbeTarget)
    case probeNews(ProbeNews)
    /// To be recorded: somebody's word was shown to be false.
    case diverged(Divergence)
    case portal(PortalNews)
    /// Report how often the cache has answered these since the last time: `hitsCounted`.
    case countHits([Question])
}

/// An answer after its time, ready to be given.
package struct ExpiredAnswer: Equatable, Sendable {
    /// Its TTLs are those of an expired answer.
    package let answer: RenderedAnswer
    package let extendedError: ExtendedError
    /// Its limit may pass while the upstreams are asked, or while the machine sleeps.
    let usableUntil: Instant
    let origin: AgedAnswer.Origin

    /// - Parameter answer: with the TTLs of an expired answer.
    func with(_ answer: RenderedAnswer) -> ExpiredAnswer {
        ExpiredAnswer(answer: answer, extendedError: extendedError, usableUntil: usableUntil, origin: origin)
    }

    /// As it is when the network has changed. What the system resolver said never crosses networks, nor does a "no".
    var onOtherNetwork: ExpiredAnswer? {
        guard origin != .system, !answer.isNegative else { return nil }
        return ExpiredAnswer(
            answer: answer, extendedError: extendedError, usableUntil: usableUntil, origin: .otherNetwork)
    }

    func cause(_ cause: StaleCause) -> StaleCause { origin == .otherNetwork ? .otherNetwork : cause }
}

/// Why an expired answer was given, in the words that statistics use.
package enum StaleCause: String, Sendable, CaseIterable {
    /// No upstream had answered in time.
    case timeout
    /// No provider has replied to anything for a while, so that none was waited for.
    case unresponsive
    /// Every upstream had failed.
    case failure
    /// Every upstream failed a short while ago.
    case recheck
    /// The same, and there was nothing but what another network's provider had said.
    case otherNetwork = "other-network"
}

/// Where an answer comes from.
package enum Source: Hashable, Sendable {
    case provider(ProviderID)
    case system
    /// The daemon's own knowledge: special names, /etc/hosts.
    case local
    /// A rule's addresses, for when all else has failed.
    case fallback

    var isProvider: Bool {
        switch self {
        case .provider: true
        case .system, .local, .fallback: false
        }
    }
}
