// A failed system call and its error number. Would-block is not an error: `SystemCall` returns it as a value.

import CLinux
import Glibc

package struct SystemError: Error, Equatable {
    /// The name of the call: "bind".
    package let call: String
    /// The error number (errno).
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }
}

extension SystemError {
    package var isAddressInUse: Bool { code == EADDRINUSE }
    package var isPermissionDenied: Bool { code == EACCES || code == EPERM }
    /// The process or the machine has no descriptor or memory left. The condition may pass.
    package var isExhaustion: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) }
    /// The file is larger than the caller's limit.
    package var isTooLarge: Bool { code == EFBIG }
    /// The file system lacks the operation.
    package var isUnsupported: Bool { code == EINVAL || code == EOPNOTSUPP }
    package var isReadOnly: Bool { code == EROFS }
    package var isNoSuchFile: Bool { code == ENOENT }
    package var isAlreadyThere: Bool { code == EEXIST }
    /// The machine currently lacks the address family or the address.
    package var isAddressUnavailable: Bool { code == EADDRNOTAVAIL || code == EAFNOSUPPORT }
    /// From `connect`: no socket listens at the peer's port.
    package var isRefused: Bool { code == ECONNREFUSED }
    /// From `connect`: a router, or this machine, reports that the peer is unreachable. EACCES means a prohibiting
    /// route or ICMPv6 "administratively prohibited".
    package var isUnreachable: Bool { [ENETUNREACH, EHOSTUNREACH, EHOSTDOWN, ENOPROTOOPT, EACCES].contains(code) }
    package var isTimeout: Bool { code == ETIMEDOUT }
    /// The peer has reset the connection; a later write fails with EPIPE.
    package var isReset: Bool { code == ECONNRESET || code == EPIPE }
}

/// Describes the error: `bind: Address already in use (EADDRINUSE)`.
extension SystemError: CustomStringConvertible {
    package var description: String {
        guard let text = unsafe clinux_error_text(code), let name = unsafe clinux_error_name(code) else {
            return "\(call): error \(code)"
        }
        return unsafe "\(call): \(String(cString: text)) (\(String(cString: name)))"
    }
}
