// Writes registered memory to a file, at once or when the process crashes. Allocates nothing after its creation,
// because a crash handler must not.

import CLinux
import Glibc

// The file is binary: text would have to be made in the signal handler, which must not allocate. The price is a file of
// some megabytes.

/// `@unchecked Sendable`: it holds pointers to memory that lives as long as the process and is only read.
@safe package struct RecordFile: @unchecked Sendable {
    package let path: String
    private let header: [UInt8]
    private let parts: [clinux_record_part]

    /// Size of the data after the header: the signal or 0, nanoseconds since boot, microseconds since 1970, 8 bytes
    /// each.
    package static let momentBytes = MemoryLayout<clinux_record_moment>.size

    /// - Parameters:
    ///   - header: up to 128 bytes.
    ///   - parts: up to 260 parts of memory that lives as long as the process.
    package init(path: String, header: [UInt8], parts: [UnsafeRawBufferPointer]) {
        self.path = path
        self.header = header
        unsafe self.parts = parts.compactMap { part in
            unsafe part.baseAddress.map { unsafe clinux_record_part(bytes: $0, count: part.count) }
        }
    }

    /// Writes the file. Any thread may call it, even while others write the memory.
    package func write() throws(SystemError) {
        let code = unsafe clinux_write_records(path, header, header.count, parts, parts.count, 0)
        guard code == 0 else { throw SystemError(call: "open or write", code: code) }
    }

    /// Registers the file for the crash handler, in place of an earlier one. Only for the main thread.
    package func writeOnCrash() throws(SystemError) {
        let code = unsafe clinux_write_records_on_crash(path, header, header.count, parts, parts.count)
        guard code == 0 else { throw SystemError(call: "sigaction", code: code) }
    }

    package static func writeNothingOnCrash() {
        _ = clinux_write_records_on_crash(nil, nil, 0, nil, 0)
    }

    /// Gives the calling thread a separate signal stack: a crash may be a stack overflow.
    package static func useCrashStack() { _ = clinux_use_crash_stack() }
}
