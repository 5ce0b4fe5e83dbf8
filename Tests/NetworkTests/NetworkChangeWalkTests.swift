// A machine whose network changes at random, with the invariants of `NetworkChanges`.

import DNSWire
import Network
import Testing
import TestSupport

@Suite struct NetworkChangeWalkTests {
    @Test("whatever happens, every unrest has one end within a second", arguments: 1...30 as ClosedRange<UInt64>)
    func walk(_ seed: UInt64) throws {
        var walk = try NetworkChangeWalk(seed: seed)
        for _ in 0..<150 { try walk.step() }
        walk.checkOrder()
        walk.checkRest()
    }
}

/// Random steps and their checks.
private struct NetworkChangeWalk {
    private var random: SeededRandom
    private let seed: UInt64
    private var machine = Machine()
    private var run: NetworkChangeRun
    private var time = 0
    private var domains: [String] = []

    private static let commands = [
        "up eth0", "down eth0", "up wlan0", "down wlan0", "leave wlan0", "address 10.1.0.2/24 eth0",
        "address 10.1.0.3/24 eth0", "no address 10.1.0.2/24 eth0", "address 10.2.0.2/24 wlan0",
        "address 2001:db8::2/64 wlan0", "route default eth0 via 10.1.0.1 metric 100",
        "route default eth0 via 10.1.0.9 metric 50", "no route default eth0",
        "route default wlan0 via 10.2.0.1 metric 600", "no route default wlan0", "route default6 wlan0 via fe80::1",
        "no route default6 wlan0", "neighbour 10.1.0.1 0a:00:00:00:00:01 eth0",
        "neighbour 10.1.0.9 0a:00:00:00:00:09 eth0", "neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0",
        "neighbour fe80::1 0a:00:00:00:00:02 wlan0", "no neighbour 10.1.0.1 eth0", "no neighbour 10.2.0.1 wlan0",
        "route 10.9.0.0/16 wg0", "no route 10.9.0.0/16 wg0", "route default wg0 table 51820",
        "no route default wg0", "route 172.17.0.0/16 docker0", "no route 172.17.0.0/16 docker0",
    ]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        for link in ["eth0 ethernet", "wlan0 wifi", "wg0 wireguard", "docker0 bridge"] {
            try machine.run("link \(link)")
        }
        if Bool.random(using: &random) { try machine.run("join eth0 ethernet 10.1.0.2/24 via 10.1.0.1") }
        run = NetworkChangeRun(tables: machine.tables, searchDomains: [])
    }

    mutating func step() throws {
        // The steps come in bursts, with pauses of up to three seconds.
        time +=
            Int.random(in: 0..<10, using: &random) < 7
            ? Int.random(in: 0...200, using: &random) : Int.random(in: 0...3000, using: &random)
        run.advance(to: time)
        switch Int.random(in: 0..<20, using: &random) {
        case 0: run.take(.woke)
        case 1:
            domains = Bool.random(using: &random) ? ["lan"] : []
            run.take(.searchDomains(domains))
        default:
            for _ in 0...Int.random(in: 0...2, using: &random) {
                try machine.run(
                    NetworkChangeWalk.commands[Int.random(in: 0..<NetworkChangeWalk.commands.count, using: &random)])
            }
            run.take(.tables(machine.tables))
        }
        #expect(run.changes.reach == NetworkReach(of: machine.tables), "seed \(seed), \(time) ms")
        #expect(run.changes.isChanging == (openSince != nil), "seed \(seed), \(time) ms")
    }

    /// The start of the current change; nil if none is open.
    private var openSince: Int? {
        let last = run.actions.last { [.changing, .end].contains(Mark($0.action)) }
        return last.flatMap { Mark($0.action) == .changing ? $0.milliseconds : nil }
    }

    private enum Mark {
        case changing, end, other

        init(_ action: NetworkChanges.Action) {
            switch action {
            case .changing: self = .changing
            case .unchanged, .changed: self = .end
            case .reach, .solicit: self = .other
            }
        }
    }

    mutating func checkOrder() {
        run.finish()
        var since: Int?
        var lastReach: NetworkReach?
        for (time, action) in run.actions {
            switch action {
            case .changing:
                #expect(since == nil, "seed \(seed), \(time) ms: told twice")
                since = time
            case .unchanged:
                #expect(since.map { time - $0 <= 1000 } ?? false, "seed \(seed), \(time) ms: no unrest, or too long")
                since = nil
            case .changed(let change):
                #expect(since.map { time - $0 <= 1000 } ?? true, "seed \(seed), \(time) ms: too long")
                #expect(change.identity != .isolated, "seed \(seed), \(time) ms")
                since = nil
            case .reach(let reach):
                #expect(reach != lastReach, "seed \(seed), \(time) ms: told twice")
                lastReach = reach
            case .solicit:
                break
            }
        }
        #expect(since == nil, "seed \(seed)")
    }

    /// At rest, the network in force is that of the tables, and no deadline is left.
    func checkRest() {
        #expect(run.changes.nextDeadline == nil, "seed \(seed)")
        let seen = machine.identity(searchDomains: domains)
        guard seen != .isolated else { return }
        let identity = run.changes.identity
        // The kernel may have forgotten a hardware address that the daemon still knows.
        let known = seen.isComplete ? identity.gatewayHardware : nil
        #expect(known == (seen.isComplete ? seen.gatewayHardware : nil), "seed \(seed)")
        #expect(
            [identity.kind == seen.kind, identity.gateway == seen.gateway, identity.prefix == seen.prefix]
                == [true, true, true], "seed \(seed)")
        #expect(
            [identity.tunnels, identity.exits, identity.searchDomains]
                == [seen.tunnels, seen.exits, seen.searchDomains], "seed \(seed)")
    }
}
