// Drops privileges permanently, in all threads, and verifies the result. Call it before other threads exist and before
// any network data is read.

import CLinux
import Glibc

package enum Privileges {
    /// Whether the effective user is root, which may bind any port and read any file.
    package static var isRoot: Bool { geteuid() == 0 }

    /// Changes the process to this user, which must not be root, without capabilities. Programs that the process starts
    /// cannot regain any.
    ///
    /// - Throws: EPERM if the process is not root or a container forbids it; EINVAL if a container does not map the
    ///   user. The process must then exit, because its remaining privileges are unknown.
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

    /// Keeps the user and drops the capabilities, including those for binding ports.
    package static func dropCapabilities() throws(SystemError) {
        var step: UnsafePointer<CChar>?
        clinux_bound_capabilities()
        try unsafe check(clinux_drop_capabilities(&step), step)
        guard clinux_has_capabilities() == 0 else { throw SystemError(call: "capset", code: EPERM) }
    }

    /// Keeps the right to administer the network (CAP_NET_ADMIN), and no other one.
    ///
    /// - Parameter account: the user that root becomes; ignored for a process that is not root.
    /// - Throws: EPERM without that capability.
    package static func keepNetworkAdministration(_ account: Account) throws(SystemError) {
        precondition(!account.isRoot, "to become root is no way to lose rights")
        var step: UnsafePointer<CChar>?
        try unsafe check(clinux_keep_network_administration(account.userID, account.groupID, &step), step)
    }

    /// Prevents other processes of the same user from reading and changing this one's memory by ptrace(2) and
    /// /proc/PID/mem.
    package static func hideMemory() { clinux_hide_memory() }

    private static func check(_ code: Int32, _ step: UnsafePointer<CChar>?) throws(SystemError) {
        guard code != 0 else { return }
        throw SystemError(call: unsafe step.map { unsafe String(cString: $0) } ?? "capset", code: code)
    }
}
