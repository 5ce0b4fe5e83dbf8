// Probes on an event loop of their own.

import DNSWire
import LinuxIO
import Resolver
import Settings
import Telemetry
import TestSupport
import Testing

@testable import Daemon
@testable import TestTLS

struct ProbeStand {
    let loop: EventLoop
    let probes: Probes
    private let folder = TemporaryFolder()

    static let timeout: Duration = .seconds(2)
    static let localhost = Address.v4(0x7F00_0001)

    /// - Parameter wallMilliseconds: the wall clock in milliseconds since 1970.
    init(
        trusting authority: TestCertificate = TestCertificate(CertificateTerms(subject: "nobody's", isAuthority: true)),
        wallMilliseconds: @escaping () -> Int64 = Clock.wallMilliseconds
    ) throws {
        loop = try EventLoop()
        probes = Probes(loop: loop, wallMilliseconds: wallMilliseconds)
        folder.write(authority.pem, to: caFile)
        try configure()
    }

    var caFile: String { folder("ca.pem") }

    func configure(timeout: Duration = ProbeStand.timeout, sendsRequest: Bool = false) throws {
        var settings = Settings.Probe()
        settings.caFile = caFile
        settings.timeout = timeout
        settings.http = sendsRequest
        probes.configure(try ProbeSetup(settings))
    }

    func target(_ port: UInt16, _ address: Address = localhost, name: String = "www.example") throws -> ProbeTarget {
        ProbeTarget(try #require(Name(name)), address, port: port)
    }

    func turn(until isSo: () -> Bool) throws {
        let deadline = Clock.now() + .seconds(20)
        while !isSo(), Clock.now() < deadline { try loop.turn(until: deadline) }
        #expect(isSo())
    }

    /// The result of a probe that ends by itself.
    func found(_ target: ProbeTarget) throws -> ProbeResult {
        probes.start(ProbeID(1), target, now: Clock.now())
        try turn { probes.hasFinished }
        #expect(probes.running == 0)
        return try onlyResult()
    }

    /// The result of a probe whose server accepts the connection and completes no handshake.
    func found(_ conduct: ProbedServer.Conduct) throws -> ProbeResult {
        let server = try ProbedServer(conduct, loop)
        let result = try found(target(server.port))
        #expect(result.connectTime.map { $0 >= .zero && $0 < .seconds(20) } ?? false)
        #expect(result.handshakeTime == nil && result.certificate == nil)
        return result
    }

    /// The result of a probe that reaches its deadline after the condition held.
    func foundAtDeadline(_ target: ProbeTarget, after isSo: () -> Bool) throws -> ProbeResult {
        let now = Clock.now()
        probes.start(ProbeID(1), target, now: now)
        #expect(probes.nextDeadline == now + ProbeStand.timeout)
        try turn(until: isSo)
        probes.timePassed(now: now + ProbeStand.timeout - .nanoseconds(1))
        #expect(!probes.hasFinished && probes.running == 1)
        probes.timePassed(now: now + ProbeStand.timeout)
        #expect(probes.running == 0 && probes.nextDeadline == nil)
        #expect((probes.durations.percentile(100) ?? 0) >= Int(ProbeStand.timeout.microsecondsRoundedUp))
        return try onlyResult()
    }

    func onlyResult() throws -> ProbeResult {
        let finished = probes.takeFinished()
        #expect(finished.map(\.id) == [ProbeID(1)] && !probes.hasFinished)
        return try #require(finished.first).result
    }
}
