// Installs the seccomp filter for the whole process before it reads any network data. If that fails, the daemon still
// serves under the limits of the unit or container, and the log and `status` say so.

import Confinement
import LinuxIO

struct CallFilter {
    /// Why the filter could not be installed; nil if it is active.
    let problem: String?

    /// Installs the filter permanently for all present and future threads.
    init() {
        do throws(SystemCallFilter.Failure) {
            try SystemCallFilter.begin()
            problem = nil
        } catch {
            problem = error.description
        }
    }

    /// User, group and filter state for `status`.
    var rights: String {
        let filtered = problem.map { "system calls are not filtered: \($0)" } ?? "system calls filtered"
        let shared = Machine.hasSharedUser ? " (shared with other programs)" : ""
        return "user \(Machine.user.userID)\(shared), group \(Machine.user.groupID); \(filtered)"
    }
}
