// A request that has more than one place to go: where it can still be sent, and in how many it runs. Never starts
// anything.

struct Detour {
    private let startedAt: ContinuousClock.Instant
    /// As it was asked for, less the places where it was sent.
    private var request: TransferRequest
    private(set) var runningCount = 1

    init(_ request: TransferRequest, startedAt: ContinuousClock.Instant) {
        self.request = request
        self.startedAt = startedAt
    }

    /// The request for the next place, in the time that is left; nil when there is none.
    mutating func next(now: ContinuousClock.Instant) -> TransferRequest? {
        let left = request.timeout - startedAt.duration(to: now)
        guard !request.elsewhere.isEmpty, left > .zero else { return nil }
        request.endpoint = request.elsewhere.removeFirst()
        runningCount += 1
        var next = request
        next.timeout = left
        return next
    }

    mutating func ended() { runningCount -= 1 }
}
