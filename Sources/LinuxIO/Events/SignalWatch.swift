// Signals as something to read, instead of handlers that interrupt anywhere.

import CLinux
import Glibc

package final class SignalWatch {
    private let source: FileDescriptor
    private var signals = sigset_t()

    /// Signals taken in one call; there are 64 kinds, and what is left over keeps the descriptor readable.
    private static let batchSize = 16

    /// Blocks `signals` in the calling thread. To be made in the first one; the others never take signals
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

    /// These as well, from now on; those that wait are not lost.
    package func add(_ more: [Int32]) throws(SystemError) {
        for signal in more { unsafe sigaddset(&signals, signal) }
        let code = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard code == 0 else { throw SystemError(call: "pthread_sigmask", code: code) }
        try SystemCall.run("signalfd") {
            unsafe signalfd(source.raw, &signals, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        }
    }

    /// Readable when a signal waits.
    package var descriptor: Int32 { source.raw }

    /// The signals that came since the last call; equal ones that waited together are one. Empty when none came.
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

    /// Until they are watched these end the process at once, with success: by a handler, since the first process of a
    /// container does not hear a signal that it has none for.
    package static func endProcess(on signals: [Int32]) {
        for number in signals { _ = signal(number) { _ in _exit(EXIT_SUCCESS) } }
    }

    /// For the whole process: a write to a closed connection is then an error (EPIPE) and no end. TLS and HTTP
    /// libraries write to sockets themselves, without MSG_NOSIGNAL.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
