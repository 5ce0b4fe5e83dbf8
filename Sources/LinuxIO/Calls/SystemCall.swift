// The one place where results of system calls are judged: interrupted calls are repeated, would-block is a value,
// everything else is thrown. It must never hide an error that says our own code is wrong.

import Glibc

enum SystemCall {
    /// Runs a call that may find nothing to do yet.
    ///
    /// - Returns: what the call returned, or nil for EAGAIN (would block).
    static func attempt<Result: SignedInteger>(
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

    /// Runs a call that has nothing to wait for; EAGAIN is an error like others.
    @discardableResult
    static func run<Result: SignedInteger>(
        _ name: StaticString, _ call: () -> Result
    ) throws(SystemError) -> Result {
        guard let result = try attempt(name, call) else { throw SystemError(call: name.description, code: EAGAIN) }
        return result
    }

    /// A descriptor that is not open, or a bad address, is a bug: continuing could read, write or close an unrelated
    /// file.
    private static func stopIfOurFault(_ name: StaticString, _ code: Int32) {
        precondition(code != EBADF, "\(name): the descriptor is not open (EBADF)")
        precondition(code != EFAULT, "\(name): a bad address was passed (EFAULT)")
    }

    /// Collects what one call writes into a buffer of at most `maxBytes` bytes; nil for EAGAIN.
    static func bytes(
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
