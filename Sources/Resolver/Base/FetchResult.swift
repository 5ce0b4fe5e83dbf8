// Result of one fetch: an answer, an error reply about the name, or no reply.

package import DNSWire

package enum FetchResult: Equatable, Sendable {
    case success(Answer)
    /// The upstream works and has no answer for this name.
    case nameFailed(NameFailure)
    /// The provider works and does not serve this name, for example because it is not registered for the account.
    case notServed
    /// The provider works: its reply has answers to other questions of the same request, and none to this one.
    case omitted
    case failure(FetchFailure)

    /// The upstream has sent something.
    var isHeard: Bool {
        switch self {
        case .success, .nameFailed, .notServed, .omitted: true
        case .failure(.timeout), .failure(.unacknowledged), .failure(.unreachable), .failure(.overload): false
        case .failure: true
        }
    }
}

/// A well-formed reply to the question with a response code other than NOERROR and NXDOMAIN, or a dialect's equivalent.
package struct NameFailure: Hashable, Sendable {
    package let responseCode: ResponseCode
    /// The upstream's extended error (RFC 8914), with its text sanitised.
    package let extendedError: ExtendedError?

    package init(_ responseCode: ResponseCode, _ extendedError: ExtendedError? = nil) {
        self.responseCode = responseCode
        self.extendedError = extendedError
    }

    /// Whether the reply concerns this name: YXDOMAIN, or an extended error about it. Any other may be the provider's
    /// failure for every name.
    var isAboutName: Bool {
        responseCode == .nameShouldNotExist || extendedError?.isAboutName ?? false
    }

    /// Returns the more specific failure: YXDOMAIN is a fact about the name, and an extended error gives a reason.
    package func combined(with earlier: NameFailure?) -> NameFailure {
        guard let earlier, earlier.weight >= weight else { return self }
        return earlier
    }

    private var weight: Int {
        (responseCode == .nameShouldNotExist ? 2 : 0) + (extendedError == nil ? 0 : 1)
    }
}

/// Reason why a fetch gave no answer. The raw values appear in statistics.
package enum FetchFailure: String, Error, Hashable, Sendable, CaseIterable {
    /// The address refused the connection.
    case refused
    /// The machine has no route to the address.
    case unreachable
    /// No reply in time although the peer acknowledges the data sent: a failure of the name.
    case timeout
    /// The peer did not acknowledge the data sent: the path or the peer is down.
    case unacknowledged
    /// The TLS handshake failed, or the peer has the wrong identity.
    case tls
    /// The connection closed before the reply was complete.
    case reset
    /// An HTTP status that is neither 200 nor a redirect.
    case status
    /// An HTTP redirect.
    case redirected
    /// The upstream reports that the rate limit is exceeded.
    case throttled
    /// The data received is not a reply to the question.
    case garbage
    /// The upstream cannot serve any name: a node of another account, or a server that does not recurse.
    case server
    /// A limit of the daemon was reached.
    case overload
    /// The upstream rejects the account.
    case account
    /// The upstream rejects the request's time, even after the clock offset was corrected.
    case clock
    /// This upstream does not support the question.
    case unsupported

    /// A reply of the provider arrived that has no answer, and whose cause may be the provider's alone.
    ///
    /// - Parameter mayBePortals: a redirect or garbage may come from a captive portal in the provider's place.
    func isOfService(mayBePortals: Bool) -> Bool {
        switch self {
        case .status, .throttled, .server, .account, .clock: true
        case .redirected, .garbage: !mayBePortals
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset, .overload, .unsupported: false
        }
    }

    /// The failure may be the provider's fault, and not that of this machine, its settings or its limits.
    var mayBeProviders: Bool {
        switch self {
        case .refused, .timeout, .unacknowledged, .tls, .reset, .status, .redirected, .throttled, .garbage, .server:
            true
        case .unreachable, .overload, .account, .clock, .unsupported: false
        }
    }

    /// No reply arrived; the cause may be the path.
    package var isUnheard: Bool {
        switch self {
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset: true
        case .status, .redirected, .throttled, .garbage, .server, .overload, .account, .clock, .unsupported: false
        }
    }
}
