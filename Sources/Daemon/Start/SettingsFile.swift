// Reads the settings from a file, or uses the built-in defaults if the standard file does not exist.

import LinuxIO
import Settings

enum SettingsFile {
    static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// Far more than all keys with comments; keeps a wrong path (a device, a log) from filling memory.
    private static let maxBytes = 1 << 20

    /// Each complaint is one line: file, line, column, finding, remedy.
    struct Unusable: Error {
        let complaints: [String]
    }

    static func path(_ options: Options) -> String { options.configFile ?? standardPath }

    /// Relative paths begin at the directory in which the daemon was started.
    static func absolutePath(_ options: Options) -> String {
        let path = path(options)
        return path.hasPrefix("/") ? path : "\(Machine.currentDirectory)/\(path)"
    }

    static func read(_ options: Options) throws(Unusable) -> Settings {
        try readIfPresent(options) ?? .defaults
    }

    /// Returns nil if the standard file does not exist. A missing `--config` file is an error.
    static func readIfPresent(_ options: Options) throws(Unusable) -> Settings? {
        let path = path(options)
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try TextFile.read(path, maxBytes: maxBytes)
        } catch {
            if options.configFile == nil, error.isNoSuchFile { return nil }
            let remedy =
                error.isPermissionDenied
                ? "; user \(Machine.user.userID) must read it (chmod 0644) and search its directories (chmod 0755)"
                : ""
            throw Unusable(complaints: ["\(path): can't be read: \(error)\(remedy)"])
        }
        do throws(SettingsError) {
            return try Settings.parse(bytes: bytes, file: path)
        } catch {
            throw Unusable(complaints: error.description.split(separator: "\n").map(String.init))
        }
    }
}
