// A client of a UNIX socket that never waits: it reads the received bytes when the test asks for them.

import Glibc
import Testing

final class LocalClient {
    private let descriptor: Int32
    private var received: [UInt8] = []
    private var isAtEnd = false
    private var isClosed = false

    /// Connects and sends the line.
    init(_ line: String, to path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            unsafe bytes.copyBytes(from: Array(path.utf8))
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(descriptor, $0, size) }
        }
        try #require(connected == 0)
        try #require(unsafe Glibc.send(descriptor, Array(line.utf8), line.utf8.count, 0) == line.utf8.count)
    }

    deinit {
        close()
    }

    /// The text received so far.
    var text: String {
        receive()
        return String(decoding: received, as: UTF8.self)
    }

    /// Whether the server has closed the connection.
    var hasEnded: Bool {
        receive()
        return isAtEnd
    }

    func endSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        _ = Glibc.close(descriptor)
    }

    private func receive() {
        while !isAtEnd {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EAGAIN { return }
            if count <= 0 { isAtEnd = true } else { received += buffer.prefix(count) }
        }
    }
}
