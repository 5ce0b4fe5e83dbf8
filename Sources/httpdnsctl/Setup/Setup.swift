// `httpdnsctl setup`: asks for what the flags leave open, writes the settings, and has the daemon use them.

import Control
import DNSWire
import LinuxIO
import Settings

struct Setup {
    let socket: String
    let wantsJSON: Bool

    /// The language of all texts but the settings file, which others read, too.
    private var language: Language { wantsJSON ? .english : .ofOperator }

    private static let timeout = Duration.seconds(5)
    private static let maxAnswerBytes = 1 << 20

    func run(_ words: [String]) {
        do throws(SetupRefusal) {
            try run(SetupFlags(words, output: ExaminedSettings.standardPath))
        } catch {
            stop(error.reason, "see: httpdnsctl help setup", code: Exit.usage)
        }
    }

    private func run(_ flags: SetupFlags) throws(SetupRefusal) {
        let files = openFiles(flags)
        var answers = try SetupAnswers(flags, machine: machine(flags, files))
        if !answers.missing.isEmpty || answers.needsKey {
            answers = try completed(answers, files)
        }
        let new = try answers.settingsFile(at: files.path, replacing: flags.replaces ? files.formerSettings : .none)
        guard !flags.isDryRun else { return show(new, files) }
        var report = write(new.text, answers, files)
        report.leftOut = new.leftOut
        report.isTakeOverAsked = answers.takesOver == true
        use(report)
    }

    /// Exits with a message of the lines that are not nil.
    private func stop(_ lines: LocalizedText?..., code: Int32 = Exit.failed) -> Never {
        fail(lines.compactMap { $0?.text(in: language) }.joined(separator: "\n"), code)
    }

    // MARK: before the questions

    /// Exits if the file cannot be written, before anything is asked.
    private func openFiles(_ flags: SetupFlags) -> SetupFiles {
        let files: SetupFiles
        do throws(SystemError) {
            files = try SetupFiles(flags.output, isDryRun: flags.isDryRun)
        } catch {
            stop(
                error.isPermissionDenied && !Privileges.isRoot
                    ? "can't read \(flags.output): \(error); run: sudo httpdnsctl setup"
                    : "can't read \(flags.output): \(error)")
        }
        guard !flags.isDryRun else { return files }
        guard files.isReplaceable else {
            stop("\(files.path) is not a regular file; name another one with --output, or - for standard output")
        }
        guard flags.replaces || !files.exists else {
            stop("\(files.path) exists; add --replace to write a new one, and the former one is kept beside it")
        }
        guard MachineFiles.exists(files.existingDirectory) else {
            stop("\(files.existingDirectory) does not exist; create it first, or name another file with --output")
        }
        guard FileStatus.isWritable(directory: files.existingDirectory), files.isOwnerAllowed else {
            stop(
                Privileges.isRoot
                    ? "user \(Machine.user.userID) can't write \(files.path); is its file system read-only?"
                    : "user \(Machine.user.userID) can't write \(files.path); run: sudo httpdnsctl setup",
                "--dry-run shows the file, and --output FILE writes it elsewhere")
        }
        guard !files.exists || files.formerPath != nil else {
            stop("\(files.path).old-1 and all further names are taken; remove some")
        }
        return files
    }

    private func machine(_ flags: SetupFlags, _ files: SetupFiles) -> SetupMachine {
        SetupMachine(
            addresses: Interfaces.all(), isRoot: Privileges.isRoot, isDryRun: flags.isDryRun,
            directory: files.directory, keyFile: files.keyFile, resolve: HostAddresses.resolve)
    }

    // MARK: the questions

    /// Exits without a terminal, or when the operator ends the dialogue.
    private func completed(_ answers: SetupAnswers, _ files: SetupFiles) throws(SetupRefusal) -> SetupAnswers {
        guard Terminal.isThere, !wantsJSON else {
            guard answers.missing.isEmpty else {
                let flags = answers.missing.map(\.rawValue).joined(separator: ", ")
                throw SetupRefusal("there is no terminal to ask at, and these answers are missing: \(flags)")
            }
            let file = Settings.Provider.shown(file: answers.keyFile ?? "")
            stop(
                "\(file) does not exist; put the key there: install -m 600 -o \(KeyFileCheck.userName) KEYFILE \(file)")
        }
        var dialogue = SetupDialogue(
            answers, output: files.path, former: files.formerPath, settings: files.formerSettings)
        do throws(SystemError) {
            let lines = try TerminalLines()
            try converse(&dialogue, lines)
            lines.release()
        } catch {
            stop("can't read from the terminal: \(error)")
        }
        guard dialogue.isAccepted else { stop("nothing was written") }
        return dialogue.answers
    }

