// The client's address in JSON replies (providers.md, correction C10).

import DNSWire
import JSON

extension HTTPReply {
    /// Looks for the key at the top level, and in the elements of a list of answers.
    func clientAddress(at key: String) -> Address? {
        guard status == 200, let body = try? JSONValue.decode(self.body) else { return nil }
        let elements = body.elements ?? body["dns"]?.elements ?? body["results"]?.elements ?? []
        let text = ([body] + elements).lazy.compactMap { $0[key]?.scalarText }.first
        return text.flatMap { Address(String($0.prefix { $0 != "/" })) }
    }
}
