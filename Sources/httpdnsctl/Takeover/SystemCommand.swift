// `httpdnsctl system`: makes the daemon the resolver of this machine, restores the previous state, or shows the status.
// Takeover computes the plan; this type carries it out and reports it.

import Control
import DNSWire
import LinuxIO

struct SystemCommand {
    let socket: String
    let wantsJSON: Bool

    func run(_ action: SystemAction) throws(SystemError) {
        switch action {
        case .status: try showStatus()
        case .use(let isDryRun): try use(isDryRun: isDryRun)
        case .restore(let isDryRun, let onlyIfDead): try restore(isDryRun: isDryRun, onlyIfDead: onlyIfDead)
        }
    }

    /// Exits with 0 if the machine uses the daemon and gets answers from it.
    private func showStatus() throws(SystemError) {
        let survey = try SystemFiles.survey()
        let kept = try KeptRecord.read()
        let record: TakeoverRecord? = if case .whole(let record) = kept { record } else { nil }
        let told = (try? DaemonAddresses.told(at: socket)) ?? nil
        let first = ResolvConfText.firstNameserver(survey.resolvConfContent)
        let states = try SystemFiles.states(of: record?.paths.map(\.path) ?? [])
        let report = SystemReport(
            manager: (record?.manager ?? ResolvConfWriter(survey)).rawValue,
            record: kept.word, nameserver: first,
            leadsToDaemon: DaemonAddresses.isReached(through: first ?? "127.0.0.1"),
            answering: DaemonAddresses.answering(record?.addresses ?? told?.usable ?? ["127.0.0.1", "::1"]),
            changed: record?.changed(states) ?? [], otherPorts: told?.otherPorts ?? [])
        StandardStreams.writeOutput(report.rendered(asJSON: wantsJSON))
        guard report.isInUse else { Process.exit(Exit.failed) }
    }

    private func use(isDryRun: Bool) throws(SystemError) {
        if !isDryRun { needRoot() }
        let lock = isDryRun ? nil : try KeptRecord.lock(patience: SystemCommand.patience)
        defer { _ = lock }
        switch try KeptRecord.read() {
        case .damaged(let fault): fail(KeptRecord.damage(fault), Exit.failed)
        case .whole(let record):
            if record.isComplete {
                if try isInForce(record) { return }
                // Checked first: an unusable daemon must not cause a restore.
                _ = listenAddresses(isDryRun)
            }
            try giveBackFirst(record, isDryRun)
            if isDryRun { return }
        case .none: break
        }
        let addresses = listenAddresses(isDryRun)
        var survey = try SystemFiles.survey()
        survey.daemonUnit = SystemFiles.daemonUnit()
        let plan = TakeoverPlan(survey, addresses: addresses)
        if let path = plan.untouchable.first {
            refuse("\(path) is neither a link nor a file of usual size; nothing was changed", isDryRun)
        }
        plan.lines.forEach(say)
        if !isDryRun { try takeOver(plan) }
        let steps = plan.steps.map(\.words)
        show(SystemWorkReport(isDone: !isDryRun, steps: steps, remarks: plan.warnings))
        if !isDryRun { say("this machine uses httpdnsd now; to undo: httpdnsctl system restore") }
    }

    /// Returns true if the takeover is complete and effective. Returns false if its files are in place but names are
    /// resolved elsewhere.
    private func isInForce(_ record: TakeoverRecord) throws(SystemError) -> Bool {
        let changed = record.changed(try SystemFiles.states(of: record.paths.map(\.path)))
        guard changed.isEmpty else {
            fail(
                "already used, but changed since: \(changed.joined(separator: ", "))\n"
                    + "run \"httpdnsctl system restore\" and then this again", Exit.failed)
        }
        guard leadsToDaemon() else { return false }
        say("this machine uses httpdnsd already; nothing to do")
        show(SystemWorkReport(isDone: false, steps: [], remarks: []))
        return true
    }

    /// A takeover starts from the machine's original state, so that the record holds it.
    private func giveBackFirst(_ record: TakeoverRecord, _ isDryRun: Bool) throws(SystemError) {
        say(record.isComplete ? "programs no longer use the daemon" : "an earlier run was interrupted")
        say("restoring the previous settings first:")
        let plan = try SystemFiles.restorePlan(record)
        plan.lines.forEach(say)
        guard isDryRun else {
            guard try giveBack(record, by: plan) == .unfinished else { return }
            fail("not all files could be restored; see above", Exit.failed)
        }
        let next = "the steps of the takeover follow; they are known only after the restore"
        say(next)
        show(SystemWorkReport(isDone: false, steps: plan.steps.map(\.words), remarks: plan.differences + [next]))
    }

