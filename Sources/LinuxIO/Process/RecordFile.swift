// A file written from memory as it is, at once or when the process crashes. Allocates nothing once it is made, because
// of the crash.

import CLinux
import Glibc

// Text would have to be made in the signal handler, which must not allocate. The price is a file of some megabytes.

/// `@unchecked Sendable`: it holds pointers to memory that lives as long as the process, which is only read.
@safe package struct RecordFile: @unchecked Sendable {
    package let path: String
    private let header: [UInt8]
    private let parts: [clinux_record_part]

    /// Behind the header: a signal or 0, nanoseconds since boot, microseconds since 1970, as numbers of 8 bytes.
    package static let momentBytes = MemoryLayout<clinux_record_moment>.size

    /// - Parameters:
    ///   - header: up to 128 bytes.
    ///   - parts: up to 260, of memory that lives as long as the process.
    package init(path: String, header: [UInt8], parts: [UnsafeRawBufferPointer]) {
        self.path = path
        self.header = header
        unsafe self.parts = parts.compactMap { part in
            unsafe part.baseAddress.map { unsafe clinux_record_part(bytes: $0, count: part.count) }
        }
    }

    /// By any thread. Others may write the memory meanwhile.
    package func write() throws(SystemError) {
        let code = unsafe clinux_write_records(path, header, header.count, parts, parts.count, 0)
        guard code == 0 else { throw SystemError(call: "open or write", code: code) }
    }

    /// From now on, when the process crashes, in the place of what was to be written before. In the main thread alone.
    package func writeOnCrash() throws(SystemError) {
        let code = unsafe clinux_write_records_on_crash(path, header, header.count, parts, parts.count)
        guard code == 0 else { throw SystemError(call: "sigaction", code: code) }
    }

    package static func writeNothingOnCrash() {
        _ = clinux_write_records_on_crash(nil, nil, 0, nil, 0)
    }

    /// Each thread for itself: a crash may be of a stack that has run out.
    package static func useCrashStack() { _ = clinux_use_crash_stack() }
}
