// Signals as something to read, instead of handlers that interrupt anywhere.

import CLinux
import Glibc

package final class SignalWatch {
    private let source: FileDescriptor

    /// Signals taken in one call; there are 64 kinds, and what is left over keeps the descriptor readable.
    private static let batchSize = 16

    /// Blocks `signals` in the calling thread, and so in every thread it starts later. To be made in the first
    /// thread before there are others: a thread that does not block them would still die of them.
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

    /// For the whole process: a write to a closed connection is then an error (EPIPE) and no end. TLS and HTTP
    /// libraries write to sockets themselves, without MSG_NOSIGNAL.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
