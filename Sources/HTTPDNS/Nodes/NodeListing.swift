// The list of service nodes of a vendor: each vendor's request and reply, as pure functions.

package import DNSWire

package protocol NodeListing: Sendable {
    /// The list is in replies to questions, and there is no request for it.
    var comesWithAnswers: Bool { get }

    func request(in context: DialectContext) throws(DialectError) -> HTTPRequest

    /// - Parameter allowsPrivate: true if the service is in a private network; otherwise private addresses are left
    ///   out.
    func nodes(in reply: HTTPReply, allowsPrivate: Bool) throws(DialectError) -> ServiceAddresses
}

extension NodeListing {
    package var comesWithAnswers: Bool { false }

    /// Returns the URL of another call of the same service: the last part of the path is replaced.
    static func sibling(_ call: String, of url: String) -> String {
        let path = URLQuery.path(of: url)
        guard let slash = path.lastIndex(of: "/") else { return "/\(call)" }
        return "\(path[...slash])\(call)"
    }
}
