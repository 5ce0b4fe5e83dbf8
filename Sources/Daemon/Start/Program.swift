// Entry point of the daemon: from command line to exit code.

import Control
import LinuxIO
import Settings

package enum Program {
    /// Returns the exit code: 0 ok, 1 refused or failed, 3 usage.
    package static func run(_ arguments: [String]) -> Int32 {
        let options: Options
        do throws(Options.UsageError) {
            options = try Options(arguments)
        } catch {
            StandardStreams.writeError("httpdnsd: \(error.text)\n")
            return 3
        }
        switch options.mode {
        case .help: StandardStreams.writeOutput(Options.help)
        case .version: StandardStreams.writeOutput("httpdnsd \(programVersion)\n")
        case .printSchema: StandardStreams.writeOutput(Settings.schema)
        case .check, .printEffective: return run(options, nil)
        case .serve:
            let notice = ServiceNotice()
            let code = run(options, notice)
            // Queries must be refused, instead of waiting in sockets that no process reads.
            if code != 0 { for kind in KeptKind.allCases { notice?.tell(.forget(kind)) } }
            return code
        }
        return 0
    }

    private static func run(_ options: Options, _ notice: ServiceNotice?) -> Int32 {
        do throws(UnusableSettings) {
            let file = try SettingsFile.readIfPresent(options)
            guard options.mode == .printEffective else { return run(file, options, notice) }
            StandardStreams.writeOutput((file ?? .defaults).withoutPastedKeys.effectiveTOML)
            return 0
        } catch {
            // Without settings the log has its default format.
            let log = Log()
            for complaint in error.complaints { log.writeLast(.notStarted([complaint])) }
            log.finish()
            return 1
        }
    }

    /// - Parameter file: the settings of the file; nil: the file does not exist.
    private static func run(_ file: Settings?, _ options: Options, _ notice: ServiceNotice?) -> Int32 {
        let settings = file ?? .defaults
        let log = Log(settings.log)
        defer { log.finish() }
        do {
            if options.mode == .check {
                try check(settings, isFromFile: file != nil, options)
            } else {
                try serve(settings, options, log, notice)
            }
            return 0
        } catch let unusable as UnusableSettings {
            for complaint in unusable.complaints { log.writeLast(.notStarted([complaint])) }
        } catch {
            log.writeLast(.notStarted(StartFailure(error).text.split(separator: "\n").map(String.init)))
        }
        return 1
    }

    /// Checks with the daemon's privileges, so that root learns which files the daemon could not read. A file that root
    /// has written in a directory of its own is checked all the same, because it will be moved.
    private static func check(_ settings: Settings, isFromFile: Bool, _ options: Options) throws {
        var closed: ClosedFile?
        if Privileges.isRoot {
            let user = try ServingUser(settings.server.user)
            try user.takeOver()
            let file = ClosedFile(SettingsFile.absolutePath(options), to: user.account)
            closed = isFromFile && file.isWayClosed ? file : nil
            if closed == nil { _ = try SettingsFile.read(options, as: user.account) }
        }
        let secrets = try LoadedSecrets(for: settings, options)
        var report = CheckReport(settings, secrets.accounts, file: isFromFile ? SettingsFile.path(options) : nil)
        if let closed { report.warnings.append("\(SettingsFile.path(options)): warning: \(closed.text)") }
        report.warnings += secrets.names.warnings.map { "warning: \($0)" }
        if let question = options.explained {
            let start = try FreshStart(settings, secrets, options) { path, error in
                report.warnings.append("\(path): warning: can't be read: \(error)")
            }
            report.text += start.report(of: question).text
        }
        StandardStreams.writeOutput(report.text)
        for warning in report.warnings { StandardStreams.writeError("httpdnsd: \(warning)\n") }
    }

    private static func serve(
        _ settings: Settings, _ options: Options, _ log: Log, _ notice: ServiceNotice?
    ) throws {
        SignalWatch.endProcess(on: StopSignal.all)
        var inherited = InheritedSockets()
        // If this fails, the daemon serves within the soft limit, which `status` shows.
        try? Machine.raiseDescriptorLimit()
        let user = try ServingUser(settings.server.user)
        let listeners = try BoundListeners(settings, options, &inherited, notice)
        user.leaveDirectories(settings, sparing: SettingsFile.path(options))
        try user.takeOver()
        // Every reload has to read the file with these privileges.
        if let account = user.account { _ = try SettingsFile.read(options, as: account) }
        let secrets = try LoadedSecrets(for: settings, options, bound: listeners.ports)
        // Must precede the start of other threads.
        let filter = CallFilter()
        if let account = user.account {
            log(.servesAs(user: account.name, userID: account.userID, groupID: account.groupID))
        }
        if let news = listeners.news { log(news) }
        if Machine.hasSharedUser { log(.sharesUser(userID: Machine.sharedID)) }
        if let problem = filter.problem { log(.unfiltered(reason: problem)) }
        let daemon = try Daemon(
            settings, consume secrets, options, consume listeners, notice, log, rights: filter.rights)
        try daemon.run()
        log.finish()
        // Queries wait for the next process: it must not wait until cache and resolver are released, which takes 30 ms.
        withExtendedLifetime(daemon) { Process.exit(0) }
    }
}
