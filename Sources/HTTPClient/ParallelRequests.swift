// How many requests to one endpoint run in parallel: few at first, more while questions wait and the server answers,
// fewer when it refuses connections.

import DNSWire

struct ParallelRequests {
    /// Whether the server speaks HTTP/1.1; nil until a reply shows the protocol.
    private var isHTTP1: Bool?
    private let isOverTLS: Bool
    private var count: Int
    /// The connections that the server kept when it last refused one, and when that was.
    private var refusal: (kept: Int, at: Instant)?
    /// Requests whose connections the server closed without a reply while two requests might run, since a new
    /// connection got its first reply.
    private var closedRequests: Set<Int> = []

    /// Creates the state, assuming HTTP/2 for TLS.
    init(isOverTLS: Bool) {
        self.isOverTLS = isOverTLS
        count = ParallelRequests.first(isHTTP1: !isOverTLS)
    }

    var speaksHTTP1: Bool { isHTTP1 ?? !isOverTLS }

    /// The number of requests now, and the maximum.
    var range: (now: Int, most: Int) { (count, most) }

    private var most: Int {
        min(speaksHTTP1 ? ParallelRequests.maxConnections : ParallelRequests.mostStreams, refusal?.kept ?? .max)
    }

    /// Returns the first number of requests. Over HTTP/2, these are streams of one connection.
    private static func first(isHTTP1: Bool) -> Int {
        isHTTP1 ? firstConnections : maxStreams
    }

    /// Number of connections at first. Browsers use 6 connections for HTTP/1.1.
    private static let firstConnections = 8
    /// Maximum number of connections. Most servers accept more from one client.
    static let maxConnections = 32
    /// The smallest stream limit that RFC 9113 section 6.5.2 recommends to servers.
    static let maxStreams = 100
    /// A server that refused connections may accept more after this time.
    private static let refusalMemory: Duration = .seconds(10)
    /// Maximum number of requests that are closed because of one name.
    private static let maxRequestsOfName = 3
    /// Maximum number of streams, those of four connections.
    private static let mostStreams = 4 * maxStreams

    mutating func speaks(http1: Bool) {
        guard isHTTP1 != http1 else { return }
        isHTTP1 = http1
        count = min(ParallelRequests.first(isHTTP1: http1), most)
    }

    /// Allows one more request: with one more for each answer, the number doubles in the time of an answer.
    mutating func grow(now: Instant) {
        if let at = refusal?.at, at + ParallelRequests.refusalMemory <= now { refusal = nil }
        count = min(count + 1, most)
    }

    /// The server refused an HTTP/1.1 connection.
    ///
    /// - Parameter open: the connections that the server keeps.
    /// - Returns: whether fewer requests may run than before.
    mutating func refused(keeping open: Int, now: Instant) -> Bool {
        guard speaksHTTP1, open > 0, open < count else { return false }
        refusal = (open, now)
        count = open
        return true
    }

    /// The server closed a further connection without a reply, perhaps because of one name: in that case two requests
    /// may always run.
    ///
    /// - Parameters:
    ///   - request: the owner's number of the request that the connection carried.
    ///   - open: the connections that the server keeps.
    mutating func closed(_ request: Int, keeping open: Int, now: Instant) {
        guard speaksHTTP1 else { return }
        if count <= 2, closedRequests.count <= ParallelRequests.maxRequestsOfName { closedRequests.insert(request) }
        let fewest = closedRequests.count > ParallelRequests.maxRequestsOfName ? 1 : 2
        // Other connections that were closed at the same time may still be open here.
        _ = refused(keeping: max(min(open, count - 1), fewest), now: now)
    }

    /// A new connection got its first reply.
    mutating func newConnectionWorks() { closedRequests = [] }

    /// The server has asked for fewer requests (429, 503).
    mutating func shrink(now: Instant) {
        let first = ParallelRequests.first(isHTTP1: speaksHTTP1)
        if count > first { (refusal, count) = ((first, now), first) }
    }

    /// The endpoint is idle: the next requests begin with few.
    mutating func rest() {
        count = min(count, ParallelRequests.first(isHTTP1: speaksHTTP1))
    }
}
