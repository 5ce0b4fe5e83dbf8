// A request until its reply: one transfer, or two of which the first reply wins. Decides when the second is due;
// never starts one.

import DNSWire

final class Exchange {
    /// dialling -> connecting -> sent -> acknowledged -> slow -> stuck -> retried
    ///                       `-> unmonitored
    enum Stage {
        /// The request is not sent yet.
        case dialling
        /// The stage after `dialling`: the peer's kernel has acknowledged the connection.
        case connecting
        /// The request was sent over a reused connection, which may be half-open.
        case sent(since: Instant)
        /// The peer's kernel has acknowledged the request.
        case acknowledged(since: Instant)
        /// The stage after `acknowledged`: half of the stall timeout has passed.
        case slow(since: Instant)
        /// No reply in time; the connection may still work.
        case stuck
        /// Stalls are not detected: the request is on a new connection, partly answered, sent to another
        /// endpoint, or has no stall timeout.
        case unmonitored
        /// The request was sent a second time.
        case retried
    }

    let id: TransferID
    let request: TransferRequest
    let startedAt: Instant
    /// The pool's generation at the first attempt.
    let generation: Int
    /// The running transfers: none, one, or two. Two properties, since most requests have one transfer.
    private(set) var first: Transfer?
    private(set) var second: Transfer?
    /// A transfer that has ended was sent.
    private var wasSent = false
    /// The peer's kernel acknowledged no data in time. It may do so later.
    private var isUnheard = false
    private var stage: Stage
    /// Usual time until the peer's kernel acknowledges a new connection; nil: unknown.
    private let dialTimeout: Duration?
    /// When the stage became `slow`, and a PING was sent.
    private var slowAt: Instant?
    /// When `hasDeadPath` must be called.
    private(set) var deadPathAt: Instant?
    /// When `isUnacknowledged` must be called; set by the retry, which has half of the time at least.
    private(set) var unacknowledgedAt: Instant?
    /// The failure of the retry; it describes the provider better than the end of a half-open connection.
    private var retryFailure: TransferFailure?

    init(
        _ transfer: Transfer, _ request: TransferRequest, startedAt: Instant, generation: Int,
        dialTimeout: Duration?
    ) {
        id = transfer.id
        self.request = request
        self.startedAt = startedAt
        self.generation = generation
        first = transfer
        self.dialTimeout = dialTimeout
        deadPathAt = request.deadPathTimeout.map { startedAt.advanced(by: $0) }
        stage = request.stallTimeout == nil ? .unmonitored : .dialling
    }

    var isRunning: Bool { first != nil }

    /// Returns whether a running transfer meets the condition.
    func hasTransfer(where isMeant: (Transfer) -> Bool) -> Bool {
        first.map(isMeant) ?? false || second.map(isMeant) ?? false
    }

    private func remove(_ transfer: Transfer) {
        if first === transfer { first = second }
        if first === second || second === transfer { second = nil }
    }

    /// When `stalls`, `isUnacknowledged` or `hasDeadPath` must be called.
    var dueAt: Instant? { Instant.earliest(stallsAt, Instant.earliest(unacknowledgedAt, deadPathAt)) }

    /// When `stalls` must be called.
    var stallsAt: Instant? {
        guard let stallTimeout = request.stallTimeout else { return nil }
        let silenceTimeout = min(request.silenceTimeout ?? stallTimeout, stallTimeout)
        switch stage {
        // A second connection to the same endpoint would not be established sooner.
        case .dialling where request.elsewhere.isEmpty, .connecting where request.elsewhere.isEmpty: return nil
        case .dialling: return startedAt.advanced(by: min(dialTimeout ?? silenceTimeout, silenceTimeout))
        case .connecting: return startedAt.advanced(by: silenceTimeout)
        case .sent(let since):
            let usual = first?.sentAt?.usualAcknowledgement ?? silenceTimeout
            return since.advanced(by: min(usual, silenceTimeout))
        case .acknowledged(let since): return since.advanced(by: stallTimeout / 2)
        case .slow(let since): return since.advanced(by: stallTimeout)
        case .stuck, .unmonitored, .retried: return nil
        }
    }

    var isRetried: Bool {
        guard case .retried = stage else { return false }
        return true
    }

    /// The transfer without a reply in time although the peer's kernel has the request.
    var stuckTransfer: Transfer? {
        guard case .stuck = stage, let transfer = first, transfer.isExposed else { return nil }
        return transfer
    }

    /// - Parameter isAcknowledged: returns true if the peer's kernel has acknowledged the transfer's data.
    /// - Returns: whether the server may have read the request.
    func mayHaveArrived(isAcknowledged: (Transfer) -> Bool) -> Bool {
        wasSent || hasTransfer { $0.wasSentBefore || $0.isSent && (!isUnheard || isAcknowledged($0)) }
    }

    /// True until `noteSending` has noted all sent data.
    var awaitsSending: Bool {
        switch stage {
        case .dialling, .connecting: true
        case .sent, .acknowledged, .slow, .stuck, .unmonitored, .retried: hasTransfer { !$0.isWhollySent }
        }
    }

