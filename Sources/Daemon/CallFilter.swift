// System calls are kept from the whole process before it reads anything that others have sent. Where that can't be, it
// serves all the same: what the unit or the container forbids holds, and nobody is left in the dark.

import Confinement
import LinuxIO

struct CallFilter {
    /// Why none is kept from us; nil: they are.
    let problem: String?

    /// In all threads, those that come later included, for good.
    init() {
        do throws(SystemCallFilter.Failure) {
            try SystemCallFilter.begin()
            problem = nil
        } catch {
            problem = error.description
        }
    }

    /// For `status`.
    var rights: String {
        let filtered = problem.map { "system calls are not filtered: \($0)" } ?? "system calls filtered"
        let shared = Machine.hasSharedUser ? " (shared with other programs)" : ""
        return "user \(Machine.user.userID)\(shared), group \(Machine.user.groupID); \(filtered)"
    }
}
