// Verified addresses on virtual time, with short forms for answers and verdicts, and a list of the consequences.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct VerificationStand {
    static let alpha = Source.provider(ProviderID(1))
    static let beta = Source.provider(ProviderID(2))

    var verification: Verification
    private(set) var now = Instant.testStart
    private(set) var consequences: [Verification.Consequence] = []
    private(set) var running: [(id: ProbeID, target: ProbeTarget)] = []
    var terms = VerificationStand.terms()
    let name: Name

    init(seed: UInt64 = 1) throws {
        verification = Verification(seed: seed)
        name = try #require(Name("www.example"))
    }

    static func terms(
        enabled: Bool = true, rule: Bool? = nil, ports: [UInt16] = [443], connect: UInt16? = nil,
        prefer: [Prefix]? = nil
    ) -> ProbeTerms {
        var policy = ProbePolicy()
        policy.isEnabled = enabled
        policy.ports = ports
        var named = RuleTerms()
        named.probe = rule
        named.connect = connect
        named.preferAddresses = prefer
        return ProbeTerms(policy, named)
    }

    var question: Question { Question(name, .a) }

    /// The public address with this number; each lies in a /24 of its own.
    static func address(_ number: Int) -> Address { .v4(0x0100_0001 + UInt32(number) << 12) }
    static func address6(_ number: Int) -> Address { .v6(high: 0x2A00_0000_0000_0000 + UInt64(number) << 16, low: 1) }

    func answer(_ numbers: [Int], ttl: UInt32 = 60) -> Answer {
        Answer(
            records: numbers.map {
                ResourceRecord(owner: name, address: VerificationStand.address($0), ttlSeconds: ttl)
            })
    }

    func answer6(_ numbers: [Int], ttl: UInt32 = 60) -> Answer {
        Answer(
            records: numbers.map {
                ResourceRecord(owner: name, address: VerificationStand.address6($0), ttlSeconds: ttl)
            })
    }

    static func numbers(_ answer: Answer) -> [Int] {
        answer.addresses.map { address in (0..<1000).first { self.address($0) == address } ?? -1 }
    }

    // MARK: what happens

    /// Keeps A records of the name.
    mutating func kept(
        _ numbers: [Int], from source: Source = alpha, ttl: UInt32 = 60, isInUse: Bool = true, isDoubted: Bool = false
    ) {
        kept(question, answer(numbers, ttl: ttl), from: source, isInUse: isInUse, isDoubted: isDoubted)
    }

    mutating func kept(
        _ question: Question, _ answer: Answer, from source: Source = alpha, isInUse: Bool = true,
        isDoubted: Bool = false
    ) {
        verification.answered(question, answer, usable: answer, by: source, took: nil, now: now)
        verification.kept(question, answer, from: source, terms, isInUse: isInUse, isDoubted: isDoubted, now: now)
        collect()
    }

    mutating func heard(_ numbers: [Int], from source: Source = beta) {
        let answer = answer(numbers)
        verification.answered(question, answer, usable: answer, by: source, took: nil, now: now)
        verification.heard(question, answer, from: source, terms, now: now)
        collect()
    }

    mutating func asked() {
        verification.asked(question, now: now)
        collect()
    }

    mutating func servedAgain() {
        verification.servedAgain(question, now: now)
        collect()
    }

    mutating func recordNoBetterSource() {
        verification.recordNoBetterSource(question, isCertain: true, now: now)
        collect()
    }

    mutating func requested(_ number: Int?) {
        verification.requested(name, number.map(VerificationStand.address), terms, now: now)
        collect()
    }

    mutating func evidence(_ number: Int) {
        verification.evidence(name, VerificationStand.address(number), now: now)
        collect()
    }

    mutating func forgotten(_ scope: QuestionScope) {
        verification.forgotten(scope)
        collect()
    }

    /// Returns to a network whose state is known.
    mutating func changeNetwork(hottest: [Name]) {
        verification.networkChanged(nil, hottest: hottest, now: now)
        collect()
    }

    /// Moves the clock forward, and handles each deadline on the way.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let due = verification.nextDeadline, due <= end {
            now = max(now, due)
            verification.timePassed(now: now)
            collect()
        }
        now = end
    }

    /// Ends the probe of this address.
    mutating func found(_ number: Int, _ verdict: Verdict, in milliseconds: Int = 20, port: UInt16 = 443) throws {
        try found(VerificationStand.address(number), verdict, in: milliseconds, port: port)
    }

    mutating func found(
        _ address: Address, _ verdict: Verdict, in milliseconds: Int = 20, port: UInt16 = 443
    ) throws {
        let isMeant = { (probe: (id: ProbeID, target: ProbeTarget)) in
            probe.target.address == address && probe.target.port == port
        }
        let index = try #require(running.firstIndex(where: isMeant), "no probe of \(address)")
        var result = ProbeResult(verdict)
        if verdict == .verified { result.handshakeTime = .milliseconds(milliseconds) }
        if verdict == .connected { result.connectTime = .milliseconds(milliseconds) }
        verification.probeFinished(running.remove(at: index).id, result, now: now)
        collect()
    }

    /// Waits until all probes have begun, at most a second, and ends them with these verdicts.
    mutating func learn(_ verdicts: [Int: Verdict]) throws {
        pass(Bounds.probeJitter)
        for (number, verdict) in verdicts.sorted(by: { $0.key < $1.key }) { try found(number, verdict) }
    }

    // MARK: what follows

    var probed: [Int] {
        running.map { probe in (0..<1000).first { VerificationStand.address($0) == probe.target.address } ?? -1 }
            .sorted()
    }

    /// The addresses that a client would get now, in order.
    mutating func handedOut(_ numbers: [Int]) -> [Int] {
        VerificationStand.numbers(verification.arranged(question, answer(numbers), now: now))
    }

    mutating func take() -> [Verification.Consequence] {
        defer { consequences = [] }
        return consequences
    }

    /// The addresses of the rearranged answers since the last call.
    mutating func takeRearranged() -> [[Int]] {
        take().compactMap {
            if case .rearrange(_, let answer, _) = $0 { VerificationStand.numbers(answer) } else { nil }
        }
    }

    func place(of number: Int) -> AddressPlace? {
        verification.judged(name).first { $0.target.address == VerificationStand.address(number) }?.place
    }

    func awaits(_ source: Source) -> Bool { consequences.contains(.awaitAsk(question, source)) }

    func asksElsewhere(excluding source: Source) -> Bool {
        consequences.contains { isAsking($0, question, excluding: source) }
    }

    func isAsking(_ consequence: Verification.Consequence, _ question: Question, excluding source: Source) -> Bool {
        if case .askElsewhere(question, source, _) = consequence { true } else { false }
    }

    private mutating func collect() {
        for consequence in verification.takeConsequences() {
            if case .probe(let id, let target) = consequence { running.append((id, target)) }
            consequences.append(consequence)
        }
    }
}
