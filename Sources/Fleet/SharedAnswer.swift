// A provider's answer as a value in Redis, sealed for its entry and the time of its question: milliseconds until the
// answer, original TTL, provider and member with their lengths, and a DNS reply.

package import Crypto
package import DNSWire

package struct SharedAnswer: Equatable, Sendable {
    package let answer: Answer
    /// The name that the member has for the provider, for `explain`.
    package let provider: String
    /// The member that asked the provider.
    package let member: String

    /// The maximum size of a shared value. A reply of a provider is much shorter; a longer one is not shared.
    package static let maxBytes = 16 * 1024
    package static let maxNameBytes = 63
    /// How far the times of two members may be apart, as they follow Redis's clock between its replies.
    private static let clockError: Duration = .seconds(1)

    package init(_ answer: Answer, from provider: String, by member: String) {
        self.answer = answer
        self.provider = provider
        self.member = member
    }

    /// - Parameters:
    ///   - question: the question that the entry is for.
    ///   - entry: the entry's name.
    ///   - asked: when the provider was asked.
    ///   - time: when the provider answered.
    /// - Returns: nil if the answer is too long to be shared.
    package func bytes(
        _ question: Question, entry: String, asked: RedisTime, at time: RedisTime, _ keys: FleetKeys
    ) throws(CryptoError) -> [UInt8]? {
        let packet = UpstreamQuery.message(for: question, id: 0, wantsAuthenticData: true)
        guard case .query(let query) = Query.receive(packet.span) else { return nil }
        let rendered = RenderedAnswer(answer, to: question)
        let reply = [UInt8](capacity: SharedAnswer.maxBytes) { output in
            Reply.write(
                Reply.Body(rendered), to: query, in: packet.span, ageSeconds: 0, limit: SharedAnswer.maxBytes,
                into: &output)
        }
        let names = [provider, member].map { Array($0.utf8.prefix(SharedAnswer.maxNameBytes)) }
        let took = UInt32(clamping: (time - asked).wholeMilliseconds)
        let numbers = took.bigEndianBytes + answer.ttlSeconds.bigEndianBytes
        let plain = numbers + names.flatMap { [UInt8($0.count)] + $0 } + reply
        guard !rendered.isCut else { return nil }
        let value = try keys.seal(plain, .answer, place: entry, at: asked)
        return value.count <= SharedAnswer.maxBytes ? value : nil
    }

    /// The content of a value, with its age.
    package struct Read {
        package let shared: SharedAnswer
        /// The remaining part of the answer's TTL.
        package let left: Duration
        /// The time since the provider was asked.
        package let age: Duration
    }

    /// Reads a value of the entry.
    ///
    /// - Parameter now: the time of Redis; a value whose TTL has passed is an old one that was put again.
    package static func read(
        _ bytes: [UInt8], _ question: Question, entry: String, now: RedisTime, _ keys: FleetKeys
    ) throws(Refusal) -> Read {
        guard bytes.count <= maxBytes else { throw .malformed }
        let (plain, asked) = try keys.open(bytes, .answer, place: entry)
        // The rest was made by a member of the fleet.
        var rest = plain.dropFirst(8)
        guard plain.count > 8, let provider = name(&rest), let member = name(&rest),
            let answer = try? UpstreamReply.answer(
                in: Array(rest), to: question, id: 0, trustsAuthenticData: true)
        else { throw .malformed }
        // For a negative answer without an SOA record, only the value has the TTL.
        let ttl = UInt32(truncatingIfNeeded: plain[4..<8].bigEndianNumber)
        let age = now - asked
        let sinceAnswer = age - .milliseconds(plain[..<4].bigEndianNumber)
        guard age >= .zero - clockError, sinceAnswer >= .zero - clockError, sinceAnswer <= .seconds(ttl) else {
            throw .outdated
        }
        return Read(
            shared: SharedAnswer(answer.withTTL(to: ttl), from: provider, by: member),
            left: .seconds(ttl) - max(.zero, sinceAnswer), age: max(.zero, age))
    }

    private static func name(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let count = rest.popFirst(), count <= maxNameBytes, rest.count >= Int(count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return String(validating: rest.prefix(Int(count)), as: UTF8.self)
    }
}
