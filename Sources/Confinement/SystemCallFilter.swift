// Removes unneeded system calls from the whole process (seccomp(2)): they fail from then on, in all threads,
// permanently. Calls of other architectures, whose numbers have other meanings, end the process.

import CSeccomp

package enum SystemCallFilter {
    /// The library's call that failed, and its error number.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        package let call: String
        package let code: Int32

        package var description: String {
            switch code {
            case EINVAL, ENOSYS, ECANCELED: "\(call): the kernel, or the container, takes no filters (error \(code))"
            default: "\(call): error \(code)"
            }
        }
    }

    /// Installs the filter. Skips calls without a number in the library on this machine, because the kernel then does
    /// not have them.
    ///
    /// - Throws: an error if the kernel or a container forbids filters; nothing has changed then.
    package static func begin() throws(Failure) {
        guard let filter = unsafe cseccomp_allow_all() else { throw Failure(call: "seccomp_init", code: ENOMEM) }
        defer { unsafe seccomp_release(filter) }
        // Applies to all threads at once, or to none.
        try unsafe check("seccomp_attr_set", seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1))
        try unsafe check("seccomp_attr_set", cseccomp_end_on_foreign(filter))
        for call in RefusedCalls.groups.flatMap(\.calls) {
            guard let number = number(of: call) else { continue }
            try unsafe check("seccomp_rule_add", cseccomp_refuse(filter, number, EPERM))
        }
        if let number = number(of: RefusedCalls.device) {
            for request in RefusedCalls.typing {
                try unsafe check("seccomp_rule_add", cseccomp_refuse_second(filter, number, request, EPERM))
            }
        }
        if let number = number(of: RefusedCalls.process) {
            for flag in RefusedCalls.processFlags {
                try unsafe check(
                    "seccomp_rule_add",
                    cseccomp_refuse_bits(filter, number, flag | cseccomp_thread_flag(), flag, EPERM))
            }
        }
        if let number = number(of: RefusedCalls.unfiltered) {
            try unsafe check("seccomp_rule_add", cseccomp_refuse(filter, number, ENOSYS))
        }
        try unsafe check("seccomp_load", seccomp_load(filter))
    }

    /// Returns nil for a call that this machine does not have, which the library numbers below zero.
    static func number(of call: String) -> Int32? {
        let number = unsafe seccomp_syscall_resolve_name(call)
        return number >= 0 ? number : nil
    }

    private static func check(_ call: String, _ result: Int32) throws(Failure) {
        guard result != 0 else { return }
        throw Failure(call: call, code: -result)
    }
}
