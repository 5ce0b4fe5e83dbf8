// Nameservers of the operator and of links at run time.

import DNSWire
import LinuxIO
import Testing

@testable import Resolver
@testable import Upstreams

@Suite("Nameservers at run time")
struct NamedServersTests {
    @Test("the fetches of a link that ends fail in the order in which they began")
    func linkEnds() throws {
        let (loop, outbox) = (try EventLoop(), KeptReports())
        let system = SystemFetches(loop: loop, outbox: outbox, maxExchanges: 64)
        let servers = NamedServers(asking: system, outbox: outbox)
        let link = AnnouncingLink(
            interface: "lo", servers: [Nameserver(.v4(0x7F00_0001), port: 9)], domains: [Name("corp.example")!])
        _ = servers.setServers(.none, [link])
        let server = try #require(servers.all.first)
        let ids = (0..<20).map { FetchID(number: $0) }
        let question = Question(Name("www.corp.example")!, .a)
        for id in ids { servers.start(id, question, server.id, now: Clock.now()) }
        _ = servers.setServers(.none, [])
        servers.reportResults()
        let finished = outbox.takeAll().compactMap { report -> FetchID? in
            if case .event(.fetchFinished(let id, _)) = report { id } else { nil }
        }
        #expect(finished == ids)
    }
}
