// Bounds on sockets that follow from RLIMIT_NOFILE.

import DNSWire
import LinuxIO
import Resolver
import Serving
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

struct DescriptorBudgetTests {
    @Test("all kinds of sockets together stay below the limit, from the usual soft limit on", arguments: [1024, 4096])
    func sums(limit: Int) {
        let budget = DescriptorBudget(limit: limit)
        let others = DescriptorBudget.reserved + 256 + 64
        #expect(budget.clientConnections + budget.nameserverExchanges + others <= limit)
        #expect(budget.clientConnections >= 200 && budget.nameserverExchanges >= 300)
    }

    @Test("a high limit brings the usual bounds, a low one leaves something of each")
    func ends() {
        let large = DescriptorBudget(limit: 1 << 30)
        #expect(large.clientConnections == ConnectionQuota.maxConnections)
        #expect(large.nameserverExchanges == DescriptorBudget.maxExchanges)
        #expect(DescriptorBudget(limit: 0) == DescriptorBudget(limit: 1024))
        let small = DescriptorBudget(limit: 64)
        #expect(small.clientConnections >= 16 && small.nameserverExchanges >= 16)
    }

    @Test("no more sockets are open to nameservers than allowed; a further question fails at once and is counted")
    func exchanges() throws {
        let loop = try EventLoop()
        let fetches = SystemFetches(loop: loop, outbox: Outbox(), maxExchanges: 2)
        let silent = try DatagramSocket(serving: SocketAddress(.loopback4, port: 0))
        let server = Nameserver(.v4(0x7F00_0001), port: try silent.localAddress().port)
        let now = Clock.now()
        fetches.setServers([server], NameserverOptions(), now: now)
        let before = fetches.counts.refusedExchanges
        let names = try (0..<4).map { try #require(Name("n\($0).example")) }
        var results: [FetchResult] = []
        let pending = names.map { name in fetches.ask(Question(name, .a), now: now) { results.append($0) } }
        #expect(fetches.counts.refusedExchanges > before)
        fetches.reportResults()
        #expect(results.allSatisfy { if case .failure(.overload) = $0 { true } else { false } } && !results.isEmpty)
        // The places of the cancelled requests are free again.
        for request in pending { fetches.cancel(request) }
        let refused = fetches.counts.refusedExchanges
        _ = fetches.ask(Question(names[0], .a), now: now) { _ in }
        #expect(fetches.counts.refusedExchanges == refused)
    }

    @Test("the soft limit is raised to the hard one")
    func raised() throws {
        try Machine.raiseDescriptorLimit()
        #expect(Machine.descriptorLimit > 0)
        #expect(ProcessStatus.current().descriptorLimit == Machine.descriptorLimit)
    }
}