    /// Returns the addresses to put into resolv.conf. If there is none, exits.
    private func listenAddresses(_ isDryRun: Bool) -> [String] {
        do throws(SystemError) {
            guard let told = try DaemonAddresses.told(at: socket) else {
                refuse("the daemon at \(socket) does not report its listen addresses", isDryRun)
            }
            guard !told.usable.isEmpty else {
                refuse(
                    "the daemon does not listen on port 53, the only port that resolv.conf can use\n"
                        + "set listen = [\"127.0.0.1:53\", \"[::1]:53\"] under [server] in its settings", isDryRun)
            }
            let answering = DaemonAddresses.answering(told.usable)
            guard !answering.isEmpty else {
                refuse(
                    "the daemon does not answer at \(told.usable.joined(separator: ", ")), port 53\n"
                        + "see \"httpdnsctl status\" and \"httpdnsctl doctor\"; server.allow must contain 127.0.0.0/8",
                    isDryRun)
            }
            return answering
        } catch {
            if !isDryRun { try? KeptRecord.forgetPlace() }
            fail(error, at: socket)
        }
    }

    /// Exits with a message. A dry run holds no lock, so it leaves the record's directory alone.
    private func refuse(_ text: String, _ isDryRun: Bool) -> Never {
        if !isDryRun { try? KeptRecord.forgetPlace() }
        fail(text, Exit.failed)
    }

    private func takeOver(_ plan: TakeoverPlan) throws(SystemError) {
        var record = plan.record
        try KeptRecord.write(record)
        var problem: String?
        for step in plan.steps where problem == nil { problem = take(step) }
        if problem == nil, !leadsToDaemon() {
            problem = "programs do not use the daemon after all steps"
            if plan.manager == .resolved { problem? += "; systemd-resolved sends no queries without a network" }
        }
        guard let problem else {
            record.isComplete = true
            return try KeptRecord.write(record)
        }
        complain(problem)
        complain("restoring the previous settings")
        let back = try SystemFiles.restorePlan(record)
        back.differences.forEach(complain)
        let outcome = try giveBack(record, by: back)
        try KeptRecord.forgetPlace()
        fail(outcome == .whole ? "all changes were undone" : "not all files could be restored; see above", Exit.failed)
    }

    /// Carries out one step and returns why it failed; nil on success.
    private func take(_ step: TakeoverPlan.Step) -> String? {
        switch step {
        case .run(let call): return SystemFiles.run(call)
        case .put(let path):
            guard path.role != .generated else { return nil }
            do throws(SystemError) {
                try SystemFiles.put(path.ours, at: path.path, isWrittenOver: path.isWrittenOver)
                return nil
            } catch {
                return "can't write \(path.path): \(error)\(WriteRemedy.line(error, path.path))"
            }
        }
    }

    /// How long to wait for notified programs, which need a moment to restart.
    private static let restartTimeout = Duration.seconds(5)
    private static let checkInterval = Duration.milliseconds(100)

    private func leadsToDaemon() -> Bool {
        let deadline = Clock.now() + SystemCommand.restartTimeout
        while true {
            let server = ResolvConfText.firstNameserver(SystemFiles.resolvConfContent())
            if let server, DaemonAddresses.isReached(through: server) { return true }
            guard Clock.now() < deadline else { return false }
            ChangeLock.wait(SystemCommand.checkInterval)
        }
    }
}

extension SystemCommand {
    /// A daemon is dead if it does not answer this many queries, sent at this interval.
    private static let tries = 3
    private static let betweenTries = Duration.milliseconds(500)

    /// How long to wait for the lock. Each stop of the daemon starts the restore unit, which takes about 3 s if no
    /// daemon answers.
    private static let patience = Duration.seconds(5)

    /// How long the restore unit waits for the lock, as it is not retried. Its unit file allows it one minute in total.
    private static let guardPatience = Duration.seconds(45)

