// From the command line to an exit code.

import Control
import LinuxIO
import Settings

package enum Program {
    /// 0 ok, 1 refused or failed, 3 usage.
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
        case .check, .printEffective, .serve: return run(options)
        }
        return 0
    }

    private static func run(_ options: Options) -> Int32 {
        do throws(SettingsFile.Unusable) {
            let settings = try SettingsFile.read(options)
            if options.mode == .printEffective {
                StandardStreams.writeOutput(settings.effectiveTOML)
                return 0
            }
            let provisions = try Provisions(for: settings, options)
            guard options.mode == .check else { return serve(settings, provisions, options) }
            StandardStreams.writeOutput("httpdnsd: settings are valid\n")
            return 0
        } catch {
            // No settings, no form of the log: the usual one.
            let log = Log()
            for complaint in error.complaints { log(.notStarted([complaint])) }
            return 1
        }
    }

    private static func serve(_ settings: Settings, _ provisions: Provisions, _ options: Options) -> Int32 {
        do {
            let openings = try Openings(settings, options)
            try Daemon(settings, provisions, options, consume openings).run()
            return 0
        } catch let failure as StartFailure {
            Log(settings.log)(.notStarted(failure.text.split(separator: "\n").map(String.init)))
        } catch {
            Log(settings.log)(.notStarted(["\(error)"]))
        }
        return 1
    }
}
