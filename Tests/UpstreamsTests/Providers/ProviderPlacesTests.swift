// Requests to a provider that never answers, and the places that they give up.

import DNSWire
import LinuxIO
import Settings
import Testing

@testable import Resolver
@testable import Upstreams

@Suite("Provider places")
struct ProviderPlacesTests {
    @Test("a place that an abandoned request frees goes to a waiting one before the loop rests")
    func abandoned() throws {
        // The kernel accepts the connections, and no program reads from them.
        let listener = try Listener(on: SocketAddress(.loopback4, port: 0))
        var settings = Settings.Provider.builtIn[0]
        settings.dialect = .doh
        settings.url = .init(
            isSecure: false, host: .name("provider.example"), port: try listener.localAddress().port, path: "/q")
        settings.addresses = [.v4(0x7F00_0001)]
        let outbox = KeptReports()
        let fetches = ProviderFetches(loop: try EventLoop(), outbox: outbox)
        _ = fetches.setProviders([try ProviderAccount(settings)])
        let provider = try #require(fetches.providers.first)
        let now = Clock.now()
        for number in 0..<9 {
            let name = try #require(Name("www.d\(number).example"))
            fetches.start(FetchID(number: UInt64(number)), Question(name, .a), provider.id, now: now)
        }
        #expect((fetches.queue.runningCount, fetches.queue.waitingCount) == (8, 1))
        fetches.reportResults()
        #expect(outbox.takeAll().count == 1, "the ninth waits")
        #expect(!fetches.hasFinished)
        fetches.abandon(FetchID(number: 0), now: now)
        #expect(fetches.hasFinished)
        fetches.reportResults()
        #expect(outbox.takeAll().count == 1, "the ninth is sent")
        #expect((fetches.queue.runningCount, fetches.queue.waitingCount) == (8, 0))
        #expect(!fetches.hasFinished)
    }
}
