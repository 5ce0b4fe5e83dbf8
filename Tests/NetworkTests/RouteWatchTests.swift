// The watch on the kernel's routes, in a network namespace of the test: its first reading, later messages, and changes
// that it notices without a message.

import DNSWire
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Network

@Suite(.enabled(if: NetworkNamespace.isPossible))
struct RouteWatchTests {
    /// Two links with a cable between them: index 2 is `right`, 3 is `left`.
    private static let cable = [
        "link add left index 3 type veth peer name right index 2", "link set left addrgenmode none",
        "link set right addrgenmode none", "link set left up", "link set right up",
    ]

    @Test func `what is there at first is read`() throws {
        let network = try NetworkNamespace()
        try network.ip(
            lines: RouteWatchTests.cable
                + [
                    "link add bridge9 index 9 type bridge",
                    "addr add 10.1.0.2/24 dev left", "addr add 2001:db8:1::2/64 dev left",
                    "addr add 10.9.0.1 peer 10.9.0.2/32 dev right",
                    "route add default via 10.1.0.1 metric 100", "route add 192.0.2.0/24 via inet6 fe80::8 dev left",
                    "route add default via 10.1.0.9 table 1000", "route add blackhole 10.66.0.0/16",
                    "route add 10.7.0.0/16 nexthop dev right nexthop via 10.1.0.8 dev left",
                    "route add ::/0 via fe80::1 dev left metric 7",
                    "neigh add 10.1.0.1 lladdr 02:00:00:00:00:01 dev left nud reachable",
                    "neigh add 10.1.0.77 lladdr 02:00:00:00:00:77 dev left nud reachable",
                    "neigh add fe80::1 lladdr 02:00:00:00:00:02 dev left nud permanent",
                ])
        let first = try network.within { try RouteWatch() }
        // A new IPv6 address is not usable at once.
        let isComplete = try settle(first, network) { lines in
            lines.contains("address 2001:db8:1::2/64 on 3") && lines.count { $0.hasSuffix("veth type 1 up") } == 2
        }
        try #require(isComplete != nil)
        let tables = try network.within { try RouteWatch() }.tables
        #expect(
            tables.lines == [
                "link 1 lo plain type 772 up", "link 2 right veth type 1 up", "link 3 left veth type 1 up",
                "link 9 bridge9 bridge type 1 down",
                "address 10.1.0.2/24 on 3", "address 10.9.0.1/32 on 2", "address 127.0.0.1/8 on 1",
                "address ::1/128 on 1", "address 2001:db8:1::2/64 on 3",
                "route 0.0.0.0/0 via 10.1.0.1 on 3 metric 100 table 254",
                "route 0.0.0.0/0 via 10.1.0.9 on 3 metric 0 table 1000",
                "route 10.1.0.0/24 on 3 metric 0 table 254", "route 10.7.0.0/16 on 2 metric 0 table 254",
                "route 10.9.0.2/32 on 2 metric 0 table 254",
                "route 192.0.2.0/24 via fe80::8 on 3 metric 0 table 254",
                "route ::/0 via fe80::1 on 3 metric 7 table 254",
                "route 2001:db8:1::/64 on 3 metric 256 table 254",
                "neighbour 10.1.0.1 on 3 is 02:00:00:00:00:01", "neighbour fe80::1 on 3 is 02:00:00:00:00:02",
            ])
    }

    @Test func `each kind of change is reported, and what is no change is not`() throws {
        let (network, watch) = try cabled(["addr add 10.1.0.2/24 dev left"])
        try check(watch, network, "route add default via 10.1.0.1", adds: ["route 0.0.0.0/0 via 10.1.0.1 on 3"])
        try check(
            watch, network, "neigh add 10.1.0.1 lladdr 02:00:00:00:00:01 dev left nud reachable", adds: ["neighbour"])
        try check(watch, network, "neigh replace 10.1.0.1 lladdr 02:00:00:00:00:01 dev left nud stale")
        try check(watch, network, "neigh add 10.1.0.5 lladdr 02:00:00:00:00:05 dev left nud reachable")
        try check(
            watch, network, "route replace default via 10.1.0.5",
            adds: ["route 0.0.0.0/0 via 10.1.0.5 on 3", "neighbour 10.1.0.5 on 3 is 02:00:00:00:00:05"], removes: 2)
        try check(watch, network, "neigh del 10.1.0.5 dev left", removes: 1)
        try check(
            watch, network, "addr add 2001:db8:1::2/64 dev left",
            adds: ["address 2001:db8:1::2/64", "route 2001:db8:1::/64"])
        try check(watch, network, "link set right name other", adds: ["link 2 other"], removes: 1)
        try check(watch, network, "-6 route add blackhole 2001:db8:9::/48")
        try check(watch, network, "link set left mtu 1400")
        // The default route and both prefixes end with the link; the kernel sends no message for those of IPv4.
        try check(watch, network, "link set left down", adds: ["link 3 left veth type 1 down"], removes: nil)
        #expect(!watch.tables.lines.contains { $0.hasPrefix("route") && $0.contains("on 3") })
        try check(watch, network, "link del left", removes: nil)
        #expect(watch.tables.lines.filter { $0.hasPrefix("link") } == ["link 1 lo plain type 772 up"])
    }

    private func drain(_ watch: RouteWatch) throws {
        var entry = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&entry, 1, 0) == 1 { _ = try watch.takeChanges() }
    }

    private func check(
        _ watch: RouteWatch, _ network: NetworkNamespace, _ command: String, adds: [String] = [], removes: Int? = 0
    ) throws {
        let before = watch.tables.lines
        try network.ip(command)
        let isChanged = try settle(watch, network) { lines in
            adds.allSatisfy { line in lines.contains { $0.hasPrefix(line) } }
        }
        let after = watch.tables.lines
        #expect(isChanged == (before != after), "\(command)")
        let added = after.filter { !before.contains($0) }
        if removes != nil { #expect(added.count == adds.count, "\(command): \(added)") }
        for line in adds { #expect(added.contains { $0.hasPrefix(line) }, "\(command): \(added)") }
        if let removes { #expect(before.count { !after.contains($0) } == removes, "\(command)") }
    }

    /// Takes changes until the tables equal those of a new watch and `isAwaited` holds. The kernel handles carriers and
    /// new IPv6 addresses with a delay.
    ///
    /// - Returns: whether a change was reported; nil after the longest wait.
    private func settle(
        _ watch: RouteWatch, _ network: NetworkNamespace, until isAwaited: ([String]) -> Bool = { _ in true }
    ) throws -> Bool? {
        var isChanged = try watch.takeChanges()
        let deadline = Clock.now() + patience
        while Clock.now() < deadline {
            let anew = try network.within { try RouteWatch() }.tables
            isChanged = try watch.takeChanges() || isChanged
            if watch.tables == anew, isAwaited(anew.lines) { return isChanged }
            var entry = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&entry, 1, 100)
        }
        return nil
    }

    /// A network with both links, each with a carrier.
    private func cabled(_ lines: [String] = []) throws -> (NetworkNamespace, RouteWatch) {
        let network = try NetworkNamespace()
        try network.ip(lines: RouteWatchTests.cable + lines)
        let watch = try network.within { try RouteWatch() }
        let isUp = try settle(watch, network) { lines in lines.count { $0.hasSuffix("veth type 1 up") } == 2 }
        try #require(isUp != nil)
        return (network, watch)
    }

    @Test(arguments: [UInt64(12), 13, 74, 115])
    func `after any change of a network, the watch knows what a new watch reads`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (network, watch) = try cabled()
        for step in 0..<60 {
            let command = randomCommand(using: &random)
            let before = watch.tables.lines
            // The kernel refuses many of the commands: there is no such route, or the link is down.
            _ = try? network.ip(command + " 2>/dev/null")
            guard try settle(watch, network) != nil else {
                Issue.record("seed \(seed), step \(step): \(command), before: \(before)")
                return
            }
        }
    }

    private func randomCommand(using random: inout SeededRandom) -> String {
        let link = ["left", "right"].randomElement(using: &random) ?? ""
        let digit = Int.random(in: 1...3, using: &random)
        let metric = Int.random(in: 1...2, using: &random)
        let verb = ["add", "append", "replace", "change", "del", "add"].randomElement(using: &random) ?? ""
        let commands = [
            "link set \(link) down", "link set \(link) up", "addr add 10.\(digit).0.2/24 dev \(link)",
            "addr del 10.\(digit).0.2/24 dev \(link)", "addr add 2001:db8:\(digit)::2/64 dev \(link)",
            "addr add 10.\(digit).0.2/24 dev left", "addr add 2001:db8:\(digit)::2/64 dev left",
            "addr del 2001:db8:\(digit)::2/64 dev \(link)", "addr flush dev \(link)",
            "route \(verb) default via 10.\(digit).0.1 metric \(metric)",
            "route \(verb) default via 10.\(digit).0.1 metric \(metric) table 77",
            "route \(verb) 10.80.0.0/16 via 10.\(digit).0.1 src 10.\(metric).0.2",
            "route \(verb) blackhole 10.80.0.0/16", "route \(verb) 10.81.0.0/16 dev \(link)",
            "route \(verb) 10.82.0.0/16 nexthop via 10.1.0.1 nexthop via 10.\(digit).0.9",
            "-6 route \(verb) default via 2001:db8:\(digit)::1 metric \(metric)",
            "-6 route \(verb) default via fe80::\(digit) dev \(link) metric \(metric)",
            "-6 route \(verb) 2001:db8:80::/48 nexthop via 2001:db8:1::1 nexthop via 2001:db8:\(digit)::9",
            "neigh replace 10.\(digit).0.1 lladdr 02:00:00:00:00:0\(metric) dev \(link) nud permanent",
            "neigh replace fe80::\(digit) lladdr 02:00:00:00:00:0\(metric) dev \(link) nud permanent",
            "neigh del 10.\(digit).0.1 dev \(link)",
        ]
        return commands.randomElement(using: &random) ?? ""
    }

    @Test func `two hundred container links that come and go leave the tables as they were, at little cost`() throws {
        let (network, watch) = try cabled(["addr add 10.1.0.2/24 dev left", "route add default via 10.1.0.1"])
        let before = watch.tables
        var lines: [String] = []
        for pair in 0..<200 {
            lines += ["link add c\(pair) type veth peer name d\(pair)", "link set c\(pair) up", "link set d\(pair) up"]
            lines += ["addr add 172.17.\(pair).1/24 dev c\(pair)", "link del c\(pair)"]
        }
        let work = Account(watch)
        for start in stride(from: 0, to: lines.count, by: 50) {
            try network.ip(lines: Array(lines[start..<start + 50]))
            try work.takeChanges()
        }
        #expect(try settle(watch, network) != nil)
        #expect(watch.tables == before)
        print("200 veth pairs: \(work.processorTime) of processor time in \(work.turns) turns")
        #expect(work.processorTime < .seconds(2), "it is some 30 ms on an idle machine")
    }

    @Test func `more news than the kernel keeps for us are noticed, and everything is read anew`() throws {
        let network = try NetworkNamespace()
        try network.ip(lines: RouteWatchTests.cable)
        let watch = try network.within { try RouteWatch(receiveBufferBytes: 4096) }
        let lines = (0..<200).map { "addr add 10.\($0).0.2/24 dev left" }
        try network.ip(lines: lines)
        #expect(try watch.takeChanges())
        #expect(watch.tables.addresses.count { $0.link == 3 } == 200)
        try drain(watch)
        // Later messages count again.
        try network.ip("addr del 10.7.0.2/24 dev left")
        #expect(try watch.takeChanges())
        #expect(watch.tables.addresses.count { $0.link == 3 } == 199)
    }

    @Test func `of too many routes the default ones are kept`() throws {
        let (network, watch) = try cabled(["addr add 10.1.0.2/24 dev left"])
        let extra = 500
        try network.ip(
            lines: (0..<RouteMirror.maxRoutes + extra).map { "route add 172.16.\($0 / 250).\($0 % 250) dev left" })
        try network.ip("route add default via 10.1.0.1")
        try drain(watch)
        #expect(watch.tables.routes.count { $0.destination.length == 32 } >= RouteMirror.maxRoutes - extra)
        #expect(watch.tables.routes.count <= RouteMirror.maxRoutes + 1)
        #expect(watch.tables.routes.contains { $0.destination.length == 0 })
        // The watch reads left-out routes when there is room again.
        try network.ip("route flush proto boot")
        try network.ip("route add 10.99.0.0/16 dev left")
        try drain(watch)
        #expect(watch.tables == (try network.within { try RouteWatch() }.tables))
    }

    @Test func `a solicited neighbour becomes known`() throws {
        let network = try NetworkNamespace()
        let peer = try NetworkNamespace()
        try network.ip(lines: ["link add left index 3 type veth peer name right index 2"])
        try network.ip("link set right netns \(peer.name)")
        try network.ip(lines: ["link set left up", "addr add 10.1.0.2/24 dev left", "route add default via 10.1.0.1"])
        try peer.ip(lines: ["link set right up", "addr add 10.1.0.1/24 dev right"])
        let watch = try network.within { try RouteWatch() }
        let gateway = try #require(Address("10.1.0.1"))
        try network.within { RouteWatch.solicit(gateway, link: 3) }
        let deadline = Clock.now() + patience
        while watch.tables.neighbours.isEmpty, Clock.now() < deadline {
            var entry = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&entry, 1, 100)
            _ = try watch.takeChanges()
        }
        #expect(watch.tables.neighbours.map(\.address) == [gateway])
        #expect(watch.tables.neighbours.map(\.hardwareAddress.count) == [6])
    }
}

private let patience: Duration = .seconds(20)

/// The processor time of a watch.
private final class Account {
    private let watch: RouteWatch
    private(set) var processorTime = Duration.zero
    private(set) var turns = 0

    init(_ watch: RouteWatch) {
        self.watch = watch
    }

    func takeChanges() throws {
        let before = Account.threadTime()
        _ = try watch.takeChanges()
        processorTime += Account.threadTime() - before
        turns += 1
    }

    private static func threadTime() -> Duration {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
