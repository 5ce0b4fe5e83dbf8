// Advice for a file that cannot be written, for `system use` and for `setup`.

import LinuxIO

enum WriteRemedy {
    /// Returns nil if the error tells enough.
    static func text(_ error: SystemError, _ path: String) -> LocalizedText? {
        if error.isReadOnly { return "its file system is read-only; nothing can be changed there" }
        guard error.isPermissionDenied else { return nil }
        guard MachineFiles.exists(path) else {
            let directory = path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
            return "the directory \(directory) is not writable"
        }
        return "is it immutable? see: lsattr \(path); then: chattr -i \(path)"
    }

    /// The advice as a further line of an English message; empty without advice.
    static func line(_ error: SystemError, _ path: String) -> String {
        text(error, path).map { "\n" + $0.english } ?? ""
    }
}
