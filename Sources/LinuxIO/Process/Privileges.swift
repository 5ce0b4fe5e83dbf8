// How rights are given up: for good, in all threads, and looked at afterwards. Must be called before there are other
// threads and before anything from the network is read.

import CLinux
import Glibc

package enum Privileges {
    /// Of root, which may bind any port and read any file.
    package static var isRoot: Bool { geteuid() == 0 }

    /// Changes the process to this user, which must not be root, without capabilities, and prevents regaining any by
    /// starting a program.
    ///
    /// - Throws: EPERM where the process was not root's, or a container forbids it; EINVAL where a container does not
    ///   know the user. The process then has to end: what is left of its rights is not known.
    package static func become(_ account: Account) throws(SystemError) {
        precondition(!account.isRoot, "to become root is no way to lose rights")
        var step: UnsafePointer<CChar>?
        clinux_bound_capabilities()
        try unsafe check(clinux_become(account.userID, account.groupID, &step), step)
        try dropCapabilities()
        guard clinux_is_only(account.userID, account.groupID) == 1 else {
            throw SystemError(call: "setresuid", code: EPERM)
        }
    }

    /// The process stays the user that it is, without what it was given to bind ports.
    package static func dropCapabilities() throws(SystemError) {
        var step: UnsafePointer<CChar>?
        clinux_bound_capabilities()
        try unsafe check(clinux_drop_capabilities(&step), step)
        guard clinux_has_capabilities() == 0 else { throw SystemError(call: "capset", code: EPERM) }
    }

    /// Keeps other processes of the same user from reading and changing the memory of this one by ptrace(2) and
    /// /proc/PID/mem.
    package static func hideMemory() { clinux_hide_memory() }

    private static func check(_ code: Int32, _ step: UnsafePointer<CChar>?) throws(SystemError) {
        guard code != 0 else { return }
        throw SystemError(call: unsafe step.map { unsafe String(cString: $0) } ?? "capset", code: code)
    }
}
