// Runs code in a copy of the process first: a crash or an endless loop there is an error here.

import CLinux
package import DNSWire
import Glibc

package enum Trial {
    package enum Outcome: Equatable {
        case finished
        /// A signal ended the copy: the code crashed, or got no memory.
        case crashed(signal: Int32)
        case unfinished
    }

    /// Blocks until the code has ended, for at most `timeout`. Only the calling thread exists in the copy, so the code
    /// must wait for no other. Its results are lost.
    ///
    /// - Parameter maxGrowthBytes: the memory that the code may need.
    /// - Throws: the copy could not be made.
    package static func run(
        timeout: Duration, maxGrowthBytes: UInt64, _ code: () -> Void
    ) throws(SystemError) -> Outcome {
        var ends: [Int32] = [-1, -1]
        try SystemCall.run("pipe") { unsafe pipe(&ends) }
        let reading = FileDescriptor(owning: ends[0])
        let process = try start(FileDescriptor(owning: ends[1]), maxGrowthBytes, code)
        let deadline = Clock.now() + timeout
        // The end of the copy closes the pipe.
        var entry = pollfd(fd: reading.raw, events: Int16(POLLIN), revents: 0)
        let ready = try? SystemCall.run("poll") {
            unsafe poll(&entry, 1, Clock.milliseconds(from: Clock.now(), to: deadline))
        }
        if ready != 1 { kill(process, SIGKILL) }
        var status: Int32 = 0
        try SystemCall.run("waitpid") { unsafe waitpid(process, &status, 0) }
        guard ready == 1 else { return .unfinished }
        let signal = status & 0x7F
        return signal == 0 ? .finished : .crashed(signal: signal)
    }

    /// - Parameter writing: an end of a pipe, open until the copy ends.
    /// - Returns: the process ID of the copy.
    private static func start(
        _ writing: consuming FileDescriptor, _ maxGrowthBytes: UInt64, _ code: () -> Void
    ) throws(SystemError) -> pid_t {
        let process = try SystemCall.run("fork") { clinux_fork_for_trial(maxGrowthBytes) }
        if process == 0 {
            code()
            _exit(0)
        }
        return process
    }
}
