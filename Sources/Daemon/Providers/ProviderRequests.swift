// Converts requests and replies between the HTTP client, the dialects and the resolver.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver

extension TransferRequest {
    init(
        _ request: HTTPRequest, to endpoint: HTTPEndpoint, timeout: Duration, connectTimeout: Duration,
        needsOwnConnection: Bool, stallTimeout: Duration? = nil, silenceTimeout: Duration? = nil,
        deadPathTimeout: Duration? = nil, unacknowledgedAfter: Duration? = nil, subject: String = "",
        elsewhere: [HTTPEndpoint] = [], wantsCertificate: Bool = false
    ) {
        self.init(
            method: request.method == .get ? .get : .post, endpoint: endpoint, target: request.url,
            headers: request.headers.fields.map { ($0.name, $0.value) }, body: request.body, timeout: timeout,
            connectTimeout: connectTimeout, needsOwnConnection: needsOwnConnection, stallTimeout: stallTimeout,
            silenceTimeout: silenceTimeout, deadPathTimeout: deadPathTimeout, unacknowledgedAfter: unacknowledgedAfter,
            subject: subject, elsewhere: elsewhere,
            wantsCertificate: wantsCertificate)
    }
}

extension Result<TransferReply, TransferFailure> {
    var end: RequestShares.End {
        switch self {
        case .success: .answered
        case .failure(.timeout): .timedOut
        case .failure: .other
        }
    }
}

extension HTTPReply {
    init(_ reply: TransferReply) {
        let fields = reply.headers.map { HTTPHeaders.Field($0.name, $0.value) }
        self.init(status: reply.status, headers: HTTPHeaders(fields), body: reply.body)
    }
}

extension Result {
    var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}

extension FetchResult {
    /// True if the provider replied about the name, so the provider works.
    var isReply: Bool {
        switch self {
        case .success, .nameFailed: true
        case .failure: false
        }
    }
}

extension ProviderFetches {
    /// Shorter than the time at which the resolver counts a slow name, but only slightly: a path with an interruption
    /// of two seconds is not dead, and a repeated SYN still brings the answer in time.
    static let deadPathTimeout = Bounds.providerTimeout - .milliseconds(300)

    /// The kernel has by then sent the request twice over the old connection and dialled once more.
    static let unacknowledgedAfter: Duration = .milliseconds(500)

    func connections(of provider: Provider) -> ConnectionCounts {
        provider.endpoints.reduce(ConnectionCounts()) { $0 + http.connections(to: reachability.way(to: $1) ?? $1) }
    }

    func context(of provider: Provider, _ subnet: ClientSubnet = .none) -> DialectContext {
        DialectContext(
            unixMilliseconds: provider.clock.now(wallMilliseconds: Clock.wallMilliseconds()),
            nonce: ProviderFetches.nonce(), clientSubnet: provider.told(of: subnet))
    }

    private static func nonce() -> [UInt8] {
        let entropy = SystemEntropy()
        return [entropy.next(), entropy.next()].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
    }
}
