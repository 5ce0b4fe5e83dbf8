// The bounds of probes: how many run at once, which targets are refused, and that each ends once and releases its
// resources.

import DNSWire
import Glibc
import Crypto
import LinuxIO
import Resolver
import Settings
import Telemetry
import Testing

@testable import Daemon

struct ProbeBoundsTests {
    private let stand: ProbeStand
    private var probes: Probes { stand.probes }

    init() throws {
        stand = try ProbeStand()
    }

    private func start(_ numbers: Range<UInt64>, _ target: ProbeTarget, now: Instant) {
        for number in numbers { probes.start(ProbeID(number), target, now: now) }
    }

    private func take() -> [(number: UInt64, result: ProbeResult)] {
        probes.takeFinished().map { ($0.id.number, $0.result) }
    }

    @Test("what the settings switch off is not probed, and nothing is wrong with that")
    func off() throws {
        var settings = Settings.Probe()
        settings.enabled = false
        let setup = try ProbeSetup(settings)
        probes.configure(setup)
        probes.start(ProbeID(1), try stand.target(443), now: Clock.now())
        #expect(try stand.onlyResult() == ProbeResult(.unprobed, detail: "probes are off"))
        #expect(setup.problem == nil)
    }

    @Test("a file of authorities that cannot be used is refused", arguments: ["/nonexistent/ca.pem", "/dev/null"])
    func unusableFile(_ file: String) {
        var settings = Settings.Probe()
        settings.caFile = file
        #expect(throws: CryptoError.self) { try ProbeSetup(settings) }
    }

    @Test("new settings are for the probes that begin later")
    func reload() throws {
        let server = try ProbedServer(.silent, stand.loop)
        let now = Clock.now()
        try start(0..<1, stand.target(server.port), now: now)
        try stand.configure(timeout: .seconds(5))
        try start(1..<2, stand.target(server.port), now: now)
        #expect(probes.nextDeadline == now + ProbeStand.timeout)
        probes.timePassed(now: now + ProbeStand.timeout)
        #expect(take().map(\.number) == [0])
        #expect(probes.nextDeadline == now + .seconds(5))
    }

    @Test("a name that no certificate can have is not asked for", arguments: [".", "*.example", "192.0.2.1"])
    func names(text: String) throws {
        let server = try ProbedServer(.silent, stand.loop)
        probes.start(ProbeID(1), try stand.target(server.port, name: text), now: Clock.now())
        #expect(try stand.onlyResult().verdict == .unprobed)
    }

    @Test("more probes than the bound end at once, and no address has to answer for it")
    func tooMany() throws {
        let server = try ProbedServer(.silent, stand.loop)
        try start(0..<UInt64(Probes.maxRunning + 1), stand.target(server.port), now: Clock.now())
        let finished = take()
        #expect(finished.map(\.number) == [UInt64(Probes.maxRunning)])
        #expect(finished.first?.result == ProbeResult(.unprobed, detail: "too many concurrent probes"))
        #expect(probes.running == Probes.maxRunning)
    }

    @Test("two hundred tarpits get their time, and every connection is given back")
    func tarpits() throws {
        let server = try ProbedServer(.silent, stand.loop)
        let target = try stand.target(server.port)
        let count: UInt64 = 200
        var ended: [UInt64] = []
        while UInt64(ended.count) < count {
            let next = UInt64(ended.count)
            let now = Clock.now()
            start(next..<min(next + UInt64(Probes.maxRunning), count), target, now: now)
            let expected = next + UInt64(probes.running)
            try stand.turn { server.accepted == expected && server.speakerCount >= probes.running }
            probes.timePassed(now: now + ProbeStand.timeout)
            let finished = take()
            #expect(finished.allSatisfy { $0.result.verdict == .tlsTimeout } && probes.running == 0)
            ended += finished.map(\.number)
        }
        #expect(ended == Array(0..<count))
        try stand.turn { server.connectionCount == 0 }
    }

    @Test("descriptors are given back, and where there is none left, no address has to answer for it")
    func descriptors() async {
        // The test runs in a process of its own, because other tests open and close descriptors all the time.
        await #expect(processExitsWith: .success) {
            let test = try ProbeBoundsTests()
            let server = try ProbedServer(.silent, test.stand.loop)
            let target = try test.stand.target(server.port)
            let before = ProcessStatus.current().openDescriptors
            let now = Clock.now()
            test.start(0..<64, target, now: now)
            try #require(ProcessStatus.current().openDescriptors == before + 64)
            test.probes.timePassed(now: now + ProbeStand.timeout)
            try #require(ProcessStatus.current().openDescriptors == before && test.take().count == 64)
            let next = dup(0)
            close(next)
            var none = rlimit(rlim_cur: rlim_t(next), rlim_max: rlim_t(next))
            try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
            test.start(1..<2, target, now: now)
            let result = try test.stand.onlyResult()
            try #require(result.verdict == .unprobed && result.detail.contains("EMFILE"))
            exit(EXIT_SUCCESS)
        }
    }

    @Test("probes that are abandoned end once, without a verdict, and close")
    func abandoned() throws {
        let server = try ProbedServer(.silent, stand.loop)
        let now = Clock.now()
        try start(0..<5, stand.target(server.port), now: now)
        try stand.turn { server.speakerCount == 5 }
        probes.abandonAll()
        probes.abandonAll()
        probes.timePassed(now: now + ProbeStand.timeout)
        let finished = take()
        #expect(finished.map(\.number) == [0, 1, 2, 3, 4] && probes.running == 0 && probes.nextDeadline == nil)
        #expect(finished.allSatisfy { $0.result.verdict == .unprobed })
        try stand.turn { server.connectionCount == 0 }
        #expect(!probes.hasFinished)
        #expect(probes.durations.percentile(100) == nil)
    }

    @Test("on another network the probes of the former one are given up")
    func otherNetwork() throws {
        let slowPath = try ResolvingStand().resolving
        let server = try ProbedServer(.silent, slowPath.loop)
        var settings = Settings.Probe()
        settings.caFile = stand.caFile
        slowPath.probes.configure(try ProbeSetup(settings))
        slowPath.probes.start(ProbeID(1), try stand.target(server.port), now: Clock.now())
        #expect(slowPath.probes.running == 1)
        slowPath.networkChanged(to: NetworkID(rawValue: 2), now: Clock.now())
        #expect(slowPath.probes.running == 0)
        let finished = slowPath.probes.takeFinished()
        #expect(finished.map(\.result) == [ProbeResult(.unprobed, detail: "abandoned")])
    }

    @Test("probes of different servers do not get in each other's way")
    func mixed() throws {
        let silent = try ProbedServer(.silent, stand.loop)
        let greeting = try ProbedServer(.greets(Array("220 mail\r\n".utf8)), stand.loop)
        let ending = try ProbedServer(.ends, stand.loop)
        let now = Clock.now()
        for (number, server) in [silent, greeting, ending, silent, greeting, ending].enumerated() {
            probes.start(ProbeID(UInt64(number)), try stand.target(server.port), now: now)
        }
        var verdicts: [UInt64: Verdict] = [:]
        try stand.turn {
            for (number, result) in take() { verdicts[number] = result.verdict }
            return verdicts.count == 4
        }
        #expect(verdicts == [1: .notTLS, 2: .tlsReset, 4: .notTLS, 5: .tlsReset] && probes.running == 2)
        probes.abandonAll()
    }
}
