// Upstream replies byte by byte: each vector states its result in its head, and every vector is also truncated at every
// byte and damaged at random. Waiting and retries are tested elsewhere.

import DNSWire
import TestSupport
import Testing

struct UpstreamReplyTests {
    static let vectors = Result { try HexVector.all(in: TestFile.folder(of: #filePath) + "/Vectors/upstream") }

    static func eachVector() throws -> [UpstreamVector] {
        try vectors.get().map(UpstreamVector.init)
    }

    @Test("each vector gives what its head says", arguments: try eachVector())
    func outcome(vector: UpstreamVector) {
        #expect(vector.outcome(of: vector.bytes) == vector.expected)
    }

    @Test("a cut message is never an answer: it is foreign, truncated or malformed", arguments: try eachVector())
    func everyTruncation(vector: UpstreamVector) {
        guard !vector.name.hasPrefix("trailing") else { return }
        for count in 0..<vector.bytes.count {
            let outcome = vector.outcome(of: Array(vector.bytes[..<count]))[0]
            #expect(
                ["foreign", "truncated", "malformed"].contains { outcome.hasPrefix("error: " + $0) },
                "\(vector.name) cut to \(count) bytes: \(outcome)")
        }
    }

    @Test("a damaged byte never traps, and an answer still belongs to the question", arguments: try eachVector())
    func everyByteDamaged(vector: UpstreamVector) {
        var randomness = SeededRandom(seed: 0x5EED)
        for index in vector.bytes.indices {
            var bytes = vector.bytes
            bytes[index] ^= UInt8.random(in: 1...255, using: &randomness)
            guard let answer = try? UpstreamReply.answer(in: bytes, to: vector.question, id: vector.id) else {
                continue
            }
            var owner = vector.question.name
            for record in answer.records {
                if record.type == .dname, owner != record.owner, owner.isWithin(record.owner) { continue }
                #expect(record.owner == owner, "\(vector.name), byte \(index)")
                owner = record.aliasTarget ?? owner
            }
            #expect((answer.kind == .records) == (answer.records.last.map { vector.answers($0.type) } ?? false))
        }
    }

    @Test("an id that is off by any bit is foreign")
    func everyOtherID() throws {
        let vector = try UpstreamVector.named("a", in: Self.vectors.get())
        for bit in 0..<16 {
            #expect(throws: UpstreamReplyError.foreign(.id)) {
                try UpstreamReply.answer(in: vector.bytes, to: vector.question, id: vector.id ^ 1 << UInt16(bit))
            }
        }
    }
}

/// A vector of this folder: bytes, the query they reply to, and the outcome as lines of text.
struct UpstreamVector: CustomTestStringConvertible, Sendable {
    let name: String
    let bytes: [UInt8]
    let question: Question
    let id: UInt16
    let expected: [String]

    init(_ vector: HexVector) throws {
        let words = try vector.value("question").split(separator: " ").map(String.init)
        name = vector.name
        bytes = vector.bytes
        question = Question(try #require(Name(words[0])), try #require(RecordType(words[1])))
        id = try #require(UInt16(vector.value("id")))
        expected = vector.head.filter { !["about", "question", "id"].contains($0.key) }.map { "\($0.key): \($0.value)" }
    }

    static func named(_ name: String, in vectors: [HexVector]) throws -> UpstreamVector {
        try UpstreamVector(#require(vectors.first { $0.name == name }))
    }

    var testDescription: String { name }

    func answers(_ type: RecordType) -> Bool { type == question.type || question.type == .any }

    func outcome(of bytes: [UInt8]) -> [String] {
        do throws(UpstreamReplyError) {
            let answer = try UpstreamReply.answer(in: bytes, to: question, id: id)
            return ["gives: \(answer.kind) ttl \(answer.ttlSeconds)"]
                + answer.records.map { "record: " + line($0) }
                + (answer.authority.map { ["authority: " + line($0)] } ?? [])
        } catch {
            return ["error: " + line(error)]
        }
    }

    private func line(_ record: ResourceRecord) -> String {
        let hex = record.data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return "\(record.owner) \(record.type) \(record.ttlSeconds) \(hex)"
    }

    private func line(_ error: UpstreamReplyError) -> String {
        switch error {
        case .foreign(let why): "foreign \(why)"
        case .truncated: "truncated"
        case .serverFailure(let code, _): "serverFailure \(code)"
        case .lame: "lame"
        case .malformed(let message): "malformed \(message.reason) at \(message.offset)"
        }
    }
}
