// Why a reply is of no use, or a provider cannot be asked.

package import DNSWire

package enum DialectError: Error, Equatable, Sendable {
    /// An HTTP status that is neither an answer nor throttling.
    case status(Int)
    /// The provider is working and asks for fewer requests.
    case throttled(retryAfterSeconds: Int?)
    /// The body is invalid in this dialect; the text has the error and its position.
    case garbage(String)
    /// A complete answer to another question.
    case wrongQuestion
    /// The provider rejects the account: it is unknown or suspended, or the key is wrong. Holds the vendor's code.
    case account(String)
    /// The provider rejects the request's time: the signature has expired or is valid for too long.
    case clock
    /// The provider does not serve this name to the account, or rejects the request's time; its reply does not tell
    /// which.
    case forbidden
    /// The provider does not serve this name to the account.
    case notServed
    /// This address of the provider does not serve the account; another address does.
    case wrongNode
    /// The reply has a response code other than NOERROR and NXDOMAIN, with the provider's extended error if any.
    case serverFailure(ResponseCode, ExtendedError? = nil)
    /// The dialect cannot carry this question.
    case unsupported
}

/// Why a provider's settings do not suffice; the end of a complaint.
package struct DialectFault: Error, Equatable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}