    /// Updates the stage; called whenever a part of the request may have been sent.
    func noteSending(now: Instant) {
        guard let transfer = first, transfer.isSent else { return }
        switch stage {
        case .dialling, .connecting: stage = transfer.isExposed ? .sent(since: now) : .unmonitored
        case .sent, .acknowledged, .slow, .stuck, .unmonitored, .retried: break
        }
    }

    enum Stall {
        case none
        /// Repeat the request over a new connection because of this failure.
        case silent(TransferFailure)
        /// Send a PING.
        case slow(Transfer)
        /// The request is `stuckTransfer` now.
        case stuck
    }

    /// - Parameter isAcknowledged: returns true if the peer's kernel has acknowledged the transfer's data.
    func stalls(now: Instant, isAcknowledged: (Transfer) -> Bool) -> Stall {
        guard let stallsAt, stallsAt <= now, let transfer = first else { return .none }
        switch stage {
        case .dialling:
            guard isAcknowledged(transfer) else { return .silent(.unacknowledged) }
            stage = .connecting
            return stalls(now: now, isAcknowledged: isAcknowledged)
        case .connecting: return .silent(isAcknowledged(transfer) ? .timeout : .unacknowledged)
        case .sent(let since):
            stage = transfer.isExposed ? .acknowledged(since: since) : .unmonitored
            guard transfer.isExposed, !isAcknowledged(transfer) else {
                return stalls(now: now, isAcknowledged: isAcknowledged)
            }
            return .silent(.unacknowledged)
        case .acknowledged(let since):
            stage = transfer.isExposed ? .slow(since: since) : .unmonitored
            slowAt = now
            return transfer.isExposed ? .slow(transfer) : .none
        case .slow:
            stage = transfer.isExposed ? .stuck : .unmonitored
            return transfer.isExposed ? .stuck : .none
        case .stuck, .unmonitored, .retried: return .none
        }
    }

    /// True if the acknowledgement of a PING, which was sent when the request became slow, is overdue. The
    /// acknowledgement has a usual round trip, and half of the time as `slow`.
    func isPongDue(now: Instant) -> Bool {
        guard let slowAt, let transfer = stuckTransfer, transfer.isOverHTTP2 else { return false }
        let wait = max((request.stallTimeout ?? .zero) / 4, transfer.sentAt?.usualAcknowledgement ?? .zero)
        return slowAt + wait <= now
    }

    /// Records that the request continues at the next of `elsewhere`.
    func leave(_ failure: TransferFailure) {
        stage = .unmonitored
        isUnheard = failure == .unacknowledged
    }

    /// - Returns: true if the peer's kernel has acknowledged no running transfer. Returns true at most once.
    func hasDeadPath(now: Instant, isAcknowledged: (Transfer) -> Bool) -> Bool {
        guard let at = deadPathAt, at <= now else { return false }
        deadPathAt = nil
        isUnheard = isRunning && !hasTransfer(where: isAcknowledged)
        return isUnheard
    }

    /// - Returns: true if the request was sent over two connections and the peer's kernel has acknowledged neither. One
    ///   lost packet cannot cause this. Returns true at most once.
    func isUnacknowledged(now: Instant, isAcknowledged: (Transfer) -> Bool) -> Bool {
        guard let at = unacknowledgedAt, at <= now else { return false }
        unacknowledgedAt = nil
        return isRunning && !hasTransfer(where: isAcknowledged)
    }

    /// Returns the request with the remaining time; nil if no time is left.
    func retryRequest(now: Instant) -> TransferRequest? {
        let timeLeft = request.timeout - startedAt.duration(to: now)
        return timeLeft > .zero ? request.within(timeLeft) : nil
    }

    func retried(with transfer: Transfer, now: Instant) {
        stage = .retried
        unacknowledgedAt = request.unacknowledgedAfter.map {
            max(startedAt.advanced(by: $0), now.advanced(by: $0 / 2))
        }
        if first == nil { first = transfer } else { second = transfer }
    }

    func couldNotRetry(_ failure: TransferFailure) {
        stage = .unmonitored
        retryFailure = failure
    }

    enum Outcome {
        case wait, retry
        case finish(Result<TransferReply, TransferFailure>)
    }

    func ended(_ transfer: Transfer, _ result: Result<TransferReply, TransferFailure>) -> Outcome {
        remove(transfer)
        wasSent = wasSent || transfer.isSent || transfer.wasSentBefore
        switch result {
        case .success(let reply):
            // HTTP/2 allows a reply to a part of the request.
            wasSent = true
            reply.wasRetried = isRetried
            return .finish(result)
        case .failure(let failure):
            if transfer.isRetry { retryFailure = failure }
            // The kernel repeats a SYN after 1 s and 3 s; the path may recover meanwhile.
            if failure == .unacknowledged, deadPathAt != nil, request.elsewhere.isEmpty { return .retry }
            if isRunning { return .wait }
            if failure == .reset, transfer.isExposed, !isRetried { return .retry }
            return .finish(.failure(retryFailure ?? failure))
        }
    }
}
