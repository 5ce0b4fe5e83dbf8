// Why the daemon's user cannot read a file, and the remedy: the first directory on the way that is closed to the user,
// or the mode of the file.

import Control
import LinuxIO

struct ClosedFile {
    /// The absolute path.
    private let path: String
    /// The user of this process, as operators see it: "user httpdnsd (997)".
    private let user: String

    /// - Parameter account: the account of this process; nil if its name is not known.
    init(_ path: String, to account: Account?) {
        self.path = path
        user = account.map { "user \($0.name) (\($0.userID))" } ?? "user \(Machine.user.userID)"
    }

    /// Finding and remedy for a file that can't be read, as part of a line that begins with the path.
    var text: String {
        let start = "the daemon runs as \(user), which can't read this file: "
        let file = shellWord(path)
        let copy = "install -D -m 644 \(file) \(ClosedFile.openDirectory)/\(shellWord(name))"
        return switch obstacle {
        case .directory(let directory):
            start + "the directory \(directory) is closed to it; copy the file, and name the copy: \(copy)"
        case .link(let link):
            start + "the link \(link) leads through a directory that is closed to it; copy the file, and name the "
                + "copy: \(copy)"
        case .file: start + "it is closed to other users; run: chmod 644 \(file)"
        }
    }

    /// The file's directory is closed, whatever the file's mode: a copy elsewhere may be readable.
    var isWayClosed: Bool {
        switch obstacle {
        case .directory, .link: true
        case .file: false
        }
    }

    /// The directory of the settings, which every user may search.
    private static let openDirectory = "/etc/httpdnsd"

    private enum Obstacle {
        case directory(String)
        case link(String)
        case file
    }

    private var name: String { path.split(separator: "/").last.map(String.init) ?? "" }

    private var obstacle: Obstacle {
        var open = "/"
        for part in path.split(separator: "/") {
            let next = open == "/" ? "/\(part)" : "\(open)/\(part)"
            if SymbolicLinks.target(ofLinkAt: next) != nil, !ClosedFile.isReached(next) { return .link(next) }
            guard ClosedFile.isReached(next) else { return .directory(open) }
            open = next
        }
        return .file
    }

    /// Whether this process may search all directories on the way.
    private static func isReached(_ path: String) -> Bool {
        do throws(SystemError) {
            _ = try FileStatus(at: path)
            return true
        } catch {
            return !error.isPermissionDenied
        }
    }
}
