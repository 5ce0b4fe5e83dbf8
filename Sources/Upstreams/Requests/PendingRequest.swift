// A request to a provider: its fetches and questions, its place, and what is known of it since it was sent.

import DNSWire
import HTTPClient
import HTTPDNS
import Resolver

/// A request for one or more fetches. A class, so that no event copies it.
final class PendingRequest: RequestQueue.Request {
    let number: RequestQueue.ID
    let provider: Provider
    /// The fetches, including those that were abandoned in flight. `requestOfFetch` has only the others.
    var fetches: [FetchBatches.Fetch]
    /// Number of fetches that were not abandoned.
    var activeCount: Int
    /// Questions as sent: those of the fetches and possibly more.
    let questions: [Question]
    let earlier: EarlierReplies
    /// Scopes flushed since the request was sent: answers in its reply to questions that no fetch has are dropped.
    var flushed: [QuestionScope] = []
    /// Whether the request has fetches for names of several parents.
    let isShared: Bool
    /// The resolver knows that the request waits.
    var isAwaited = false
    /// Connections that the server refused or closed during this request while others carried requests.
    private var closedConnections = 0
    private static let maxClosedConnections = 6
    /// Start of the request's time-out: when it was asked for, or got a place after a wait.
    var countsFrom: Instant

    /// The transfer that carries the request; nil while it waits for a place. The values below are those of the last
    /// transfer.
    private(set) var transfer: TransferID?
    /// The provider's name if its questions are billed.
    private(set) var account: String?
    /// The clock that dated the request; another reply may have corrected the provider's clock meanwhile.
    private(set) var clock = ServerClock()
    private(set) var sentAt: Instant
    /// How the request was sent first.
    private(set) var first: RequestWay?
    private var others: [RequestWay] = []

    init(
        _ number: RequestQueue.ID, _ fetches: [FetchBatches.Fetch], asking questions: [Question],
        of provider: Provider, after earlier: EarlierReplies
    ) {
        (self.number, self.provider, self.fetches, self.questions) = (number, provider, fetches, questions)
        self.earlier = earlier
        activeCount = fetches.count
        (countsFrom, sentAt) = (fetches[0].startedAt, fetches[0].startedAt)
        let holder = fetches[0].holder
        let others = fetches.count > 1 ? fetches.dropFirst().map(\.holder) : []
        isShared = others.contains { $0.parent != holder.parent }
        super.init(holder, others)
    }

    /// Counts a connection that was refused or closed during this request.
    ///
    /// - Returns: whether the request may wait for another place. Beyond the limit the request itself is taken for the
    ///   cause.
    func countClosedConnection() -> Bool {
        closedConnections += 1
        return closedConnections <= PendingRequest.maxClosedConnections
    }

    /// Records that the request was sent.
    func sent(_ transfer: TransferID, first: RequestWay, others: [RequestWay], now: Instant) {
        (self.transfer, self.first, self.others, sentAt) = (transfer, first, others, now)
        (account, clock) = (provider.billedName, provider.clock)
    }

    /// Records that no transfer carries the request any more.
    func ground() { transfer = nil }

    /// The endpoint as configured, however it was dialled.
    func endpoint(dialledAs dialled: HTTPEndpoint) -> HTTPEndpoint {
        if let first, first.dialled == dialled { return first.endpoint }
        return others.first { $0.dialled == dialled }?.endpoint ?? dialled
    }
}

/// The facts learned from replies to earlier requests for the same questions.
struct EarlierReplies {
    /// The request is dated by the provider's clock as a reply showed it.
    var isRedated = false
    /// Endpoints whose replies were of no use.
    var failedEndpoints: [HTTPEndpoint] = []
}
