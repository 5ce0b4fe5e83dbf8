// A request to a provider: its fetches and questions, and what is known of it since it was sent.

import DNSWire
import HTTPClient
import HTTPDNS
import Resolver

/// A request for one or more fetches. A class, so that no event copies it.
final class PendingRequest {
    let provider: ProviderID
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
    /// The flight; nil while the request waits for a place.
    var flight: RequestFlight?
    /// The resolver knows that the request waits.
    var isAwaited = false
    /// Connections that the server refused or closed during this request while others carried requests.
    private var closedConnections = 0
    private static let maxClosedConnections = 6
    /// Start of the request's time-out: when it was asked for, or got a place after a wait.
    var countsFrom: Instant

    init(
        _ fetches: [FetchBatches.Fetch], asking questions: [Question], of provider: ProviderID,
        after earlier: EarlierReplies
    ) {
        self.provider = provider
        self.fetches = fetches
        activeCount = fetches.count
        self.questions = questions
        self.earlier = earlier
        countsFrom = fetches[0].startedAt
        isShared = fetches.dropFirst().contains { $0.holder.parent != fetches[0].holder.parent }
    }

    /// Counts a connection that was refused or closed during this request.
    ///
    /// - Returns: whether the request may wait for another place. Beyond the limit the request itself is taken for the
    ///   cause.
    func countClosedConnection() -> Bool {
        closedConnections += 1
        return closedConnections <= PendingRequest.maxClosedConnections
    }
}

/// The facts learned from replies to earlier requests for the same questions.
struct EarlierReplies {
    /// The request is dated by the provider's clock as a reply showed it.
    var isRedated = false
    /// Endpoints whose replies were of no use.
    var failedEndpoints: [HTTPEndpoint] = []
}

/// An endpoint, and how it is dialled.
struct RequestWay {
    let endpoint: HTTPEndpoint
    let dialled: HTTPEndpoint
}

/// The state of a request since it was sent. A class, so that no step copies it.
final class RequestFlight {
    let transfer: TransferID
    /// Kept here because new settings may remove the provider while its answer is in flight.
    let dialect: any Dialect
    /// The provider's name if its questions are billed.
    let account: String?
    /// The clock that dated the request; another reply may have corrected the provider's clock meanwhile.
    let clock: ServerClock
    let startedAt: Instant
    /// How the request was sent first.
    let first: RequestWay
    let others: [RequestWay]

    init(
        _ transfer: TransferID, _ dialect: any Dialect, account: String?, clock: ServerClock, startedAt: Instant,
        first: RequestWay, others: [RequestWay]
    ) {
        (self.transfer, self.dialect, self.account, self.clock) = (transfer, dialect, account, clock)
        (self.startedAt, self.first, self.others) = (startedAt, first, others)
    }

    /// The endpoint as configured, however it was dialled.
    func endpoint(dialledAs dialled: HTTPEndpoint) -> HTTPEndpoint {
        if first.dialled == dialled { return first.endpoint }
        return others.first { $0.dialled == dialled }?.endpoint ?? dialled
    }
}
