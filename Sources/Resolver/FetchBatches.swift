// Fetches that may share a request wait for each other for a moment: what goes to one provider for one type becomes a
// batch. A value without clock or timers; its owner asks when a batch is due.
//
// Invariants: `open` stands in the order of opening, so that the first is due first; no batch in it is empty or full,
// and no two have the same provider and type.

package import DNSWire

package struct FetchBatches {
    package struct Fetch: Equatable, Sendable {
        package let id: FetchID
        package let question: Question
        /// When the resolver wanted it; its time runs from here.
        package let startedAt: Instant

        package init(_ id: FetchID, _ question: Question, startedAt: Instant) {
            self.id = id
            self.question = question
            self.startedAt = startedAt
        }
    }

    /// What one request is to ask: one fetch or more, of one type, in the order in which they were added.
    package struct Batch: Equatable, Sendable {
        package let provider: ProviderID
        package fileprivate(set) var fetches: [Fetch]
        fileprivate let type: RecordType
        fileprivate let leavesAt: Instant
    }

    private var open: [Batch] = []

    package init() {}

    /// When `popDue` has a batch; nil when nothing waits.
    package var nextDeadline: Instant? { open.first?.leavesAt }

    /// - Parameter maxQuestions: what one request to this provider can carry; 1 is never kept waiting.
    /// - Returns: the batch that leaves at once: one that this fetch has filled, or the oldest if there are too many.
    package mutating func add(
        _ fetch: Fetch, to provider: ProviderID, maxQuestions: Int, now: Instant
    ) -> Batch? {
        let type = fetch.question.type
        if let index = open.firstIndex(where: { $0.provider == provider && $0.type == type }) {
            open[index].fetches.append(fetch)
            return open[index].fetches.count < maxQuestions ? nil : open.remove(at: index)
        }
        let batch = Batch(provider: provider, fetches: [fetch], type: type, leavesAt: now + Bounds.gatherWithin)
        guard maxQuestions > 1 else { return batch }
        open.append(batch)
        return open.count > Bounds.maxOpenBatches ? open.removeFirst() : nil
    }

    /// Takes out one batch that has waited long enough, the oldest first.
    package mutating func popDue(now: Instant) -> Batch? {
        guard let first = open.first, first.leavesAt <= now else { return nil }
        return open.removeFirst()
    }

    /// The fetch is not wanted any more; one that has left already, or never was here, is ignored.
    package mutating func remove(_ id: FetchID) {
        for index in open.indices {
            guard let position = open[index].fetches.firstIndex(where: { $0.id == id }) else { continue }
            open[index].fetches.remove(at: position)
            if open[index].fetches.isEmpty { open.remove(at: index) }
            return
        }
    }
}
