// Reads the settings from a file, or uses the built-in defaults if the standard file does not exist.

import DNSWire
import LinuxIO
import Settings

enum SettingsFile {
    static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// Bound on the file: far more than all keys with comments; keeps a wrong path (a device, a log) from filling
    /// memory.
    private static let maxBytes = 1 << 20
    /// Time limit of the trial. The largest file takes a tenth of this. The main thread waits meanwhile, and clients
    /// wait for 4.5 s.
    private static let trialTime: Duration = .seconds(2)
    /// Bound on the memory of the trial: twice what the largest file takes.
    private static let trialGrowthBytes: UInt64 = 512 << 20

    static func path(_ options: Options) -> String { options.configFile ?? standardPath }

    /// Relative paths begin at the directory in which the daemon was started.
    static func absolutePath(_ options: Options) -> String {
        let path = path(options)
        return path.hasPrefix("/") ? path : "\(Machine.currentDirectory)/\(path)"
    }

    /// - Parameter account: the account of this process, for a complaint; nil if its name is not known.
    static func read(_ options: Options, as account: Account? = nil) throws(UnusableSettings) -> Settings {
        try readIfPresent(options, as: account) ?? .defaults
    }

    /// Returns nil if the standard file does not exist. A missing `--config` file is an error.
    static func readIfPresent(_ options: Options, as account: Account? = nil) throws(UnusableSettings) -> Settings? {
        guard let bytes = try bytes(options, as: account) else { return nil }
        return try parse(bytes, path(options))
    }

    /// Reads the settings for a daemon that serves: parses them in a copy of the process first, so that a file on which
    /// the parser crashes or does not end is refused like any other.
    static func readWhileServing(_ options: Options) throws(UnusableSettings) -> Settings {
        guard let bytes = try bytes(options) else { return .defaults }
        let path = path(options)
        if let fault = trialFault(bytes, path) {
            let remedy = "undo the last change of the file, and report this: httpdnsctl report-bug"
            throw UnusableSettings(complaints: ["\(path): \(fault) in a child process; \(remedy)"])
        }
        return try parse(bytes, path)
    }

    /// Returns why the parser must not read the file; nil: it may.
    private static func trialFault(_ bytes: [UInt8], _ path: String) -> String? {
        do throws(SystemError) {
            let outcome = try Trial.run(timeout: trialTime, maxGrowthBytes: trialGrowthBytes) {
                _ = try? Settings.parse(bytes: bytes, file: path)
            }
            return switch outcome {
            case .finished: nil
            case .crashed(let signal): "signal \(signal) ended the parser"
            case .unfinished: "the parser did not end within \(trialTime.wholeSeconds) s"
            }
        } catch {
            return "the parser can't be tried (\(error))"
        }
    }

    private static func bytes(_ options: Options, as account: Account? = nil) throws(UnusableSettings) -> [UInt8]? {
        let path = path(options)
        do throws(SystemError) {
            return try TextFile.read(path, maxBytes: maxBytes)
        } catch {
            if options.configFile == nil, error.isNoSuchFile { return nil }
            let fault =
                error.isPermissionDenied
                ? ClosedFile(absolutePath(options), to: account).text : "can't be read: \(error)"
            throw UnusableSettings(complaints: ["\(path): \(fault)"])
        }
    }

    private static func parse(_ bytes: [UInt8], _ path: String) throws(UnusableSettings) -> Settings {
        try UnusableSettings.catching { () throws(SettingsError) in try Settings.parse(bytes: bytes, file: path) }
    }
}
