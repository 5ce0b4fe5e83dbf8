// A client handshake over memory buffers, without socket or clock. Verifies the certificate chain only after the
// handshake, so invalid certificates can be examined too.

import COpenSSL

/// Sends one name (SNI) and verifies the server's certificate for it.
package struct TLSHandshake: ~Copyable {
    package enum Progress: Equatable, Sendable {
        /// More bytes are needed.
        case underWay
        case done(TLSPeer)
        /// After `done`: decrypted data from the server.
        case data([UInt8])
        /// After `done`: the server closed the connection (close_notify).
        case closed
        case failed(TLSFailure)
    }

    /// Bound on the bytes of a handshake. OpenSSL accepts chains of up to 100 KiB, and the rest of a server's flight is
    /// small. A longer handshake is an attack.
    package static let maxHandshakeBytes = 128 << 10

    private enum Phase {
        case shakingHands(Opening)
        case open
        case ended(Progress)
    }

    private let stream: TLSStream
    private let name: String
    private let nowSeconds: Int64
    private var phase = Phase.shakingHands(Opening())
    private var receivedBytes = 0

    /// - Parameters:
    ///   - name: a DNS name in A-labels, without a final dot; throws otherwise.
    ///   - nowSeconds: the time for the certificate check, in seconds since 1970.
    package init(_ context: TLSContext, name: String, nowSeconds: Int64) throws(CryptoError) {
        guard HostName.isValid(name) else { throw CryptoError("no name of a host") }
        let name = name.lowercased()
        let stream = try TLSStream(context, serverName: name)
        _ = stream.shakeHands()
        self.stream = stream
        self.name = name
        self.nowSeconds = nowSeconds
    }

    /// Processes bytes and returns one result at a time. After `done` and `data`, call again without bytes until
    /// `underWay`, or pass the next bytes. After `failed` and `closed` it repeats that result and ignores input.
    package mutating func receive(_ bytes: Span<UInt8>) -> Progress {
        switch phase {
        case .ended(let end): return end
        case .open:
            stream.take(bytes)
            return readData()
        case .shakingHands(var opening):
            guard opening.accepts(bytes) else { return end(.failed(.notTLS)) }
            phase = .shakingHands(opening)
            receivedBytes += bytes.count
            stream.take(bytes)
            return shakeHands()
        }
    }

    /// Returns the bytes to send now: after `init` the ClientHello, after `receive` and `send` their output, after a
    /// failure the alert. May be empty.
    package mutating func takeOutgoing() -> [UInt8] {
        var bytes: [UInt8] = []
        stream.takeOutgoing(into: &bytes)
        return bytes
    }

    /// Call after `done`. Data for a server that has closed is lost.
    package mutating func send(_ plain: [UInt8]) {
        switch phase {
        case .shakingHands: preconditionFailure("nothing is sent to a server that was not looked at")
        case .ended: return
        case .open:
            guard !plain.isEmpty, !stream.send(plain) else { return }
            _ = end(.failed(.alert(stream.takeReason())))
        }
    }

    private mutating func shakeHands() -> Progress {
        let step = stream.shakeHands()
        // Excludes bytes after the handshake, so the result does not depend on how the bytes were split.
        guard receivedBytes - stream.unreadBytes <= TLSHandshake.maxHandshakeBytes else {
            return end(.failed(.alert("more than \(TLSHandshake.maxHandshakeBytes) bytes of handshake")))
        }
        switch step {
        case .wantsMore: return .underWay
        case .closed: return end(.failed(.alert("close notify")))
        case .failed(let reason): return end(.failed(.alert(reason)))
        case .done:
            guard let peer = stream.peer(name: name, nowSeconds: nowSeconds) else {
                return end(.failed(.alert("no certificate to verify")))
            }
            phase = .open
            return .done(peer)
        }
    }

    private mutating func readData() -> Progress {
        var plain: [UInt8] = []
        while true {
            switch stream.read(into: &plain) {
            case .done: continue
            case .wantsMore: return plain.isEmpty ? .underWay : .data(plain)
            case .closed: return end(.closed, after: plain)
            case .failed(let reason): return end(.failed(.alert(reason)), after: plain)
            }
        }
    }

    /// Returns data read before the end first; the next call returns the end.
    private mutating func end(_ end: Progress, after plain: [UInt8] = []) -> Progress {
        phase = .ended(end)
        return plain.isEmpty ? end : .data(plain)
    }
}

/// The header of the first record, which distinguishes TLS from other protocols. OpenSSL's own error for this changes
/// between versions.
private struct Opening {
    private var count = 0

    /// Returns false once the bytes cannot be the header of an unencrypted alert or handshake record.
    mutating func accepts(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count, count < 5 {
            guard Opening.isPossible(bytes[index], at: count) else { return false }
            index += 1
            count += 1
        }
        return true
    }

    /// Returns whether the header may have this byte: type, version 3.x, and a length of at most 2^14 (RFC 8446 section
    /// 5.1).
    private static func isPossible(_ byte: UInt8, at index: Int) -> Bool {
        switch index {
        case 0: byte == UInt8(SSL3_RT_ALERT) || byte == UInt8(SSL3_RT_HANDSHAKE)
        case 1: byte == UInt8(SSL3_VERSION_MAJOR)
        case 2: byte <= 4
        case 3: byte <= 0x40
        default: true
        }
    }
}
