// A request until its answer: one transfer, or two of which the first reply counts. Decides when the second is due;
// never starts one.

struct Exchange {
    /// dialling -> connecting -> sent -> acknowledged -> stuck -> retried
    ///                       `-> settled
    enum Stage {
        /// Not sent yet, or over which connection is not known.
        case dialling
        /// The same, but the peer's kernel is there.
        case connecting
        /// Over a connection that had been there before, which may be half-dead.
        case sent(since: ContinuousClock.Instant)
        /// The peer's kernel has it.
        case acknowledged(since: ContinuousClock.Instant)
        /// There is no reply, but the connection may be in order.
        case stuck
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
    /// What usually passes until the peer's kernel acknowledges a dialled connection; nil when that is not known.
    private let dialTimeout: Duration?
    /// When `hasDeadPath` has to be asked.
    private(set) var deadPathAt: ContinuousClock.Instant?
    /// Says more about the provider than how a half-dead connection ended.
    private var retryFailure: TransferFailure?

    init(
        _ transfer: Transfer, _ request: TransferRequest, startedAt: ContinuousClock.Instant, generation: Int,
        dialTimeout: Duration?
    ) {
        id = transfer.id
        self.request = request
        self.startedAt = startedAt
        self.generation = generation
        transfers = [transfer]
        self.dialTimeout = dialTimeout
        deadPathAt = request.deadPathTimeout.map { startedAt.advanced(by: $0) }
        stage = request.stallTimeout == nil ? .settled : .dialling
    }

    /// When `stalls` has to be asked.
    var stallsAt: ContinuousClock.Instant? {
        guard let stallTimeout = request.stallTimeout else { return nil }
        let silenceTimeout = min(request.silenceTimeout ?? stallTimeout, stallTimeout)
        switch stage {
        // Another connection to the same place would not come about sooner.
        case .dialling where request.elsewhere.isEmpty, .connecting where request.elsewhere.isEmpty: return nil
        case .dialling: return startedAt.advanced(by: min(dialTimeout ?? silenceTimeout, silenceTimeout))
        case .connecting: return startedAt.advanced(by: silenceTimeout)
        case .sent(let since):
            let usual = transfers.first?.sentAt?.usualAcknowledgement ?? silenceTimeout
            return since.advanced(by: min(usual, silenceTimeout))
        case .acknowledged(let since): return since.advanced(by: stallTimeout)
        case .stuck, .settled, .retried: return nil
        }
    }

    var isRetried: Bool {
        guard case .retried = stage else { return false }
        return true
    }

    /// The transfer whose reply is late although the peer's kernel has the request.
    var stuckTransfer: Transfer? {
        guard case .stuck = stage, let transfer = transfers.first, transfer.isExposed else { return nil }
        return transfer
    }

    /// To be called as often as something may have been sent.
    mutating func noteSending(now: ContinuousClock.Instant) {
        guard let transfer = transfers.first, transfer.isSent else { return }
        switch stage {
        case .dialling, .connecting: stage = transfer.isExposed ? .sent(since: now) : .settled
        case .sent, .acknowledged, .stuck, .settled, .retried: break
        }
    }

    enum Stall: Equatable {
        case none
        /// The request is to be sent once more, over a new connection, because of this failure.
        case silent(TransferFailure)
        /// `stuckTransfer` is set.
        case stuck
    }

    /// - Parameter isAcknowledged: whether the peer's kernel has what the transfer has sent.
    mutating func stalls(now: ContinuousClock.Instant, isAcknowledged: (Transfer) -> Bool) -> Stall {
        guard let stallsAt, stallsAt <= now, let transfer = transfers.first else { return .none }
        switch stage {
        case .dialling:
            guard isAcknowledged(transfer) else { return .silent(.unacknowledged) }
            stage = .connecting
            return stalls(now: now, isAcknowledged: isAcknowledged)
        case .connecting: return .silent(isAcknowledged(transfer) ? .timeout : .unacknowledged)
        case .sent(let since):
            stage = transfer.isExposed ? .acknowledged(since: since) : .settled
            guard transfer.isExposed, !isAcknowledged(transfer) else {
                return stalls(now: now, isAcknowledged: isAcknowledged)
            }
            return .silent(.unacknowledged)
        case .acknowledged:
            stage = transfer.isExposed ? .stuck : .settled
            return transfer.isExposed ? .stuck : .none
        case .stuck, .settled, .retried: return .none
        }
    }

    /// The request goes on at the next of `elsewhere`.
    mutating func leave() { stage = .settled }

    /// - Returns: whether no path leads to the peer, by what its kernel has acknowledged. Asked once.
    mutating func hasDeadPath(now: ContinuousClock.Instant, isAcknowledged: (Transfer) -> Bool) -> Bool {
        guard let at = deadPathAt, at <= now else { return false }
        deadPathAt = nil
        return !transfers.isEmpty && !transfers.contains(where: isAcknowledged)
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
            // The kernel repeats a SYN after 1 s and then 3 s: meanwhile the path may be back.
            if failure == .unacknowledged, deadPathAt != nil, request.elsewhere.isEmpty { return .retry }
            if !transfers.isEmpty { return .wait }
            if failure == .reset, transfer.isExposed, !isRetried { return .retry }
            return .finish(.failure(retryFailure ?? failure))
        }
    }
}
