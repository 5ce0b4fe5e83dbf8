// A named thread that takes only crash signals. The name shows in `top -H` and core dumps. The creator must join it: a
// thread that outlives its data crashes at exit.

import CLinux
package import DNSWire
import Glibc

package struct NamedThread: ~Copyable {
    private let thread: pthread_t

    /// Maximum length of a thread's name in the kernel.
    package static let maxNameBytes = 15

    /// - Parameter name: at most 15 bytes.
    /// - Throws: EAGAIN if the system cannot create another thread.
    package init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        precondition(name.utf8.count <= NamedThread.maxNameBytes, "a thread's name has at most 15 bytes")
        let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var thread = pthread_t()
        var (signals, own) = (NamedThread.leftToFirst, sigset_t())
        // The thread starts with the creator's current signal mask.
        unsafe pthread_sigmask(SIG_SETMASK, &signals, &own)
        let code = unsafe pthread_create(&thread, nil, NamedThread.main, start.toOpaque())
        unsafe pthread_sigmask(SIG_SETMASK, &own, nil)
        guard code == 0 else {
            unsafe start.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        self.thread = thread
    }

    /// Waits until the body has returned.
    package consuming func join() {
        let code = pthread_join(thread, nil)
        precondition(code == 0, "a thread cannot join itself")
        discard self
    }

    /// Waits at most this long. A thread that has not ended by then is left to itself; it ends with the process at the
    /// latest.
    ///
    /// - Returns: whether the body has returned.
    package consuming func join(within patience: Duration) -> Bool {
        let code = clinux_join_within(thread, Int32(clamping: patience.wholeMilliseconds))
        precondition(code == 0 || code == ETIMEDOUT, "a thread cannot join itself")
        discard self
        return code == 0
    }

    /// Stops the process for a thread that was not joined. No thread has the number 0.
    deinit {
        precondition(thread == 0, "a thread was not joined")
    }

    private static var leftToFirst: sigset_t {
        var set = sigset_t()
        unsafe sigfillset(&set)
        for signal in crashes { unsafe sigdelset(&set, signal) }
        return set
    }

    /// Crash signals, which the kernel sends to the faulting thread.
    private static let crashes = [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS]

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context = unsafe context else { return nil }
        let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
        _ = unsafe clinux_name_this_thread(start.name)
        start.body()
        return nil
    }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
