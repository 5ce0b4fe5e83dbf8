// The text for operators about a malformed message.

import Testing

@testable import DNSWire

@Suite("Malformed message")
struct MalformedMessageTests {
    @Test("every finding is said in words, with its place")
    func words() {
        let texts = MalformedMessage.Reason.allCases.map { MalformedMessage(offset: 40, reason: $0).description }
        #expect(texts.allSatisfy { $0.hasSuffix(" at byte 40") })
        #expect(Set(texts).count == texts.count)
        #expect(texts.first == "a field that is cut off at byte 40")
    }
}
