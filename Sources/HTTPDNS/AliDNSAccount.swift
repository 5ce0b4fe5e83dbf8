// The account of AliDNS's paid JSON service and its signature: a SHA-256 over who asks, when, and for what
// (providers.md 4.2). The secret goes into the hash and nowhere else.

import Crypto

package struct AliDNSAccount: Sendable {
    private let uid: String
    private let accessKeyID: String
    private let accessKeySecret: String

    package init(uid: String, accessKeyID: String, accessKeySecret: String) {
        self.uid = uid
        self.accessKeyID = accessKeyID
        self.accessKeySecret = accessKeySecret
    }

    /// The server's side: how far the clocks may be apart. The vendor's own limit is not known.
    private static let maxSkewSeconds: Int64 = 600

    /// - Parameter name: as it stands in the request.
    /// - Throws: `unsupported` where the system has no SHA-256.
    func parameters(
        for name: String, in context: DialectContext
    ) throws(DialectError) -> [(name: String, value: String)] {
        let timestamp = String(context.unixSeconds)
        return [
            ("uid", uid), ("ak", accessKeyID), ("ts", timestamp), ("key", try signature(of: name, at: timestamp)),
        ]
    }

    /// The server's side.
    /// - Throws: `status(401)` for what the vendor refuses so.
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
        do throws(CryptoError) {
            return Hex.encode(try Digest.sha256(Array((uid + accessKeySecret + timestamp + name + accessKeyID).utf8)))
        } catch {
            throw .unsupported
        }
    }
}