    private func converse(_ dialogue: inout SetupDialogue, _ lines: TerminalLines) throws(SystemError) {
        StandardStreams.writeOutput(SetupDialogue.greeting.text(in: language) + "\n")
        var complaint: String?
        while let question = dialogue.question {
            let prompt = complaint.map { $0 + question.shortText(in: language) } ?? question.text(in: language)
            guard let line = try lines.next(after: prompt, isHidden: question.isHidden) else {
                return StandardStreams.writeOutput("\n")
            }
            do throws(SetupRefusal) {
                try dialogue.take(line)
                complaint = nil
            } catch {
                complaint = SetupLines.complaint(error.reason.text(in: language))
            }
        }
    }

    // MARK: after the questions

    private func show(_ new: FormerSettings.Result, _ files: SetupFiles) {
        var report = SetupReport(path: files.path, former: nil)
        report.settings = new.text
        report.leftOut = new.leftOut
        guard wantsJSON else {
            StandardStreams.writeOutput(new.text)
            StandardStreams.writeError(report.leftOutText(in: language))
            return
        }
        StandardStreams.writeOutput(report.jsonLine)
    }

    /// Writes the key first, because the settings name its file. Exits on a failure.
    private func write(_ text: String, _ answers: SetupAnswers, _ files: SetupFiles) -> SetupReport {
        var writtenKey: String?
        do throws(SystemError) {
            let lock = try files.lock()
            defer { _ = lock }
            guard try !files.hasChanged() else { failChanged(files, writtenKey) }
            if let key = answers.key, let keyFile = answers.keyFile {
                write(key, at: keyFile)
                writtenKey = keyFile
            }
            guard var report = try files.write(text) else { failChanged(files, writtenKey) }
            report.keyFile = writtenKey
            return report
        } catch {
            stop("can't write \(files.path): \(error)", Setup.remedy(error, files.path), Setup.note(writtenKey))
        }
    }

    private static func remedy(_ error: SystemError, _ path: String) -> LocalizedText? {
        if error.isUnsupported {
            return "its file system can't replace it safely; write another file with --output, and move it"
        }
        if error.call == "fchown", !Privileges.isRoot {
            return "only root can give the new file the group of this one; run: sudo httpdnsctl setup"
        }
        return WriteRemedy.text(error, path)
    }

    private func failChanged(_ files: SetupFiles, _ writtenKey: String?) -> Never {
        stop("\(files.path) has changed meanwhile; run setup again", Setup.note(writtenKey))
    }

    private static func note(_ writtenKey: String?) -> LocalizedText? {
        writtenKey.map { "the key is written already, to \($0)" }
    }

    /// Exits if the key cannot be written.
    private func write(_ key: String, at path: String) {
        do throws(SystemError) {
            try SetupFiles.writeKey(key, at: path)
        } catch {
            stop(
                error.isAlreadyThere
                    ? "\(path) exists meanwhile, and is not overwritten; run setup again"
                    : "can't write the key to \(path): \(error)", "nothing was written")
        }
    }

    private func use(_ report: SetupReport) {
        var report = report
        apply(&report)
        report.setNext(isStandardFile: report.path == SetupFiles.resolved(ExaminedSettings.standardPath))
        StandardStreams.writeOutput(wantsJSON ? report.jsonLine : report.text(in: language))
        if report.takesOver {
            do throws(SystemError) {
                try SystemCommand(socket: socket, wantsJSON: wantsJSON).run(.use(isDryRun: false))
            } catch {
                fail("\(error)", Exit.failed)
            }
        }
        if !wantsJSON { StandardStreams.writeOutput(report.nextText(in: language)) }
        Process.exit(report.exitCode)
    }

    /// Has the daemon at the socket read the file, if the file is the daemon's own.
    private func apply(_ report: inout SetupReport) {
        guard let status = ask(.status).flatMap({ StatusReport(answer: $0) }) else { return }
        if let file = status.settingsFile, SetupFiles.resolved(file) != report.path {
            report.daemon = .readsAnotherFile
            report.daemonFile = file
            return
        }
        guard let answer = ask(.reload) else { return }
        if let reloaded = ReloadReport(answer: answer) {
            report.daemon = .reloaded
            report.needRestart = reloaded.needRestart
        } else {
            let refusal = ReloadRefusal(answer: answer)
            report.daemon = refusal?.isOfSettings == true ? .refuses : .doesNotReload
            report.findings = refusal?.reasons ?? []
        }
    }

    private func ask(_ word: Command.Word) -> [UInt8]? {
        try? LocalExchange.ask(
            "\(word) --json", at: socket, timeout: Setup.timeout, maxBytes: Setup.maxAnswerBytes)
    }
}

extension SetupReport {
    /// 0 if everything that was asked for is done, or can be done now.
    fileprivate var exitCode: Int32 {
        switch daemon {
        case .refuses: Exit.failed
        case .absent: isTakeOverAsked ? Exit.cannotConnect : 0
        case .readsAnotherFile, .doesNotReload: isTakeOverAsked ? Exit.failed : 0
        case .reloaded: 0
        }
    }
}
