// The properties of a provider that members need to share its answers and its budget.

package import DNSWire

/// The kinds of data that members share.
package enum SharedKind: String, CaseIterable, Sendable {
    case answers, leases, budget, flush, evidence
}

package struct SharedProvider: Equatable, Sendable {
    /// This member's name for the provider.
    package let name: String
    /// Dialect, address, account and parameters, equal on all members whose provider gives the same answers.
    package let identity: String
    /// Dialect, address and account, whose questions a vendor limits and counts together.
    package let account: String
    /// The client subnet that the provider gets; nil: none.
    package var clientSubnet: Prefix?
    /// The time in which the provider answers 95 % of all requests; nil: not measured.
    package var usual95: Duration?
    /// How long a request may take.
    package var timeout: Duration = .seconds(3)
    /// The rate that all members may have together; nil: no limit.
    package var questionsPerSecond: Int?

    package init(name: String, identity: String, account: String) {
        (self.name, self.identity, self.account) = (name, identity, account)
    }
}
