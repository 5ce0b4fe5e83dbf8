// Evaluates the results of system calls: repeats interrupted calls, returns would-block as a value, and throws all
// other errors. Traps on errors that prove a bug of the daemon.

import Glibc

package enum SystemCall {
    /// Runs a call that may have nothing to do yet.
    ///
    /// - Returns: the call's result; nil for EAGAIN (would block).
    package static func attempt<Result: SignedInteger>(
        _ name: StaticString, _ call: () -> Result
    ) throws(SystemError) -> Result? {
        while true {
            let result = call()
            if result >= 0 { return result }
            let code = errno
            if code == EINTR { continue }
            if code == EAGAIN { return nil }
            stopIfOurFault(name, code)
            throw SystemError(call: name.description, code: code)
        }
    }

    /// Runs a call that never has to wait; EAGAIN is thrown like other errors.
    @discardableResult
    package static func run<Result: SignedInteger>(
        _ name: StaticString, _ call: () -> Result
    ) throws(SystemError) -> Result {
        guard let result = try attempt(name, call) else { throw SystemError(call: name.description, code: EAGAIN) }
        return result
    }

    /// Traps on EBADF and EFAULT, which prove a bug: continuing could read, write or close an unrelated file.
    private static func stopIfOurFault(_ name: StaticString, _ code: Int32) {
        precondition(code != EBADF, "\(name): the descriptor is not open (EBADF)")
        precondition(code != EFAULT, "\(name): a bad address was passed (EFAULT)")
    }

    /// Returns the bytes that a call writes into a buffer of `maxBytes`; nil for EAGAIN.
    package static func bytes(
        _ name: StaticString, maxBytes: Int, _ call: (UnsafeMutableRawPointer?, Int) -> Int
    ) throws(SystemError) -> [UInt8]? {
        var wouldBlock = false
        let bytes = try unsafe [UInt8](unsafeUninitializedCapacity: maxBytes) {
            (buffer: inout UnsafeMutableBufferPointer<UInt8>, count: inout Int) throws(SystemError) in
            let result = try attempt(name) { unsafe call(UnsafeMutableRawPointer(buffer.baseAddress), maxBytes) }
            wouldBlock = result == nil
            // A call with MSG_TRUNC may report more than it stored.
            count = min(result ?? 0, maxBytes)
        }
        return wouldBlock ? nil : bytes
    }
}