    private func restore(isDryRun: Bool, onlyIfDead: Bool) throws(SystemError) {
        if !isDryRun { needRoot() }
        let patience = onlyIfDead ? SystemCommand.guardPatience : SystemCommand.patience
        let lock = isDryRun ? nil : try KeptRecord.lock(patience: patience)
        defer { _ = lock }
        switch try KeptRecord.read() {
        case .damaged(let fault): fail(KeptRecord.damage(fault), Exit.failed)
        case .none:
            if !isDryRun { try KeptRecord.forgetPlace() }
            say("no takeover on record; nothing to restore")
            show(SystemWorkReport(isDone: false, steps: [], remarks: []))
        case .whole(let record):
            if onlyIfDead, isAlive(record) {
                say("the daemon answers; nothing was restored")
                return show(SystemWorkReport(isDone: false, steps: [], remarks: []))
            }
            let plan = try SystemFiles.restorePlan(record)
            plan.lines.forEach(say)
            let outcome = isDryRun ? .whole : try giveBack(record, by: plan)
            if !isDryRun { try KeptRecord.forgetPlace() }
            let (steps, isDone) = (plan.steps.map(\.words), !isDryRun && outcome != .unfinished)
            show(SystemWorkReport(isDone: isDone, steps: steps, remarks: plan.remarks + plan.leftAlone))
            guard outcome == .whole else { Process.exit(Exit.failed) }
            if !isDryRun { say("the previous settings are restored") }
        }
    }

    private func isAlive(_ record: TakeoverRecord) -> Bool {
        for number in 1...SystemCommand.tries {
            if !DaemonAddresses.answering(record.addresses).isEmpty { return true }
            if number < SystemCommand.tries { ChangeLock.wait(SystemCommand.betweenTries) }
        }
        return false
    }

    /// How complete a restore is, from best to worst.
    private enum Outcome: Comparable {
        case whole
        /// A file that was changed after the takeover stays as it is, or a program was not notified.
        case inPart
        /// A file cannot be written; the record stays for another attempt.
        case unfinished
    }

    /// Restores all that can be restored, even if some steps fail.
    private func giveBack(_ record: TakeoverRecord, by plan: RestorePlan) throws(SystemError) -> Outcome {
        var outcome = plan.leftAlone.isEmpty ? Outcome.whole : .inPart
        do throws(SystemError) {
            try SystemFiles.sweep(record)
        } catch {
            complain("can't remove the files of an interrupted run: \(error)")
            outcome = .unfinished
        }
        for step in plan.steps { outcome = max(outcome, take(step)) }
        let states = try SystemFiles.states(of: record.paths.map(\.path))
        let content = SystemFiles.resolvConfContent()
        for step in RestorePlan.afterwards(record, states, resolvConfContent: content) {
            outcome = max(outcome, take(step))
        }
        if outcome == .unfinished {
            complain("the previous settings are in \(SystemPaths.record); run again: httpdnsctl system restore")
        } else {
            try FileReplacement.remove(SystemPaths.record)
        }
        return outcome
    }

    private func take(_ step: RestorePlan.Step) -> Outcome {
        do throws(SystemError) {
            switch step {
            case .put(let path, let state, let isWrittenOver):
                try SystemFiles.put(state, at: path, isWrittenOver: isWrittenOver)
            case .removeFolder(let path): try FileReplacement.removeDirectory(path)
            case .keep(let state, let path): try SystemFiles.put(state, at: path, isWrittenOver: false)
            case .run(let call):
                guard let problem = SystemFiles.run(call) else { return .whole }
                complain(problem)
                return .inPart
            }
            return .whole
        } catch {
            let remedy = if case .put(let path, _, _) = step { WriteRemedy.line(error, path) } else { "" }
            complain("can't \(step.words): \(error)\(remedy)")
            return .unfinished
        }
    }

    private func needRoot() {
        guard Machine.user.userID != 0 else { return }
        fail("only root can change this machine's resolver settings; --dry-run shows the steps", Exit.failed)
    }

    private func say(_ line: String) {
        guard !wantsJSON else { return }
        StandardStreams.writeOutput(line.shown(maxBytes: SystemWorkReport.maxLineBytes) + "\n")
    }

    private func complain(_ text: String) { StandardStreams.writeError("httpdnsctl: \(text)\n") }

    private func show(_ report: SystemWorkReport) {
        if wantsJSON { StandardStreams.writeOutput(report.jsonLine) }
    }
}
