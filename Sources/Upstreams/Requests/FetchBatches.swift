// Collects fetches that can share a request for a moment: fetches to one provider for one type, or for both address
// types if the provider supports that. A value without clock or timers; its owner asks when a batch is due.
//
// Invariants: `open` stands in the order of opening, so that the first batch is due first; no batch in it is empty or
// full, and a question that fits into one of them never opens another.

import DNSWire
import Resolver

struct FetchBatches {
    struct Fetch: Equatable, Sendable {
        let id: FetchID
        let question: Question
        /// When the resolver requested it; its timeout counts from here.
        let startedAt: Instant
        /// The holder that the request's place counts for.
        let holder: ShareHolder
        /// Names of the question's parent hang, so the fetch shares no request with others, which would have to wait
        /// too.
        let isAlone: Bool
        let cause: RequestCause
        /// Fetches with different parameters share no request; a number for each set of parameters of the provider.
        let parameters: Int

        init(
            _ id: FetchID, _ question: Question, startedAt: Instant, holder: ShareHolder? = nil, isAlone: Bool = false,
            cause: RequestCause = .client, parameters: Int = 0
        ) {
            self.id = id
            self.question = question
            self.startedAt = startedAt
            self.holder = holder ?? ShareHolder(question.name, nil)
            self.isAlone = isAlone
            self.cause = cause
            self.parameters = parameters
        }
    }

    /// The content of one request: one or more fetches in insertion order.
    struct Batch: Equatable, Sendable {
        let provider: ProviderID
        fileprivate(set) var fetches: [Fetch]
        fileprivate let capacity: Capacity
        fileprivate let leavesAt: Instant

        /// The questions of the request: for one type, those of the fetches; for both address types, both types for
        /// every name, since a request lists its types once for all names. Both are asked only if clients asked for
        /// both: otherwise the vendor's bill would double for machines without IPv6.
        var questions: [Question] {
            guard fetches.count > 1 else { return [fetches[0].question] }
            let asked = fetches.map(\.question)
            guard Set(asked.map(\.type)).count > 1 else { return asked }
            return names.flatMap { name in
                [RecordType.a, .aaaa].map { Question(name, $0, from: asked[0].clients) }
            }
        }

        /// Unique names in insertion order.
        fileprivate var names: [Name] {
            var seen: Set<Name> = []
            return fetches.map(\.question.name).filter { seen.insert($0).inserted }
        }

        /// No further fetch can join.
        fileprivate var isFull: Bool {
            guard capacity.bothFamilies, fetches[0].question.type.isAddress else {
                return fetches.count >= capacity.names
            }
            return fetches.count >= 2 * capacity.names
        }

        fileprivate func fits(_ fetch: Fetch) -> Bool {
            let question = fetch.question
            guard fetches[0].isAlone == fetch.isAlone,
                !fetch.isAlone || fetches[0].holder.parent == fetch.holder.parent
            else { return false }
            let isOfType =
                capacity.bothFamilies && question.type.isAddress
                ? fetches[0].question.type.isAddress : fetches[0].question.type == question.type
            guard isOfType, fetches[0].question.clients == question.clients, fetches[0].parameters == fetch.parameters
            else { return false }
            return names.count < capacity.names || names.contains(question.name)
        }
    }

    /// Capacity of one request to a provider.
    struct Capacity: Equatable, Sendable {
        /// The maximum number of names, 1 or more.
        let names: Int
        var bothFamilies = false

        fileprivate func isSingle(_ type: RecordType) -> Bool { names == 1 && !(bothFamilies && type.isAddress) }
    }

    private var open: [Batch] = []

    /// Open batches: 32 providers times two address families. Beyond this, the oldest batch is sent early.
    static let maxOpen = 64

    /// When `popDue` has a batch; nil if none is open.
    var nextDeadline: Instant? { open.first?.leavesAt }

    /// Adds a fetch. A fetch that no other can join never waits.
    ///
    /// - Returns: the batch to send at once: one filled by this fetch, or the oldest if there are too many.
    mutating func add(_ fetch: Fetch, to provider: ProviderID, _ capacity: Capacity, now: Instant) -> Batch? {
        if let index = open.firstIndex(where: { $0.provider == provider && $0.fits(fetch) }) {
            open[index].fetches.append(fetch)
            return open[index].isFull ? open.remove(at: index) : nil
        }
        let batch = Batch(
            provider: provider, fetches: [fetch], capacity: capacity, leavesAt: now + Bounds.gatherWithin)
        guard !capacity.isSingle(fetch.question.type) else { return batch }
        open.append(batch)
        return open.count > FetchBatches.maxOpen ? open.removeFirst() : nil
    }

    /// Takes out one batch that has waited long enough, the oldest first.
    mutating func popDue(now: Instant) -> Batch? {
        guard let first = open.first, first.leavesAt <= now else { return nil }
        return open.removeFirst()
    }

    /// Removes an abandoned fetch. An unknown or already sent fetch is ignored.
    mutating func remove(_ id: FetchID) {
        for index in open.indices {
            guard let position = open[index].fetches.firstIndex(where: { $0.id == id }) else { continue }
            open[index].fetches.remove(at: position)
            if open[index].fetches.isEmpty { open.remove(at: index) }
            return
        }
    }
}
