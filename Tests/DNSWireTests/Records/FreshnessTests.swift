// The age of answers: the four states and the instants between them.

import DNSWire
import Testing

@Suite("Freshness")
struct FreshnessTests {
    private func state(
        _ ageMilliseconds: Int64, of lifetimeSeconds: UInt32, isNegative: Bool = false, maxAge: UInt32 = 3600,
        allowsNegative: Bool = false
    ) -> Freshness {
        Freshness(
            ageMilliseconds: ageMilliseconds, lifetimeSeconds: lifetimeSeconds, isNegative: isNegative,
            limits: Freshness.Limits(maxAgeSeconds: maxAge, allowsNegative: allowsNegative))
    }

    @Test("each state ends at its instant", arguments: [1, 5, 60, 600, 86_400, UInt32.max])
    func borders(_ lifetime: UInt32) {
        let end = Int64(lifetime) * 1000
        let due = end - Freshness.leadMilliseconds(lifetime)
        #expect(state(0, of: lifetime) == .fresh)
        #expect(state(due - 1, of: lifetime) == .fresh)
        #expect(state(due, of: lifetime) == .due)
        #expect(state(end - 1, of: lifetime) == .due)
        #expect(state(end, of: lifetime) == .stale)
        #expect(state(end + 3_599_999, of: lifetime) == .stale)
        #expect(state(end + 3_600_000, of: lifetime) == .gone)
        #expect(state(end, of: lifetime, maxAge: 0) == .gone)
    }

    @Test("a negative answer is gone at its end, unless it is allowed to be stale")
    func negative() {
        #expect(state(59_999, of: 60, isNegative: true) == .due)
        #expect(state(60_000, of: 60, isNegative: true) == .gone)
        #expect(state(60_000, of: 60, isNegative: true, allowsNegative: true) == .stale)
        #expect(state(60_000, of: 60, isNegative: true, maxAge: 0, allowsNegative: true) == .gone)
    }

    @Test("an answer with no lifetime is never fresh")
    func zero() {
        #expect(state(0, of: 0) == .stale)
        #expect(state(0, of: 0, maxAge: 0) == .gone)
    }

    @Test("the lead leaves most of the life, and grows with it")
    func lead() {
        var last: Int64 = 0
        for lifetime: UInt32 in [1, 2, 3, 5, 10, 30, 60, 300, 3600, 86_400] {
            let lead = Freshness.leadMilliseconds(lifetime)
            #expect(lead >= last && lead > 0)
            #expect(lead <= Int64(lifetime) * 1000 / 3)
            last = lead
        }
    }
}
