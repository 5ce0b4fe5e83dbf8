// The common parts of requests to both versions of Alibaba's service: names, families, signature expiry and client
// address (providers.md 2.2 and 2.3).

import DNSWire

enum AliCloudRequest {
    /// Server side: the account of the lab.
    static let labAccount = "100000"
    /// The service's limit of names per request.
    static let maxNames = 5
    /// The signature lifetime of the vendor's own clients.
    private static let lifetimeSeconds: Int64 = 600
    /// The vendor rejects a later expiry. This is documented for version 1, and UNCONFIRMED for version 2.
    private static let maxLifetimeSeconds: Int64 = 86_400

    static let families = FamilyTexts(v4: "4", v6: "6", both: "4,6")

    /// Returns the expiry of the signature, in seconds since 1970.
    static func expiry(in context: DialectContext) -> String { String(context.unixSeconds + lifetimeSeconds) }

    // MARK: the server's side

    /// - Parameters:
    ///   - query: the text of the families; nil: IPv4.
    ///   - maxNames: the maximum number of names that the call accepts.
    static func questions(
        _ hosts: String, _ query: String?, maxNames: Int, by dialect: some AddressDialect
    ) throws(DialectError) -> [Question] {
        guard !hosts.isEmpty else { throw AliCloudCode.missingArgument.thrown }
        let count = hosts.utf8.count { $0 == UInt8(ascii: ",") } + 1
        guard count <= maxNames else {
            throw maxNames == 1 ? AliCloudCode.tooManyHosts.thrown : AliCloudCode.limitExceeded.thrown
        }
        guard let families = AliCloudRequest.families.families(of: query ?? AliCloudRequest.families.v4) else {
            throw AliCloudCode.missingArgument.thrown
        }
        do throws(DialectError) {
            return try dialect.questions(about: hosts, of: families)
        } catch {
            throw AliCloudCode.invalidHost.thrown
        }
    }

    static func check(_ expiry: String, in context: DialectContext) throws(DialectError) {
        guard let seconds = Int64(expiry) else { throw AliCloudCode.missingArgument.thrown }
        guard seconds > context.unixSeconds else { throw AliCloudCode.signatureExpired.thrown }
        guard seconds <= context.unixSeconds + maxLifetimeSeconds else { throw AliCloudCode.invalidDuration.thrown }
    }

    /// Returns the client address for a reply; 203.0.113.7 (RFC 5737) if none is known.
    static func clientForReply(in context: DialectContext) -> String { context.clientAddress ?? "203.0.113.7" }
}
