// Converts requests and replies between the HTTP client, the dialects and the resolver.

package import DNSWire
package import HTTPClient
import LinuxIO
import Resolver

/// An endpoint, and how it is dialled.
struct RequestWay {
    let endpoint: HTTPEndpoint
    let dialled: HTTPEndpoint
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
        self.init(status: reply.status, headers: reply.headers, body: reply.body)
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
