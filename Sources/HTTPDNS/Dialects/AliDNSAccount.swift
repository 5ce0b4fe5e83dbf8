// The account of AliDNS's paid JSON service and its SHA-256 signature over account, time and name (providers.md 4.2).
// The secret is used only in the hash.

import DNSWire

package struct AliDNSAccount: Sendable {
    private let uid: String
    private let accessKeyID: String
    private let accessKeySecret: String

    package init(uid: String, accessKeyID: String, accessKeySecret: String) {
        self.uid = uid
        self.accessKeyID = accessKeyID
        self.accessKeySecret = accessKeySecret
    }

    /// Server side: the largest accepted clock difference. The vendor's own limit is unknown.
    private static let maxSkewSeconds: Int64 = 600

    /// - Parameter name: the name in the text form used in the request.
    /// - Throws: `unsupported` if the system has no SHA-256.
    func parameters(
        for name: String, in context: DialectContext
    ) throws(DialectError) -> [(name: String, value: String)] {
        let timestamp = String(context.unixSeconds)
        return [
            ("uid", uid), ("ak", accessKeyID), ("ts", timestamp), ("key", try signature(of: name, at: timestamp)),
        ]
    }

    /// Server side: verifies the account parameters and the signature.
    ///
    /// - Throws: `status(401)`, as the vendor replies.
    func check(_ request: HTTPRequest, in context: DialectContext) throws(DialectError) {
        let value = { (name: String) in URLQuery.value(of: name, in: request.url) }
        guard value("uid") == uid, value("ak") == accessKeyID, let name = value("name"), let timestamp = value("ts"),
            let seconds = Int64(timestamp), let key = value("key"), try key == signature(of: name, at: timestamp)
        else { throw .status(401) }
        let now = context.unixSeconds
        let allowed = (now - AliDNSAccount.maxSkewSeconds)...(now + AliDNSAccount.maxSkewSeconds)
        guard allowed.contains(seconds) else { throw .status(401) }
    }

    private func signature(of name: String, at timestamp: String) throws(DialectError) -> String {
        try Signature.sha256(uid + accessKeySecret + timestamp + name + accessKeyID)
    }
}
