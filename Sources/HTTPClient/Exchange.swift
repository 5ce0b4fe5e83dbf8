// A request until its answer: one transfer, or two of which the first reply counts. Decides when the second is due;
// never starts one.

struct Exchange {
    /// sending -> exposed -> retried
    ///        `-> settled
    enum Stage {
        /// Not sent yet, or over which connection is not known.
        case sending
        /// Sent over a connection that had been there before, which may be half-dead.
        case exposed(since: ContinuousClock.Instant, isAcknowledged: Bool)
        /// Over a new connection, or answered in part, or sent elsewhere, or not to be watched.
        case settled
        /// Sent once more.
        case retried
    }

    let id: TransferID
    let request: TransferRequest
    let startedAt: ContinuousClock.Instant
    /// Which of the pool's sets in a row it was first sent with.
    let generation: Int
    /// Those that run.
    private(set) var transfers: [Transfer]
    private var stage: Stage
    /// Says more about the provider than how a half-dead connection ended.
    private var retryFailure: TransferFailure?

    init(
        _ transfer: Transfer, _ request: TransferRequest, startedAt: ContinuousClock.Instant, generation: Int
    ) {
        id = transfer.id
        self.request = request
        self.startedAt = startedAt
        self.generation = generation
        transfers = [transfer]
        stage = request.stallTimeout == nil ? .settled : .sending
    }

    /// When `stalls` has to be asked.
    var stallsAt: ContinuousClock.Instant? {
        guard let stallTimeout = request.stallTimeout else { return nil }
        let silenceTimeout = min(request.silenceTimeout ?? stallTimeout, stallTimeout)
        switch stage {
        // Another connection to the same place would not come about sooner.
        case .sending: return request.elsewhere.isEmpty ? nil : startedAt.advanced(by: silenceTimeout)
        case .exposed(let since, let isAcknowledged):
            return since.advanced(by: isAcknowledged ? stallTimeout : silenceTimeout)
        case .settled, .retried: return nil
        }
    }

    var isRetried: Bool {
        guard case .retried = stage else { return false }
        return true
    }

    /// To be called as often as something may have been sent.
    mutating func noteSending(now: ContinuousClock.Instant) {
        guard case .sending = stage, let transfer = transfers.first, transfer.isSent else { return }
        stage = transfer.isExposed ? .exposed(since: now, isAcknowledged: false) : .settled
    }

    enum Stall {
        case none
        /// The request is to be sent once more, over a new connection.
        case here
        /// The same, but to the next of `elsewhere`.
        case elsewhere
    }

    /// - Parameter isAcknowledged: whether the other machine has all that was sent over the transfer's connections.
    mutating func stalls(now: ContinuousClock.Instant, isAcknowledged: (Transfer) -> Bool) -> Stall {
        guard let stallsAt, stallsAt <= now, let transfer = transfers.first else { return .none }
        if case .exposed(let since, let isKnown) = stage {
            guard transfer.isExposed else {
                stage = .settled
                return .none
            }
            if !isKnown, isAcknowledged(transfer) {
                stage = .exposed(since: since, isAcknowledged: true)
                return stalls(now: now, isAcknowledged: isAcknowledged)
            }
        }
        guard !request.elsewhere.isEmpty else { return .here }
        stage = .settled
        return .elsewhere
    }

    /// What is to be sent once more, in the time that is left; nil if none is.
    func retryRequest(now: ContinuousClock.Instant) -> TransferRequest? {
        var request = request
        request.timeout -= startedAt.duration(to: now)
        return request.timeout > .zero ? request : nil
    }

    mutating func retried(with transfer: Transfer) {
        stage = .retried
        transfers.append(transfer)
    }

    mutating func couldNotRetry(_ failure: TransferFailure) {
        stage = .settled
        retryFailure = failure
    }

    enum Outcome {
        case wait, retry
        case finish(Result<TransferReply, TransferFailure>)
    }

    mutating func ended(_ transfer: Transfer, _ result: Result<TransferReply, TransferFailure>) -> Outcome {
        transfers.removeAll { $0 === transfer }
        switch result {
        case .success(var reply):
            reply.wasRetried = isRetried
            return .finish(.success(reply))
        case .failure(let failure):
            if transfer.isRetry { retryFailure = failure }
            if !transfers.isEmpty { return .wait }
            if failure == .reset, transfer.isExposed, !isRetried { return .retry }
            return .finish(.failure(retryFailure ?? failure))
        }
    }
}
