// A system call that failed, and why. Would-block is not an error: `SystemCall` makes it a value.

internal import CLinux

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

/// `bind: Address already in use (EADDRINUSE)`
extension SystemError: CustomStringConvertible {
    package var description: String {
        guard let text = unsafe clinux_error_text(code), let name = unsafe clinux_error_name(code) else {
            return "\(call): error \(code)"
        }
        return unsafe "\(call): \(String(cString: text)) (\(String(cString: name)))"
    }
}
