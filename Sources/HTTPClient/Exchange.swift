// A request until its answer: one transfer, or two of which the first reply counts. Decides when the second is due;
// never starts one.

struct Exchange {
    /// sending -> exposed -> retried
    ///        `-> settled
    enum Stage {
        /// Not sent yet, or over which connection is not known.
        case sending
        /// Sent over a connection that had been there before, which may be half-dead.
        case exposed(stallsAt: ContinuousClock.Instant)
        /// Over a new connection, or answered in part, or not to be watched.
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

    var stallsAt: ContinuousClock.Instant? {
        guard case .exposed(let at) = stage else { return nil }
        return at
    }

    var isRetried: Bool {
        guard case .retried = stage else { return false }
        return true
    }

    /// To be called as often as something may have been sent.
    mutating func noteSending(now: ContinuousClock.Instant) {
        guard case .sending = stage, let stallTimeout = request.stallTimeout, let transfer = transfers.first,
            transfer.isSent
        else { return }
        stage = transfer.isExposed ? .exposed(stallsAt: now.advanced(by: stallTimeout)) : .settled
    }

    /// True if the request is to be sent once more.
    mutating func stalls(now: ContinuousClock.Instant) -> Bool {
        guard let stallsAt, stallsAt <= now else { return false }
        if transfers.first?.isExposed == true { return true }
        stage = .settled
        return false
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
