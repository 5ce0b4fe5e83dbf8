// Lookups that began before the silence of their providers was known, or before it ended.

import DNSWire

extension Resolver {
    /// Applies the terms of an outage to lookups that began before the silence of their providers was known.
    mutating func shortenSilentWaits(now: Instant) {
        guard state.ranking.hasNewSilence else { return }
        state.ranking.hasNewSilence = false
        for number in lookups.indices where lookups[number]?.waitsForSilence(state.ranking, now) == true {
            change(number, now: now) { $0.shortenDeadlines(.inSilence, now: now, &$1) }
        }
    }

    /// Plans to repeat the requests that a provider got during its silence, as they may be lost.
    mutating func silenceEnded(of provider: RankedID, now: Instant) {
        for number in lookups.indices {
            guard let lookup = lookups[number], lookup.silenceEnded(of: provider, state.ranking, now: now) else {
                continue
            }
            deadlines.set(lookup.nextDeadline, for: number)
        }
    }
}

extension Lookup {
    /// Repeats requests that a provider got during its silence. The first ones stay in flight.
    func repeatLost(_ ranking: UpstreamRanking, now: Instant) {
        for index in running.indices {
            guard let at = running[index].repeatAt, at <= now, let provider = running[index].provider else { continue }
            // Once: the request ends then.
            running[index].repeatAt = running[index].until
            guard isAsking, ranking[provider]?.isThrottled(now) == false else { continue }
            failures.ended(provider, .noReply(since: running[index].startedAt))
            providers.repeat(provider, at: now)
        }
    }

    /// Plans to repeat requests that a provider got during its silence. They have twice the usual time of an answer
    /// from now on.
    ///
    /// - Returns: whether there are any.
    fileprivate func silenceEnded(of provider: RankedID, _ ranking: UpstreamRanking, now: Instant) -> Bool {
        guard isAsking, providers.isDone, let standing = ranking[provider] else { return false }
        let repeatAt = now + standing.overdueAfter
        let lost = running.indices.filter {
            running[$0].provider == provider && running[$0].isSent && running[$0].startedAt < now
                && running[$0].repeatAt == nil && repeatAt < min(running[$0].until, giveUpAt)
        }
        for index in lost { running[index].repeatAt = repeatAt }
        return !lost.isEmpty
    }
}
