// An HTTP client that returns every byte until the end of the connection, and the error at its end.

import Glibc
import Testing

struct RawClient {
    /// All received bytes.
    let bytes: [UInt8]
    let failure: Int32

    /// The longest wait of a test for bytes.
    private static let patienceSeconds = 5

    /// The limit of received bytes, more than any finite reply has.
    private static let limitBytes = 1 << 20

    static func get(_ target: String, port: UInt16) throws -> RawClient {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var patience = timeval(tv_sec: patienceSeconds, tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
        var request = Array("GET \(target) HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n".utf8)
        _ = unsafe send(descriptor, &request, request.count, Int32(MSG_NOSIGNAL))
        return readAll(descriptor)
    }

    private static func readAll(_ descriptor: Int32) -> RawClient {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return RawClient(bytes: bytes, failure: count == 0 ? 0 : errno) }
            bytes += buffer.prefix(count)
            guard bytes.count < limitBytes else { return RawClient(bytes: bytes, failure: 0) }
        }
    }

    var head: String {
        String(decoding: bytes.prefix(bodyOffset), as: UTF8.self)
    }

    var body: [UInt8] { Array(bytes.dropFirst(bodyOffset)) }

    /// The value of Content-Length.
    var announcedBytes: Int? {
        head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) }
    }

    private var bodyOffset: Int {
        let end = Array("\r\n\r\n".utf8)
        let start = bytes.indices.first { bytes[$0...].starts(with: end) }
        return start.map { $0 + end.count } ?? bytes.count
    }
}
