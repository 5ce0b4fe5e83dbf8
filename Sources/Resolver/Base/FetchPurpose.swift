// The purpose of a request, and the client and domain that it counts against.

/// The holder that a fetch counts for, and whether a client started its lookup.
package struct FetchPurpose: Equatable, Sendable {
    /// The domain and client that the lookup's slot counts for.
    package let holder: ShareHolder
    /// No client started the lookup.
    package let isRefresh: Bool
    package let cause: RequestCause
    /// No other upstream has an answer, so that the provider is asked although its budget is used up.
    package let isLastResort: Bool

    package init(_ holder: ShareHolder, isRefresh: Bool, isHedge: Bool = false, isLastResort: Bool = false) {
        self.holder = holder
        self.isRefresh = isRefresh
        self.isLastResort = isLastResort
        cause = isHedge ? .hedge : isRefresh ? .refresh : .client
    }
}

/// Why a question was sent to a provider. The raw values appear in statistics.
package enum RequestCause: String, CaseIterable, Sendable {
    /// A client's question, sent first or after a failure.
    case client
    case refresh
    /// Another provider or the system resolver was late.
    case hedge
    /// A background measurement, a comparison, or a trial behind a captive portal.
    case measurement
}
