// Bytes from a nameserver or a DoH server. A second reading must agree about the records, the TTLs and the refusals, in
// the parsed answer and in the bytes that clients get.

import DNSWire
import Synchronization
import TestSupport

extension FuzzEntry {
    package static let upstreamReply = FuzzEntry(name: "UpstreamReply") { bytes in
        check(bytes, Question(host, .a), id: rawID)
        if let asked = ReplyOracle.question(of: bytes), let name = Name(wire: asked.name) {
            check(bytes, Question(name, RecordType(rawValue: asked.type)), id: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        }
        composed(bytes).map { check($0.message, $0.question, id: 0) }
    }

    /// The message ID of the unit tests' raw vectors.
    private static let rawID: UInt16 = 0x1234

    private static let host: Name = {
        guard let name = Name("www.example.com") else { preconditionFailure("the name is one") }
        return name
    }()

    /// Types with names in their data, types without, ANY, and those of signed zones.
    private static let types: [UInt16] = [
        1, 28, 5, 6, 15, 16, 17, 24, 26, 30, 33, 35, 39, 65, 255, 43, 46, 47, 48, 50, 64,
    ]

    /// A message with a valid question, which random bytes rarely have: type, two bytes of flags, three counts,
    /// records.
    private static func composed(_ bytes: [UInt8]) -> (message: [UInt8], question: Question)? {
        guard bytes.count >= 6 else { return nil }
        let type = types[Int(bytes[0]) % types.count]
        let header: [UInt8] = [0, 0, bytes[1] | 0x80, bytes[2], 0, 1, 0, bytes[3], 0, bytes[4], 0, bytes[5]]
        let question = host.wire + [UInt8(type >> 8), UInt8(type & 0xFF), 0, 1]
        return (header + question + bytes[6...], Question(host, RecordType(rawValue: type)))
    }

    private static let comparison = Mutex(ReplyComparison())

    private static func check(_ message: [UInt8], _ question: Question, id: UInt16) {
        for question in [question, question.with(.dnssecOK)] {
            let difference = comparison.withLock { $0.finding(message, question, id: id).difference }
            precondition(difference == nil, "\(question): \(difference ?? "")")
        }
    }
}
