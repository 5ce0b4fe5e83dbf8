// Client side of a UNIX socket: sends one line and reads everything back. Blocks; for command-line programs, never for
// the daemon.

package import DNSWire
import Glibc

package enum LocalExchange {
    /// Connects to the socket at `path`, sends `line` with a newline, and reads until the other side closes.
    ///
    /// - Parameters:
    ///   - timeout: limit for the whole exchange.
    ///   - maxBytes: maximum size of the answer; a longer one is an error.
    /// - Throws: ENOENT, EACCES, ECONNREFUSED (call "connect"), ETIMEDOUT, EMSGSIZE (answer too long).
    package static func ask(
        _ line: String, at path: String, timeout: Duration, maxBytes: Int
    ) throws(SystemError) -> [UInt8] {
        var answer: [UInt8] = []
        try ask(line, at: path, timeout: timeout, silence: timeout, total: timeout, maxBytes: maxBytes) { answer += $0 }
        return answer
    }

    /// Like the function above, for an answer in parts. Each part is handed over on arrival.
    ///
    /// - Parameters:
    ///   - timeout: limit for connecting and sending together.
    ///   - silence: limit for each later pause.
    ///   - total: limit for the whole exchange; nil: the exchange may go on as long as parts arrive.
    ///   - take: receives at least one byte per call, split at any place. The daemon waits while `take` runs.
    package static func ask(
        _ line: String, at path: String, timeout: Duration, silence: Duration, total: Duration? = nil, maxBytes: Int,
        _ take: ([UInt8]) -> Void
    ) throws(SystemError) {
        let end = total.map { Clock.now() + $0 }
        let deadlineOfPause = { () -> Instant in
            let pause = Clock.now() + silence
            return end.map { min($0, pause) } ?? pause
        }
        var deadline = Clock.now() + timeout
        let socket = try connect(to: LocalAddress(path), until: deadline)
        try send(Array(line.utf8) + [UInt8(ascii: "\n")], on: socket, until: deadline)
        deadline = deadlineOfPause()
        var count = 0
        while true {
            switch try socket.read(maxBytes: chunkBytes) {
            case .bytes(let bytes):
                count += bytes.count
                guard count <= maxBytes else { throw SystemError(call: "recv", code: EMSGSIZE) }
                take(bytes)
                deadline = deadlineOfPause()
                // A peer that never pauses would not get to the wait below.
                guard Clock.now() < deadline else { throw SystemError(call: "recv", code: ETIMEDOUT) }
            case .wouldBlock: try wait(for: POLLIN, on: socket.descriptor.raw, call: "recv", until: deadline)
            case .ended: return
            }
        }
    }

    /// Bytes per read. Most answers fit into one chunk.
    private static let chunkBytes = 64 * 1024

    private static func connect(to address: LocalAddress, until deadline: Instant) throws(SystemError) -> StreamSocket {
        let descriptor = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM)
        // A full backlog gives EAGAIN here, and no descriptor becomes ready when there is room again.
        while true {
            do throws(SystemError) {
                try address.connect(descriptor)
                return StreamSocket(accepted: descriptor)
            } catch {
                guard error.code == EAGAIN else { throw error }
                guard Clock.now() < deadline else { throw SystemError(call: "connect", code: ETIMEDOUT) }
                _ = poll(nil, 0, backlogRetryMilliseconds)
            }
        }
    }

    private static let backlogRetryMilliseconds: Int32 = 10

    private static func send(_ bytes: [UInt8], on socket: StreamSocket, until deadline: Instant) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if let count = try socket.write(rest.span) {
                rest = rest.dropFirst(count)
            } else {
                try wait(for: POLLOUT, on: socket.descriptor.raw, call: "send", until: deadline)
            }
        }
    }

    private static func wait(
        for events: Int32, on descriptor: Int32, call: String, until deadline: Instant
    ) throws(SystemError) {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        let ready = try SystemCall.run("poll") {
            unsafe poll(&entry, 1, Clock.milliseconds(from: Clock.now(), to: deadline))
        }
        guard ready > 0 else { throw SystemError(call: call, code: ETIMEDOUT) }
    }
}
