// Converts requests and replies between the HTTP client, the dialects and the resolver.

import DNSWire
package import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver

/// An endpoint, and how it is dialled.
struct RequestWay {
    let endpoint: HTTPEndpoint
    let dialled: HTTPEndpoint
}

extension TransferRequest {
    init(
        _ request: HTTPRequest, to endpoint: HTTPEndpoint, timeout: Duration, connectTimeout: Duration,
        needsOwnConnection: Bool, stallTimeout: Duration? = nil, silenceTimeout: Duration? = nil,
        deadPathTimeout: Duration? = nil, unacknowledgedAfter: Duration? = nil, subject: ShareHolder? = nil,
        elsewhere: [HTTPEndpoint] = [], wantsCertificate: Bool = false
    ) {
        self.init(
            method: request.method == .get ? .get : .post, endpoint: endpoint, target: request.url,
            headers: request.headers.fields.map { ($0.name, $0.value) }, body: request.body, timeout: timeout,
            connectTimeout: connectTimeout, needsOwnConnection: needsOwnConnection, stallTimeout: stallTimeout,
            silenceTimeout: silenceTimeout, deadPathTimeout: deadPathTimeout, unacknowledgedAfter: unacknowledgedAfter,
            elsewhere: elsewhere, wantsCertificate: wantsCertificate)
        if let subject { self.subject = { subject.parent } }
    }
}

extension Result<TransferReply, TransferFailure> {
    var end: RequestQueue.End {
        switch self {
        case .success: .answered
        case .failure(.timeout): .timedOut
        case .failure: .other
        }
    }
}

extension HTTPReply {
    package init(_ reply: TransferReply) {
        let fields = reply.headers.map { HTTPHeaders.Field($0.name, $0.value) }
        self.init(status: reply.status, headers: HTTPHeaders(fields), body: reply.body)
    }
}

extension Result {
    package var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}

extension FetchResult {
    /// True if the provider replied about the name, so the provider works.
    var isReply: Bool {
        switch self {
        case .success, .nameFailed, .notServed, .omitted: true
        case .failure: false
        }
    }

    /// The meaning of the result if the same reply answers other questions: what is missing or wrong concerns this
    /// question alone.
    var amongAnswers: FetchResult { if case .failure(.garbage) = self { .omitted } else { self } }

    /// False if the provider could do nothing for a name that it serves.
    var isUseful: Bool {
        switch self {
        case .success, .notServed: true
        case .nameFailed, .omitted, .failure: false
        }
    }
}
