// Receives signals through a descriptor instead of handlers.

import CLinux
import Glibc

package final class SignalWatch {
    private let source: FileDescriptor
    private var signals = sigset_t()

    /// Signals read in one call. There are 64 kinds; the rest keeps the descriptor readable.
    private static let batchSize = 16

    /// Blocks `signals` in the calling thread. Call it in the first thread; the others never take signals
    /// (`NamedThread`).
    package init(_ signals: [Int32]) throws(SystemError) {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        let code = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        guard code == 0 else { throw SystemError(call: "pthread_sigmask", code: code) }
        source = FileDescriptor(
            owning: try SystemCall.run("signalfd") {
                unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
            })
        self.signals = set
    }

    /// Adds signals. Pending signals are kept.
    package func add(_ more: [Int32]) throws(SystemError) {
        for signal in more { unsafe sigaddset(&signals, signal) }
        let code = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard code == 0 else { throw SystemError(call: "pthread_sigmask", code: code) }
        try SystemCall.run("signalfd") {
            unsafe signalfd(source.raw, &signals, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        }
    }

    /// The descriptor that is readable if a signal is pending.
    package var descriptor: Int32 { source.raw }

    /// Returns the signals since the last call; empty if there are none. Equal signals that were pending together count
    /// once.
    package func takeSignals() throws(SystemError) -> [Int32] {
        let size = MemoryLayout<signalfd_siginfo>.size
        let bytes = try unsafe SystemCall.bytes("read", maxBytes: size * SignalWatch.batchSize) {
            unsafe read(source.raw, $0, $1)
        }
        guard let bytes else { return [] }
        return stride(from: 0, to: bytes.count, by: size).map { at in
            unsafe bytes.withUnsafeBytes { Int32(unsafe $0.loadUnaligned(fromByteOffset: at, as: UInt32.self)) }
        }
    }

    /// Restores the usual effect of the signals, also of those that are pending.
    package func unblock() { unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil) }

    /// Ends the process with exit status 0 on these signals until they are watched. Uses a handler, because the first
    /// process of a container ignores signals without one.
    package static func endProcess(on signals: [Int32]) {
        for number in signals { _ = signal(number) { _ in _exit(EXIT_SUCCESS) } }
    }

    /// Ignores SIGPIPE in the whole process: a write to a closed connection then fails with EPIPE. TLS and HTTP
    /// libraries write without MSG_NOSIGNAL.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
