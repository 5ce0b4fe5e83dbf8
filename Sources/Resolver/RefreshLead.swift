// How long before the end of an answer its refresh begins: as long as the upstreams need, also if they become slower
// after the refresh was planned.

import DNSWire

extension RefreshPlan {
    /// A small part of a long life, so that there is time for another try; at most half of a short one.
    func lead(_ number: Int, _ patience: Duration) -> Duration {
        let life = Duration.seconds(Int64(entries[number].lifetimeSeconds))
        return min(max(patience, Bounds.refreshLeadFloor, life / 200), life / 2)
    }

    /// Answers that end together are refreshed one after the other.
    mutating func scheduleAhead(_ number: Int, by lead: Duration) {
        schedule(number, at: entries[number].expiresAt - lead + chance.duration(upTo: lead / 4))
    }

    /// Looks at every entry when the need has grown by half, and at none otherwise: the measured latency changes a
    /// little with each answer.
    ///
    /// - Parameter patience: how long upstreams need to answer a question of this type.
    mutating func upstreamsNeed(_ patience: Duration, for type: RecordType) {
        let kind = type.isAddress ? type : nil
        let planned = plannedPatience[kind] ?? Bounds.refreshLeadFloor
        guard patience > planned * 3 / 2 else {
            if patience < planned / 2 { plannedPatience[kind] = max(patience, Bounds.refreshLeadFloor) }
            return
        }
        plannedPatience[kind] = patience
        for number in entries.indices where isPlannedAhead(number, kind) {
            let lead = lead(number, patience)
            if entries[number].dueAt > entries[number].expiresAt - lead * 3 / 4 {
                scheduleAhead(number, by: lead)
            }
        }
    }

    /// A refresh whose provider has been charged keeps its time.
    private func isPlannedAhead(_ number: Int, _ kind: RecordType?) -> Bool {
        let entry = entries[number]
        return deadlines.contains(number) && (entry.question.type.isAddress ? entry.question.type : nil) == kind
            && entry.lifetimeSeconds > 0 && entry.dueAt < entry.expiresAt && !entry.waitsForTurnover
            && entry.payment == nil && !entry.isPostponed
    }
}
