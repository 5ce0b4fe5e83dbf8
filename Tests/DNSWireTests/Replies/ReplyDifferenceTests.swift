// Replies from seeds and from vectors, read in two ways: the same records and TTLs for clients, the same refusals.
// REPLY_COUNT and REPLY_SEED choose how many replies, and the first of their seeds.

import DNSWire
import TestSupport
import Testing

struct ReplyDifferenceTests {
    private static let usualCount: UInt64 = 2000

    @Test("a generated reply is read, given and refused as the second reading says")
    func generated() {
        let first = testSetting("REPLY_SEED") ?? 1
        let count = testSetting("REPLY_COUNT") ?? ReplyDifferenceTests.usualCount
        var comparison = ReplyComparison()
        var outcomes: [String: Int] = [:]
        var differences: [String] = []
        for seed in first..<first + count {
            let reply = GeneratedReply(seed: seed)
            let finding = comparison.finding(reply.message, reply.question, id: reply.id)
            outcomes[finding.outcome, default: 0] += 1
            if let difference = finding.difference, differences.count < 20 {
                differences.append("seed \(seed), \(reply.question): \(difference)")
            }
        }
        #expect(differences == [])
        // Every outcome came up.
        let wanted =
            ["records", "noData", "noSuchName", "truncated", "lame", "serverFailure 2"]
            + ForeignReply.allCases.map { "foreign \($0)" }
            + MalformedMessage.Reason.allCases.map { "malformed \($0)" }
        #expect(wanted.filter { outcomes[$0] == nil } == [], "\(outcomes)")
        #expect(outcomes["records", default: 0] > count / 4, "\(outcomes)")
    }

    @Test("a vector is read, given and refused as the second reading says", arguments: DNSSECBits.all)
    func vectors(bits: DNSSECBits) throws {
        var comparison = ReplyComparison()
        for vector in try UpstreamReplyTests.eachVector() {
            let finding = comparison.finding(vector.bytes, vector.question.with(bits), id: vector.id)
            #expect(finding.difference == nil, "\(vector.name): \(finding.difference ?? "")")
        }
    }
}
