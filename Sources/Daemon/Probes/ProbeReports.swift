// Formats the resolver's verification state for the control socket.

import Control
import DNSWire
import LinuxIO
import Resolver
import Upstreams

extension Upstreams {
    func name(of source: Source) -> String {
        switch source {
        case .provider(let id): providers.name(of: id) ?? "a removed provider"
        case .nameserver(let id): nameservers[id]?.name ?? "a removed provider"
        case .system: "system"
        case .local: "local"
        case .fallback: "fallback"
        }
    }
}

extension AddressReport {
    init(_ target: ProbeTarget) {
        self.init(name: target.name.description, address: target.address.description, port: Int(target.port))
    }

    init(_ target: ProbeTarget, _ result: ProbeResult) {
        self.init(target)
        set(verdict: result.verdict.rawValue, detail: result.detail)
        connectMilliseconds = result.connectTime?.wholeMilliseconds
        handshakeMilliseconds = result.handshakeTime?.wholeMilliseconds
        certificate = result.certificate.map { CertificateReport($0) }
    }

    init(_ judged: JudgedAddress, now: Instant, nameOfSource: (Source) -> String) {
        self.init(judged.target, judged.result)
        ageSeconds = judged.probedAt.map { max(0, Int($0.duration(to: now).wholeSeconds)) }
        nextProbeSeconds = judged.nextProbeAt.map { max(0, Int(now.duration(to: $0).wholeSeconds)) }
        place = judged.place.rawValue
        reason = judged.place.reason(judged.target.method)
        sources = judged.sources.map(nameOfSource)
    }
}

extension CertificateReport {
    fileprivate init(_ seen: SeenCertificate) {
        self.init(
            fingerprint: seen.fingerprint, issuer: seen.issuer, names: seen.names, notBefore: seen.notBefore,
            notAfter: seen.notAfter)
    }
}

extension SplitNamesReport {
    init(_ found: SplitHorizon, network: String, now: Instant, nameOfSource: (Source) -> String) {
        func statement(_ said: SplitName.Statement) -> Statement {
            Statement(
                source: nameOfSource(said.source), type: said.type.description, answer: said.kind.words,
                addresses: zip(said.addresses, said.verdicts).map {
                    Judged(address: $0.description, verdict: $1.rawValue)
                }, ageSeconds: max(0, Int(said.answeredAt.duration(to: now).wholeSeconds)))
        }
        self.init(
            network: network,
            names: found.names.map { name in
                Found(
                    name: name.name.description, kind: name.kind.rawValue, suffix: name.suffix?.description,
                    isRouted: name.isRouted, here: name.here.map(statement),
                    elsewhere: name.elsewhere.map(statement))
            },
            suffixes: found.suffixes.map {
                Suffix(
                    name: $0.name.description, count: $0.count, isAnnounced: $0.isAnnounced, isRouted: $0.isRouted)
            }, invented: found.invented.map(\.description))
    }
}

extension Answer.Kind {
    fileprivate var words: String {
        switch self {
        case .records: "addresses"
        case .noData, .ambiguousEmpty: "no data"
        case .noSuchName: "no such name"
        }
    }
}

extension EvidenceReport.Claim {
    init(_ claim: ForgeryEvidence.Claim, nameOfSource: (Source) -> String) {
        self.init(
            source: nameOfSource(claim.source), addresses: claim.addresses.map(\.description),
            address: claim.target.address.description, port: Int(claim.target.port),
            verdict: claim.result.verdict.rawValue, detail: claim.result.detail,
            certificate: claim.result.certificate.map { CertificateReport($0) })
    }

    init(_ answer: ContradictingAnswer, nameOfSource: (Source) -> String) {
        let address: Address? =
            if case .outside(let address) = answer.contradiction.reason { address } else { answer.addresses.first }
        self.init(
            source: nameOfSource(answer.source), addresses: answer.addresses.map(\.description),
            address: address?.description ?? "", port: 0, verdict: EvidenceReport.contradiction,
            detail: answer.contradiction.description, certificate: nil)
    }
}

extension ReportOutcome {
    /// - Parameter place: current state of the address.
    init(_ name: Name, _ address: Address, _ findings: [PendingProbe.Finding], _ place: AddressPlace) {
        let verdicts = findings.map(\.result.verdict)
        let canTell = verdicts.contains { $0 != .unprobed && $0 != .timeDoubtful }
        self.init(
            name: name.description, address: address.description,
            found: findings.map { AddressReport($0.target, $0.result) },
            agrees: canTell ? !verdicts.contains(.verified) : nil, isHandedOut: place.isHandedOut,
            reason: place.reason(findings.first?.target.method ?? .handshake))
    }
}

extension AddressPlace {
    fileprivate var isHandedOut: Bool {
        switch self {
        case .quickest, .slower, .behind, .asGiven, .lastResort: true
        case .omittedAsMismatched, .omittedAsUnreachable, .absent: false
        }
    }

    fileprivate func reason(_ method: ProbeMethod) -> String {
        let good = method == .handshake ? "verified" : "reachable"
        return switch self {
        case .quickest: "\(good), nearly as fast as the fastest"
        case .slower: "\(good), slower than the fastest"
        case .behind: "not \(good); after \(good) addresses"
        case .asGiven: "no address of the name has been verified; order unchanged"
        case .omittedAsMismatched: "mismatched; another address is usable"
        case .omittedAsUnreachable: "unreachable; another address is usable"
        case .lastResort: "no better address is known"
        case .absent: "in no cached answer"
        }
    }
}

extension ProbeRefusal {
    /// - Parameter address: nil: all addresses of the name.
    func words(_ name: Name, _ address: Address?) -> String {
        let what = address.map(\.description) ?? "addresses of \(name)"
        switch self {
        case .disabled: return "\(name) is not probed because of [probe] enabled or a [[rule]] with probe = false"
        case .notPublic:
            return "\(what): not a public address; a [[rule]] for \(name) with probe = true allows it"
        case .unknownAddress: return "\(what): \(name) has more addresses than the probe limit"
        case .overload: return "\(what): too many probes are waiting"
        }
    }
}
