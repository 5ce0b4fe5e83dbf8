// Evidence outlives the process, in bounded space, and keeps its source.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Store
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

struct EvidenceLogTests {
    private let folder = TemporaryFolder()
    private let now = Clock.now()
    private let question: Question

    init() throws {
        question = Question(try #require(Name("www.example.com")), .a)
    }

    private func divergence(_ mismatched: Source = .system, _ verified: Source = .provider(ProviderID(7)))
        -> ForgeryEvidence
    {
        let claim = { (source: Source, address: UInt32, verdict: Verdict) in
            ForgeryEvidence.Claim(
                source, [.v4(address), .v4(address + 1)], ProbeTarget(question.name, .v4(address), port: 443),
                ProbeResult(verdict))
        }
        return ForgeryEvidence(
            question, mismatched: claim(mismatched, 0xC000_0242, .nameMismatch),
            verified: claim(verified, 0xC000_0201, .verified))
    }

    /// Adds one divergence per second.
    private func add(_ log: EvidenceLog, _ seconds: Range<Int64>) {
        for second in seconds {
            log.add(divergence(), network: Partition(rawValue: 1), wallMilliseconds: second * 1000, now: now)
        }
    }

    /// Restores the log as the daemon does at its start.
    private func restored(_ stand: ResolvingStand) throws -> EvidenceLog {
        let log = stand.evidence()
        try restore(log, stand)
        return log
    }

    private func restore(_ log: EvidenceLog, _ stand: ResolvingStand) throws {
        let deadline = Clock.now() + .seconds(20)
        var isLoaded = false
        while !isLoaded, Clock.now() < deadline {
            try stand.resolving.loop.turn(until: deadline)
            for event in stand.resolving.store?.takeEvents() ?? [] {
                if case .notes(let notes) = event { log.restore(notes, now: now) }
                if case .loaded = event { isLoaded = true }
            }
        }
        try #require(isLoaded)
    }

    @Test("evidence names the source, its address, the network and the time")
    func content() throws {
        let stand = try ResolvingStand()
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        let provider = try #require(stand.resolving.upstreams.providers.providers.first)
        let log = stand.evidence()
        log.add(
            divergence(.provider(provider.id), .system), network: Partition(rawValue: 9), wallMilliseconds: 5_999,
            now: now)
        let report = try #require(log.reports.first)
        #expect(report.seconds == 5 && report.network == 9 && report.name == "www.example.com" && report.type == "A")
        #expect(report.mismatched.source == provider.name && report.mismatched.address == "192.0.2.66")
        #expect(report.mismatched.addresses == ["192.0.2.66", "192.0.2.67"])
        #expect(report.mismatched.verdict == "name-mismatch" && report.mismatched.certificate == nil)
        #expect(report.verified?.source == "system" && report.verified?.address == "192.0.2.1")
        #expect(log.divergences(of: .provider(provider.id)) == 1 && log.divergences(of: .system) == 0)
    }

    @Test("the last 256 are kept, the newest last, and all are counted for their source")
    func ring() throws {
        let log = try ResolvingStand().evidence()
        add(log, 0..<300)
        #expect(log.count == 256 && log.reports.map(\.seconds) == Array(44..<300))
        #expect(log.latest(2).map(\.seconds) == [298, 299] && log.latest(1000).map(\.seconds) == Array(44..<300))
        #expect(log.divergences(of: .system) == 300 && log.divergences(of: .provider(ProviderID(7))) == 0)
    }

    @Test("a source that leads every name astray is named for the log every ten minutes, each one for itself")
    func naming() throws {
        let stand = try ResolvingStand()
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        let provider = Source.provider(try #require(stand.resolving.upstreams.providers.providers.first).id)
        let log = stand.evidence()
        func named(_ sources: [Source], at seconds: Int64) -> [Source] {
            sources.filter {
                log.add(
                    divergence($0), network: Partition(rawValue: 1), wallMilliseconds: 0,
                    now: now + .seconds(seconds))
            }
        }
        #expect(named([.system, .system], at: 0) == [.system])
        #expect(named([.system, provider, .system], at: 599) == [provider])
        #expect(named([.system, provider], at: 600) == [.system])
        #expect(log.divergences(of: .system) == 5 && log.count == 7, "all of it is evidence")
    }

    @Test("an answer that contradicts a rule is kept with the address that speaks against it, and no divergence")
    func contradiction() throws {
        let stand = try ResolvingStand()
        let log = stand.evidence()
        let (first, second) = (Address.v4(0xC000_0201), Address.v4(0xC000_0242))
        let reasons: [Contradiction.Reason] = [.outside(second), .noAlias, .ttl(9)]
        let answers = reasons.map { reason in
            ContradictingAnswer(
                question: question, source: .system, addresses: [first, second],
                contradiction: Contradiction(rule: question.name, reason: reason))
        }
        let named = answers.filter {
            log.add($0, network: Partition(rawValue: 9), wallMilliseconds: 5_999, now: now)
        }
        #expect(named == Array(answers.prefix(1)))
        #expect(log.reports.map(\.mismatched.address) == ["192.0.2.66", "192.0.2.1", "192.0.2.1"])
        #expect(log.reports.allSatisfy { $0.verified == nil && $0.mismatched.verdict == "contradicts-expect" })
        let report = try #require(log.reports.last)
        #expect(report.mismatched.detail == "TTL 9 against expect of the rule for www.example.com")
        #expect(report.seconds == 5 && report.network == 9 && report.mismatched.port == 0)
        #expect(log.divergences(of: .system) == 0)
    }

    @Test("a source that is not asked any more is not counted on")
    func formerSource() throws {
        let stand = try ResolvingStand()
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        let former = Source.provider(try #require(stand.resolving.upstreams.providers.providers.first).id)
        let log = stand.evidence()
        let network = Partition(rawValue: 1)
        log.add(divergence(former), network: network, wallMilliseconds: 0, now: now)
        #expect(log.divergences(of: former) == 1)
        try stand.setProviders([], now: now)
        log.add(divergence(former), network: network, wallMilliseconds: 0, now: now)
        #expect(log.divergences(of: former) == 0 && log.count == 2)
    }

    @Test("the next life has what this one recorded, and goes on behind it, also when the ring is full")
    func restart() throws {
        for (first, second) in [(0..<3, 3..<5), (5..<300, 300..<301)] as [(Range<Int64>, Range<Int64>)] {
            let stand = try ResolvingStand(storeAt: folder("cache.db"))
            let log = try restored(stand)
            let before = log.reports
            add(log, first)
            let after = log.reports
            #expect(after.suffix(first.count).map(\.seconds) == Array(first).suffix(256) && after.count > before.count)
            stand.resolving.store?.stop()
            let nextStand = try ResolvingStand(storeAt: folder("cache.db"))
            let next = try restored(nextStand)
            #expect(next.reports == after && next.brokenNotes == 0)
            add(next, second)
            #expect(next.reports.map(\.number).suffix(2) == [Int(second.upperBound) - 2, Int(second.upperBound) - 1])
            nextStand.resolving.store?.stop()
        }
    }

    @Test("notes that are no evidence, or stand where they would not, are left out and counted")
    func broken() throws {
        let log = try ResolvingStand().evidence()
        let other = try ResolvingStand().evidence()
        add(other, 0..<3)
        let notes = other.reports.map(\.note)
        log.restore(
            [
                "evidence-000": "{}", "evidence-001": notes[2], "evidence-002": notes[2], "evidence-255": "",
                "evidence-256": notes[0], "providers switched off": ". -",
            ], now: now)
        #expect(log.reports == [other.reports[2]] && log.brokenNotes == 3)
        add(log, 9..<10)
        #expect(log.reports.last?.number == 3)
    }

    @Test("what was added before the store is read is numbered behind what is stored, and takes no slot of it")
    func lateStore() throws {
        let stand = try ResolvingStand(storeAt: folder("cache.db"))
        add(try restored(stand), 0..<5)
        stand.resolving.store?.stop()
        let nextStand = try ResolvingStand(storeAt: folder("cache.db"))
        let log = nextStand.evidence()
        add(log, 100..<102)
        #expect(log.latest(1).map(\.seconds) == [101])
        try restore(log, nextStand)
        add(log, 102..<103)
        #expect(log.reports.map(\.seconds) == [0, 1, 2, 3, 4, 100, 101, 102])
        #expect(log.reports.map(\.number) == Array(0..<8))
        nextStand.resolving.store?.stop()
        let last = try ResolvingStand(storeAt: folder("cache.db"))
        #expect(try restored(last).reports == log.reports)
        last.resolving.store?.stop()
    }

    @Test("all evidence and every other note find room in the store")
    func room() {
        #expect(NoteRow.maxCount == EvidenceLog.capacity + 64 + AddedRules.maxNotes)
        let long = String(repeating: "\u{1F600}\"", count: 2_000)
        let certificate = CertificateReport(
            fingerprint: long, issuer: long, names: Array(repeating: long, count: 100), notBefore: .min, notAfter: .min)
        let claim = EvidenceReport.Claim(
            source: long, addresses: Array(repeating: long, count: 100), address: long, port: .max, verdict: long,
            detail: long, certificate: certificate)
        let report = EvidenceReport(
            number: 1 << 52, seconds: .max, name: long, type: long, network: .max, mismatched: claim, verified: claim)
        #expect(NoteRow.fits(name: EvidenceLog.noteName(255), value: report.note))
    }
}
