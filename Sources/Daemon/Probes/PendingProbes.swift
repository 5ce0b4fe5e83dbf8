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
    private var allowance = ReportAllowance()
    private(set) var reportsAccepted: UInt64 = 0
    private(set) var reportsRefused: UInt64 = 0

    private struct Running {
        var probe: PendingProbe
        let stream: ControlStream
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
            throw Refusal("\(PendingProbes.maxRunning) names are being verified; wait for one to end")
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
                    + "and \(ReportAllowance.saved) at once")
        }
        guard let stream = begin(PendingProbe(.report(address), of: name), wantsJSON: wantsJSON, now: now) else {
            reportsRefused += 1
            throw Refusal("\(PendingProbes.maxRunning) reports are being checked; wait for one to end")
        }
        return stream
    }

    /// Takes the result of a probe, whatever requested it.
    func take(_ news: ProbeNews, now: Instant) {
        for stream in running.map(\.stream) { proceed(stream, now: now) { $0.take(news, now: now) } }
    }

    func timePassed(now: Instant) {
        for entry in running where entry.probe.nextDeadline.map({ $0 <= now }) ?? false {
            let name = entry.probe.name
            let known = resolving.resolver.judged(name).map(\.target)
            let isLookedUp = resolving.resolver.isLookingUp(name)
            proceed(entry.stream, now: now) { [resolving] probe in
                if probe.purpose == .verify { probe.note(cached: resolving.cachedTargets(of: name)) }
                return probe.timePassed(known: known, isLookedUp: isLookedUp, now: now)
            }
        }
    }

    /// Returns the stream of the answer; nil if too many commands run.
    private func begin(_ probe: PendingProbe, wantsJSON: Bool, now: Instant) -> ControlStream? {
        let alike = running.count { ($0.probe.purpose == .verify) == (probe.purpose == .verify) }
        guard alike < PendingProbes.maxRunning else { return nil }
        let stream = ControlStream(wantsJSON: wantsJSON)
        running.append(Running(probe: probe, stream: stream))
        stream.onGone = { [weak self, unowned stream] in self?.clientGone(stream) }
        let known = resolving.resolver.judged(probe.name).map(\.target)
        proceed(stream, now: now) { $0.begin(known: known, now: now) }
        return stream
    }

    /// The probes continue, because their results are of use to the resolver.
    private func clientGone(_ stream: ControlStream) {
        guard let index = running.firstIndex(where: { $0.stream === stream }) else { return }
        if running.remove(at: index).probe.purpose != .verify { reportsAccepted += 1 }
    }

    private func proceed(_ stream: ControlStream, now: Instant, _ change: (inout PendingProbe) -> [PendingProbe.Step]) {
        guard let index = running.firstIndex(where: { $0.stream === stream }) else { return }
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
            running.removeAll { $0.stream === entry.stream }
        }
    }

    /// A `report` gets its steps together, in its outcome.
    private func say(_ report: AddressReport, to entry: Running) {
        if entry.probe.purpose == .verify { entry.stream.send(report) }
    }

    private func endVerify(_ end: PendingProbe.End, _ entry: Running) {
        let name = entry.probe.name
        switch end {
        case .found(let findings):
            guard !findings.contains(where: { $0.result.verdict == .verified }) else { return }
            entry.stream.refuse("no address of \(name) was verified")
        case .unknown:
            entry.stream.refuse("no address of \(name) was found within \(PendingProbe.lookupTimeout.wholeSeconds) s")
        case .refused(let refusal): entry.stream.refuse(refusal.words(name, nil))
        }
    }

    private func endReport(_ end: PendingProbe.End, _ address: Address, _ entry: Running) {
        let name = entry.probe.name
        switch end {
        case .found(let findings):
            reportsAccepted += 1
            guard !findings.isEmpty else {
                return entry.stream.refuse(
                    "no probe of \(address) ended within \(PendingProbe.probeTime.wholeSeconds) s")
            }
            let place = resolving.resolver.judged(name).first { $0.target.address == address }?.place ?? .absent
            entry.stream.send(ReportOutcome(name, address, findings, place))
        case .unknown:
            reportsRefused += 1
            entry.stream.refuse("no known answer for \(name) contains \(address)")
        case .refused(let refusal):
            reportsRefused += 1
            entry.stream.refuse(refusal.words(name, address))
        }
    }
}
