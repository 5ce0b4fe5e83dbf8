// A provider's answer as a value in Redis. In network byte order: version, ID of the key, original TTL, provider and
// member with their lengths, a DNS reply, and a code over all of it and the entry's name. Redis and the way to it need
// not be trusted: a value that was made, changed or moved by anybody without the key is not used.

package import Crypto
package import DNSWire

package struct SharedAnswer: Equatable, Sendable {
    package let answer: Answer
    /// The name that the member has for the provider, for `explain`.
    package let provider: String
    /// The member that asked it.
    package let member: String

    private static let version: UInt8 = 1
    private static let codeBytes = 16
    /// A reply of a provider is much shorter; one that is longer is not shared.
    package static let maxBytes = 16 * 1024
    package static let maxNameBytes = 63

    package init(_ answer: Answer, from provider: String, by member: String) {
        self.answer = answer
        self.provider = provider
        self.member = member
    }

    /// Why a value is not used.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// Of another version, or not one.
        case malformed
        /// No key has its ID.
        case unknownKey = "unknown-key"
        /// Its code is wrong: forged, damaged, or of another entry.
        case unauthenticated
    }

    /// - Parameters:
    ///   - question: the question that the entry is for.
    ///   - entry: the entry's name.
    /// - Returns: nil if the answer is too long to be shared.
    package func bytes(_ question: Question, entry: String, _ keys: FleetKeys) throws(CryptoError) -> [UInt8]? {
        let key = keys.keys[0]
        let query = UpstreamQuery.message(for: question, id: 0)
        guard case .query(let query) = Query.receive(query.span) else { return nil }
        let packet = UpstreamQuery.message(for: question, id: 0)
        let rendered = RenderedAnswer(answer, to: question)
        let reply = [UInt8](capacity: SharedAnswer.maxBytes) { output in
            Reply.write(
                Reply.Body(rendered), to: query, in: packet.span, ageSeconds: 0, limit: SharedAnswer.maxBytes,
                into: &output)
        }
        let names = [provider, member].map { Array($0.utf8.prefix(SharedAnswer.maxNameBytes)) }
        let value =
            [SharedAnswer.version] + key.id.bigEndianBytes + answer.ttlSeconds.bigEndianBytes
            + names.flatMap { [UInt8($0.count)] + $0 } + reply
        guard !rendered.isCut, value.count + SharedAnswer.codeBytes <= SharedAnswer.maxBytes else { return nil }
        return try value + SharedAnswer.code(of: value, entry, key)
    }

    /// Reads a value of the entry.
    package init(_ bytes: [UInt8], _ question: Question, entry: String, _ keys: FleetKeys) throws(Refusal) {
        guard bytes.count <= SharedAnswer.maxBytes, bytes.count > SharedAnswer.codeBytes + 11,
            bytes[0] == SharedAnswer.version
        else { throw .malformed }
        let (value, code) = (Array(bytes.dropLast(SharedAnswer.codeBytes)), bytes.suffix(SharedAnswer.codeBytes))
        let id = value[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let key = keys.keys.first(where: { $0.id == id }) else { throw .unknownKey }
        guard let expected = try? SharedAnswer.code(of: value, entry, key), expected.isEqualInConstantTime(to: code)
        else {
            throw .unauthenticated
        }
        // From here on, the bytes are a member's.
        var rest = value.dropFirst(9)
        guard let provider = SharedAnswer.name(&rest), let member = SharedAnswer.name(&rest),
            let answer = try? UpstreamReply.answer(in: Array(rest), to: question, id: 0)
        else { throw .malformed }
        // A negative answer without an SOA record has its TTL here only.
        let ttl = value[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        self.init(answer.withTTL(to: ttl), from: provider, by: member)
    }

    private static func name(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let count = rest.popFirst(), count <= maxNameBytes, rest.count >= Int(count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return String(validating: rest.prefix(Int(count)), as: UTF8.self)
    }

    private static func code(of value: [UInt8], _ entry: String, _ key: FleetKeys.Key) throws(CryptoError) -> [UInt8] {
        Array(try key.code("value", [Array(entry.utf8), value]).prefix(codeBytes))
    }
}
