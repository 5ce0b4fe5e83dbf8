// The client's address in JSON replies, by vendor (providers.md, correction C10). Tencent's dialects and version 2 of
// Alibaba's service read the address in their own files.

package import DNSWire

extension AliCloud {
    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "client_ip") }
}

extension UCloud {
    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "client_ip") }
}

extension Volcengine {
    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "cip") }
}

extension Baidu {
    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "clientip") }
}

extension JSONDialect {
    /// Returns the network for which the resolver chose the answer, such as "203.0.113.0/24".
    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "edns_client_subnet") }
}

extension HTTPReply {
    /// Looks for the key at the top level, and in the elements of a list of answers.
    fileprivate func clientAddress(at key: String) -> Address? {
        guard status == 200, let body = try? JSONValue.decode(self.body) else { return nil }
        let elements = body.elements ?? body["dns"]?.elements ?? body["results"]?.elements ?? []
        let text = ([body] + elements).lazy.compactMap { $0[key]?.scalarText }.first
        return text.flatMap { Address(String($0.prefix { $0 != "/" })) }
    }
}
