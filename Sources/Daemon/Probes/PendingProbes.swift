// Runs `verify` and `report` commands: requests probes, streams each finding to the client, and reports the
// consequences. A report by an application is never trusted by itself; it only causes a probe.

import Control
import DNSWire
import LinuxIO
import Resolver

final class PendingProbes: TimedPart {
    let timer = PartTimer()
    private let resolving: ResolvingLoop
    private var running: [Running] = [] { didSet { timer.changed() } }
    private var nextNumber = 0
    private var allowance = ReportAllowance()
    private(set) var reportsAccepted: UInt64 = 0
    private(set) var reportsRefused: UInt64 = 0

    private struct Running {
        let number: Int
        var probe: PendingProbe
        let stream: ControlStream
        let wantsJSON: Bool
    }

    /// Bound on running `verify` commands, and on running `report` commands, so that reports do not keep operators from
    /// verifying.
    static let maxRunning = 16

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    var nextDeadline: Instant? { running.compactMap(\.probe.nextDeadline).min() }

    func verify(_ name: Name, wantsJSON: Bool, now: Instant) throws(Refusal) -> ControlStream {
        let probe = PendingProbe(.verify, of: name, cached: resolving.cachedTargets(of: name))
        guard let stream = begin(probe, wantsJSON: wantsJSON, now: now) else {
            throw Refusal(
                "\(PendingProbes.maxRunning) names are being verified; wait for one to end", wantsJSON: wantsJSON)
        }
        return stream
    }

    func report(
        _ name: Name, _ address: Address, by userID: UInt32, wantsJSON: Bool, now: Instant
    ) throws(Refusal) -> ControlStream {
        guard allowance.take(userID: userID, now: now) else {
            reportsRefused += 1
            throw Refusal(
                "too many reports by user \(userID); allowed: one in \(ReportAllowance.interval.wholeSeconds) s, "
                    + "and \(ReportAllowance.saved) at once", wantsJSON: wantsJSON)
        }
        guard let stream = begin(PendingProbe(.report(address), of: name), wantsJSON: wantsJSON, now: now) else {
            reportsRefused += 1
            throw Refusal(
                "\(PendingProbes.maxRunning) reports are being checked; wait for one to end", wantsJSON: wantsJSON)
        }
        return stream
    }

    /// Takes the result of a probe, whatever requested it.
    func take(_ news: ProbeNews, now: Instant) {
        for number in running.map(\.number) { proceed(number, now: now) { $0.take(news, now: now) } }
    }

    func timePassed(now: Instant) {
        for entry in running where entry.probe.nextDeadline.map({ $0 <= now }) ?? false {
            let known = resolving.judged(entry.probe.name).map(\.target)
            proceed(entry.number, now: now) { $0.timePassed(known: known, now: now) }
        }
    }

    /// Returns the stream of the answer; nil if too many commands run.
    private func begin(_ probe: PendingProbe, wantsJSON: Bool, now: Instant) -> ControlStream? {
        let alike = running.count { ($0.probe.purpose == .verify) == (probe.purpose == .verify) }
        guard alike < PendingProbes.maxRunning else { return nil }
        let stream = ControlStream()
        let number = nextNumber
        nextNumber += 1
        running.append(Running(number: number, probe: probe, stream: stream, wantsJSON: wantsJSON))
        stream.onGone = { [weak self] in self?.clientGone(number) }
        let known = resolving.judged(probe.name).map(\.target)
        proceed(number, now: now) { $0.begin(known: known, now: now) }
        return stream
    }

    /// The probes continue, because their results are of use to the resolver.
    private func clientGone(_ number: Int) {
        guard let index = running.firstIndex(where: { $0.number == number }) else { return }
        if running.remove(at: index).probe.purpose != .verify { reportsAccepted += 1 }
    }

    private func proceed(_ number: Int, now: Instant, _ change: (inout PendingProbe) -> [PendingProbe.Step]) {
        guard let index = running.firstIndex(where: { $0.number == number }) else { return }
        let steps = change(&running[index].probe)
        let entry = running[index]
        for step in steps { perform(step, of: entry, now: now) }
    }

    private func perform(_ step: PendingProbe.Step, of entry: Running, now: Instant) {
        let name = entry.probe.name
        switch step {
        case .resolve: resolving.handle(.prefetch([name]), now: now)
        case .probe(let addresses):
            for address in addresses {
                let isCached = entry.probe.cached.contains { $0.address == address }
                resolving.probe(name, address, isCached: isCached, now: now)
            }
        case .found(let finding): say(AddressReport(finding.target, finding.result), to: entry)
        case .notProbed(let address, let refusal):
            var report = AddressReport(name: name.description, address: address.description)
            report.failure = refusal.words(name, address)
            say(report, to: entry)
        case .noResult(let target):
            var report = AddressReport(target)
            report.failure = "its probe did not end within \(PendingProbe.probeTime.wholeSeconds) s"
            say(report, to: entry)
        case .end(let end):
            switch entry.probe.purpose {
            case .verify: endVerify(end, entry)
            case .report(let address): endReport(end, address, entry)
            }
            entry.stream.finish()
            running.removeAll { $0.number == entry.number }
        }
    }

    /// A `report` gets its steps together, in its outcome.
    private func say(_ report: AddressReport, to entry: Running) {
        guard entry.probe.purpose == .verify else { return }
        entry.stream.send(report.rendered(asJSON: entry.wantsJSON))
    }

    private func endVerify(_ end: PendingProbe.End, _ entry: Running) {
        let name = entry.probe.name
        switch end {
        case .found(let findings):
            guard !findings.contains(where: { $0.result.verdict == .verified }) else { return }
            refuse("no address of \(name) was verified", entry)
        case .unknown:
            refuse("no address of \(name) was found within \(PendingProbe.lookupTimeout.wholeSeconds) s", entry)
        case .refused(let refusal): refuse(refusal.words(name, nil), entry)
        }
    }

    private func endReport(_ end: PendingProbe.End, _ address: Address, _ entry: Running) {
        let name = entry.probe.name
        switch end {
        case .found(let findings):
            reportsAccepted += 1
            guard !findings.isEmpty else {
                return refuse(
                    "no probe of \(address) ended within \(PendingProbe.probeTime.wholeSeconds) s", entry)
            }
            let place = resolving.judged(name).first { $0.target.address == address }?.place ?? .absent
            let outcome = ReportOutcome(name, address, findings, place)
            entry.stream.send(outcome.rendered(asJSON: entry.wantsJSON))
        case .unknown:
            reportsRefused += 1
            refuse("no known answer for \(name) contains \(address)", entry)
        case .refused(let refusal):
            reportsRefused += 1
            refuse(refusal.words(name, address), entry)
        }
    }

    private func refuse(_ reason: String, _ entry: Running) {
        let refusal = Refusal(reason, wantsJSON: entry.wantsJSON)
        entry.stream.send(Control.Reply.refusal(refusal).rendered(asJSON: entry.wantsJSON))
    }
}
