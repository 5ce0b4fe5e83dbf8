// One TCP connection or accepted UNIX connection. Never blocks and never raises SIGPIPE. The owner keeps deadlines and
// buffers.

package import DNSWire
import Glibc

package final class StreamSocket: Sendable {
    package let descriptor: FileDescriptor

    /// Starts to connect. `connectOutcome()` returns the result once the descriptor is writable.
    ///
    /// - Parameter interface: the only interface that packets leave and arrive through; nil: the kernel chooses by the
    ///   route.
    /// - Throws: an immediate failure, such as ENETUNREACH or, on loopback, ECONNREFUSED; ENODEV without such an
    ///   interface.
    package init(connectingTo peer: SocketAddress, through interface: String? = nil) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: peer.family, type: SOCK_STREAM)
        if let interface { try descriptor.bindSocket(toInterface: interface) }
        try descriptor.sendWithoutDelay()
        _ = try descriptor.connectSocket(to: peer)
        self.descriptor = descriptor
    }

    /// Connects to the UNIX socket at a path.
    ///
    /// - Throws: ENOENT, ECONNREFUSED, EACCES; EAGAIN if too many connections wait there.
    package convenience init(connectingTo path: String) throws(SystemError) {
        let descriptor = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM)
        try LocalAddress(path).connect(descriptor)
        self.init(accepted: descriptor)
    }

    /// Takes over an accepted connection.
    init(accepted descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Takes over a connection that another process accepted.
    convenience init(inherited descriptor: consuming FileDescriptor) throws(SystemError) {
        try descriptor.becomeOurs()
        try descriptor.sendWithoutDelay()
        self.init(accepted: descriptor)
    }

    package enum ConnectOutcome: Equatable, Sendable {
        case connected, inProgress
        case failed(SystemError)
    }

    /// Returns the result of connecting. A failure is reported once; do not call again after it.
    package func connectOutcome() throws(SystemError) -> ConnectOutcome {
        let code = try descriptor.option(SOL_SOCKET, SO_ERROR)
        guard code == 0 else { return .failed(SystemError(call: "connect", code: code)) }
        do throws(SystemError) {
            _ = try descriptor.peerAddress()
            return .connected
        } catch {
            guard error.code == ENOTCONN else { throw error }
            return .inProgress
        }
    }

    /// Makes the kernel end the connection when the peer's kernel acknowledges nothing for this time. Otherwise it
    /// would retransmit for a quarter of an hour.
    ///
    /// - Parameter idleSeconds: the kernel asks an idle peer at this interval.
    package func endWhenSilent(milliseconds: Int32, idleSeconds: Int32) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        try descriptor.setOption(tcp, TCP_USER_TIMEOUT, to: milliseconds)
        try descriptor.setOption(SOL_SOCKET, SO_KEEPALIVE, to: 1)
        try descriptor.setOption(tcp, TCP_KEEPIDLE, to: idleSeconds)
        try descriptor.setOption(tcp, TCP_KEEPINTVL, to: idleSeconds)
    }

    package func localAddress() throws(SystemError) -> SocketAddress {
        try descriptor.localAddress()
    }

    package enum ReadOutcome: Equatable, Sendable {
        /// At least one byte.
        case bytes([UInt8])
        case wouldBlock
        /// The peer has closed its sending side.
        case ended
    }

    /// Reads the available bytes, at most `maxBytes` (1 or more).
    ///
    /// - Throws: ECONNRESET, ETIMEDOUT and the like: the connection is lost.
    package func read(maxBytes: Int) throws(SystemError) -> ReadOutcome {
        precondition(maxBytes > 0, "an empty read looks like the end of the stream")
        let bytes = try unsafe SystemCall.bytes("recv", maxBytes: maxBytes) { unsafe recv(descriptor.raw, $0, $1, 0) }
        guard let bytes else { return .wouldBlock }
        return bytes.isEmpty ? .ended : .bytes(bytes)
    }

    /// Overwrites the beginning of `room` with the available bytes, at most `maxBytes` (1 or more).
    ///
    /// - Returns: the number of bytes, 0 if the peer has closed its sending side; nil if there are none now.
    /// - Throws: as `read(maxBytes:)`.
    package func read(over room: inout [UInt8], maxBytes: Int = .max) throws(SystemError) -> Int? {
        let maxBytes = min(room.count, maxBytes)
        precondition(maxBytes > 0, "an empty read looks like the end of the stream")
        return try unsafe room.withUnsafeMutableBufferPointer { (room) throws(SystemError) in
            try SystemCall.attempt("recv") { unsafe recv(descriptor.raw, room.baseAddress, maxBytes, 0) }
        }
    }

    /// - Returns: the number of bytes that the kernel took, possibly fewer than given; nil if it can take none now.
    /// - Throws: EPIPE, ECONNRESET and the like: the connection is lost.
    package func write(_ bytes: Span<UInt8>) throws(SystemError) -> Int? {
        try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(SystemError) in try unsafe write(buffer) }
    }

    /// Writes from the front of the bytes, and removes what the kernel took.
    ///
    /// - Returns: the number of bytes that the kernel took; nil if it can take none now.
    /// - Throws: EPIPE, ECONNRESET and the like: the connection is lost.
    package func write(from unsent: inout [UInt8]) throws(SystemError) -> Int? {
        let count = try unsafe unsent.withUnsafeBufferPointer { (buffer) throws(SystemError) in
            try unsafe write(buffer)
        }
        if let count { unsent.removeFirst(count) }
        return count
    }

    private func write(_ bytes: UnsafeBufferPointer<UInt8>) throws(SystemError) -> Int? {
        try SystemCall.attempt("send") {
            unsafe send(descriptor.raw, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }
}

extension FileDescriptor {
    /// Disables Nagle's algorithm. Answers are written whole, so it would only delay the last segment.
    func sendWithoutDelay() throws(SystemError) {
        try setOption(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
    }
}
