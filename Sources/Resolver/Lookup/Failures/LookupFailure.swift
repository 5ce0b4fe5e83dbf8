// The reply to clients of a question that no upstream answers.

package import DNSWire

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

    /// Upstreams answered, and their answers contradict the rule for the name.
    init(_ contradiction: Contradiction) {
        responseCode = .serverFailure
        extendedError = .contradicted("\(contradiction)")
        isLasting = true
    }

    /// Clients get YXDOMAIN unchanged. Every other code becomes SERVFAIL: REFUSED would tell a stub resolver that the
    /// daemon refuses it.
    init(_ failure: NameFailure) {
        responseCode = failure.responseCode == .nameShouldNotExist ? .nameShouldNotExist : .serverFailure
        extendedError =
            failure.extendedError ?? .upstreamReplied(failure.responseCode)
        isLasting = failure.extendedError != nil || responseCode != .serverFailure
    }

    /// The reply while the failure is remembered (RFC 9520).
    var remembered: LookupFailure { isLasting ? self : LookupFailure(.rememberedFailure) }
}
