// The kinds of management that a machine may have.

import Takeover
import Testing

@Suite("Who keeps resolv.conf")
struct ResolverKeeperTests {
    @Test("each kind has a name of its own for people")
    func names() {
        #expect(Set(ResolverKeeper.allCases.map(\.rawValue)).count == 4)
    }
}
