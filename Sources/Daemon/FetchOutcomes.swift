// Replies and results of fetches, between the HTTP client, the dialects and the resolver.

import HTTPClient
import HTTPDNS
import Resolver

extension HTTPReply {
    init(_ reply: TransferReply) {
        let fields = reply.headers.map { HTTPHeaders.Field($0.name, $0.value) }
        self.init(status: reply.status, headers: HTTPHeaders(fields), body: reply.body)
    }
}

extension FetchResult {
    /// The provider replied about the name: it works.
    var isReply: Bool {
        switch self {
        case .success, .nameFailed: true
        case .failure: false
        }
    }
}

extension Result {
    var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
