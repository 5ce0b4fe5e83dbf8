// Baidu's list of service addresses: `serverip` in replies to questions that have `alt_server_ip=true` (providers.md
// 7.1). It is an object with arrays "ipv4" and "ipv6"; this shape is inferred from that of `data`, UNCONFIRMED.

package import DNSWire
import JSON

package struct BaiduNodes: NodeListing {
    package init() {}

    package let comesWithAnswers = true

    package func request(in context: DialectContext) throws(DialectError) -> HTTPRequest { throw .unsupported }

    package func nodes(in reply: HTTPReply, allowsPrivate: Bool) throws(DialectError) -> ServiceAddresses {
        let body = try JSONValue.decode(try reply.acceptedBody())
        guard let list = body["serverip"] else { throw .garbage("JSON without serverip") }
        let texts = ["ipv4", "ipv6"].flatMap { list[$0]?.elements ?? [] }.compactMap(\.scalarText)
        return try ServiceAddresses(
            reported: texts.compactMap { Address(unbracketed: $0) }.map { ServiceAddresses.Node($0) },
            allowsPrivate: allowsPrivate)
    }
}

extension Address {
    /// Parses an address. Brackets around IPv6 were seen in the vendor's client (providers.md, correction C4).
    fileprivate init?(unbracketed text: String) {
        self.init(text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text)
    }
}
