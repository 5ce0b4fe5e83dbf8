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
    mutating func next(after failure: TransferFailure, now: ContinuousClock.Instant) -> TransferRequest? {
        let elapsed = startedAt.duration(to: now)
        let pathLeft = request.deadPathTimeout.map { $0 - elapsed }
        guard !request.elsewhere.isEmpty, request.timeout > elapsed else { return nil }
        // The place has ended, and the others end now, too.
        if failure == .unacknowledged, let pathLeft, pathLeft <= .zero { return nil }
        request.endpoint = request.elsewhere.removeFirst()
        runningCount += 1
        var next = request
        next.timeout -= elapsed
        next.deadPathTimeout = pathLeft.flatMap { $0 > .zero ? $0 : nil }
        return next
    }

    mutating func ended() { runningCount -= 1 }
}
