// Retry plan of a request with several endpoints: the endpoints left and the number of running attempts. Starts no
// request itself.

import DNSWire

struct RetryPlan {
    private let startedAt: Instant
    private let request: TransferRequest
    /// The endpoints that were not tried yet.
    private var elsewhere: ArraySlice<HTTPEndpoint>
    private(set) var runningCount = 1
    /// Endpoints whose attempts have ended, and whose servers may have read the request.
    private(set) var reached: [HTTPEndpoint] = []

    init(_ request: TransferRequest, startedAt: Instant) {
        self.request = request
        elsewhere = request.elsewhere[...]
        self.startedAt = startedAt
    }

    /// Returns the request for the next endpoint with the remaining time; nil if no endpoint or time is left.
    mutating func next(after failure: TransferFailure, now: Instant) -> TransferRequest? {
        let elapsed = startedAt.duration(to: now)
        let pathLeft = request.deadPathTimeout.map { $0 - elapsed }
        guard request.timeout > elapsed, let endpoint = elsewhere.first else { return nil }
        // The deadline applies to all endpoints, so the other attempts end now as well.
        if failure == .unacknowledged, let pathLeft, pathLeft <= .zero { return nil }
        elsewhere.removeFirst()
        runningCount += 1
        return request.moved(
            to: endpoint, elsewhere: Array(elsewhere), timeout: request.timeout - elapsed,
            deadPathTimeout: pathLeft.flatMap { $0 > .zero ? $0 : nil })
    }

    mutating func ended(at endpoint: HTTPEndpoint, mayHaveArrived: Bool) {
        runningCount -= 1
        if mayHaveArrived { reached.append(endpoint) }
    }
}
