// Computes how long before an answer's expiry its refresh starts: as long as the upstreams need, even if they become
// slower after planning.

import DNSWire

/// Upstream latency for each address type, and for all other types together.
struct PlannedLatency {
    private var ofA = Bounds.refreshLeadFloor
    private var ofAAAA = Bounds.refreshLeadFloor
    private var ofOthers = Bounds.refreshLeadFloor

    subscript(type: RecordType) -> Duration {
        get {
            switch type {
            case .a: ofA
            case .aaaa: ofAAAA
            default: ofOthers
            }
        }
        set {
            switch type {
            case .a: ofA = newValue
            case .aaaa: ofAAAA = newValue
            default: ofOthers = newValue
            }
        }
    }
}

extension RefreshPlan {
    // A lead of a tenth of the TTL would cost some 7 % more requests. The price: a client may wait if an upstream fails
    // just before the refresh.

    /// Returns the lead: a small part of a long lifetime, with time for a retry; at most half of a short one.
    func lead(_ number: Int, _ upstreamLatency: Duration) -> Duration {
        let life = Duration.seconds(Int64(entries[number].lifetimeSeconds))
        return min(max(upstreamLatency, Bounds.refreshLeadFloor, life / 200), life / 2)
    }

    /// Schedules a refresh with a random offset, so that answers with equal expiry are refreshed one after the other.
    mutating func scheduleAhead(_ number: Int, by lead: Duration) {
        schedule(number, at: entries[number].expiresAt - lead + random.duration(upTo: lead / 4))
    }

    /// Adjusts the planned refreshes to the upstreams' latency. Visits all entries only if the latency has grown by
    /// half, because it changes slightly with each answer.
    ///
    /// - Parameter upstreamLatency: how long upstreams need to answer a question of this type.
    mutating func upstreamsNeed(_ upstreamLatency: Duration, for type: RecordType) {
        let kind = type.isAddress ? type : nil
        let planned = plannedLatency[type]
        guard upstreamLatency * 2 > planned * 3 else {
            if upstreamLatency * 2 < planned { plannedLatency[type] = max(upstreamLatency, Bounds.refreshLeadFloor) }
            return
        }
        plannedLatency[type] = upstreamLatency
        for number in entries.indices where isPlannedAhead(number, kind) {
            let lead = lead(number, upstreamLatency)
            if entries[number].dueAt > entries[number].expiresAt - lead * 3 / 4 {
                scheduleAhead(number, by: lead)
            }
        }
    }

    /// Returns whether the refresh may be moved. A refresh that was already charged to a provider keeps its time. Reads
    /// the properties in place: a copy of an entry retains its question.
    private func isPlannedAhead(_ number: Int, _ kind: RecordType?) -> Bool {
        let type = entries[number].question.type
        return deadlines.contains(number) && (type.isAddress ? type : nil) == kind
            && entries[number].lifetimeSeconds > 0 && entries[number].dueAt < entries[number].expiresAt
            && !entries[number].countsDown && entries[number].usualSeconds == nil
            && charges[number] == nil && !entries[number].isPostponed
    }
}
