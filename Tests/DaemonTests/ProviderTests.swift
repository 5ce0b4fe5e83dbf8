// A provider at run time: which of its addresses is dialled, when it counts as down, when its connections are left.

import HTTPClient
import LinuxIO
import Resolver
import Settings
import Testing

@testable import Daemon

@Suite("Provider")
struct ProviderTests {
    private func provider() throws -> Provider {
        try #require(Provider(id: ProviderID(1), Settings.Provider.builtIn[0]))
    }

    @Test(
        "an address that can't be reached makes room for the next one, once",
        arguments: [FetchFailure.refused, .timeout])
    func rotation(failure: FetchFailure) throws {
        var provider = try provider()
        #expect(provider.endpoint.address == "223.5.5.5")
        _ = provider.failed(failure, atAddress: 0)
        #expect(provider.endpoint.address == "223.6.6.6")
        _ = provider.failed(failure, atAddress: 0)
        #expect(provider.endpoint.address == "223.6.6.6", "a late failure of the address that was left already")
        _ = provider.failed(failure, atAddress: 1)
        #expect(provider.endpoint.address == "223.5.5.5")
    }

    @Test("what the provider says itself is no reason to dial another of its addresses")
    func noRotation() throws {
        var provider = try provider()
        for failure in [FetchFailure.status, .throttled, .garbage, .server] {
            _ = provider.failed(failure, atAddress: 0)
        }
        #expect(provider.addressIndex == 0)
    }

    @Test("down after a failure of its own, up with the next answer; only changes are told")
    func upAndDown() throws {
        var provider = try provider()
        let overload = provider.failed(.overload, atAddress: 0)
        #expect(!overload && provider.isUp)
        var changes = [provider.failed(.status, atAddress: 0), provider.failed(.status, atAddress: 0)]
        #expect(changes == [true, false] && !provider.isUp)
        changes = [provider.answered(), provider.answered()]
        #expect(changes == [true, false] && provider.isUp)
    }

    @Test("open connections are distrusted until they are too old to be used")
    func distrust() throws {
        var provider = try provider()
        let now = Clock.now()
        #expect(!provider.distrustsConnections(now: now))
        provider.distrustConnections(now: now)
        #expect(provider.distrustsConnections(now: now + provider.endpoint.idleTimeout - .milliseconds(1)))
        #expect(!provider.distrustsConnections(now: now + provider.endpoint.idleTimeout))
    }
}
