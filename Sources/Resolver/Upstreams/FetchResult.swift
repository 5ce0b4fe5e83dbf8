// Result of one fetch: an answer, an error reply about the name, or no reply.

package import DNSWire

package enum FetchResult: Equatable, Sendable {
    case success(Answer)
    /// The upstream works and has no answer for this name.
    case nameFailed(NameFailure)
    /// The provider works and does not serve this name, for example because it is not registered for the account.
    case notServed
    case failure(FetchFailure)

    /// Something came back from the upstream.
    var isHeard: Bool {
        switch self {
        case .success, .nameFailed, .notServed: true
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
    func combined(with earlier: NameFailure?) -> NameFailure {
        guard let earlier, earlier.weight >= weight else { return self }
        return earlier
    }

    private var weight: Int {
        (responseCode == .nameShouldNotExist ? 2 : 0) + (extendedError == nil ? 0 : 1)
    }
}

/// The reply to clients of a question that no upstream answers.
package struct LookupFailure: Hashable, Sendable {
    package let responseCode: ResponseCode
    package let extendedError: ExtendedError
    /// The extended error stays true while the failure is remembered.
    private let isLasting: Bool

    init(_ extendedError: ExtendedError) {
        responseCode = .serverFailure
        self.extendedError = extendedError
        isLasting = extendedError == .notServed || extendedError == .keptFromView
    }

    /// Answers came, and contradict the rule for the name.
    init(_ contradiction: Contradiction) {
        responseCode = .serverFailure
        extendedError = .contradicted("\(contradiction)")
        isLasting = true
    }

    /// Clients get YXDOMAIN as it is. Every other code becomes SERVFAIL: REFUSED would tell a stub resolver that the
    /// daemon refuses it.
    init(_ failure: NameFailure) {
        responseCode = failure.responseCode == .nameShouldNotExist ? .nameShouldNotExist : .serverFailure
        extendedError =
            failure.extendedError ?? .upstreamReplied(failure.responseCode)
        isLasting = failure.extendedError != nil || responseCode != .serverFailure
    }

    /// The same reply while the failure is remembered (RFC 9520).
    var remembered: LookupFailure { isLasting ? self : LookupFailure(.rememberedFailure) }
}
