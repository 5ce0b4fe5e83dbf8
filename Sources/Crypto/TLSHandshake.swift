// A client's handshake over memory: bytes in, bytes out, and what was found. It has no socket and no clock, and checks
// no certificate while it runs: the chain is judged when it is done, so that a wrong one can be looked at, too.

import COpenSSL

/// Shows one name (SNI), and judges the server's certificate for it.
package struct TLSHandshake: ~Copyable {
    package enum Progress: Equatable, Sendable {
        /// More bytes are needed.
        case underWay
        case done(TLSPeer)
        /// After `done`: what the server sent, decrypted.
        case data([UInt8])
        /// After `done`: the server has nothing more to say (close_notify).
        case closed
        case failed(TLSFailure)
    }

    /// OpenSSL takes chains of up to 100 KiB; the rest of a server's flight is small. More is an attempt to hold us.
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
    ///   - name: a DNS name in A-labels, without a final dot. Any other throws.
    ///   - nowSeconds: since 1970, the time for which certificates are judged.
    package init(_ context: TLSContext, name: String, nowSeconds: Int64) throws(CryptoError) {
        guard HostName.isValid(name) else { throw CryptoError("no name of a host") }
        let name = name.lowercased()
        let stream = try TLSStream(context, serverName: name)
        _ = stream.shakeHands()
        self.stream = stream
        self.name = name
        self.nowSeconds = nowSeconds
    }

    /// Says one thing at a time. After `done` and `data` there may be more, which a call with no bytes tells, or the
    /// next with some: `underWay` says that there is not. After `failed` and `closed` it repeats itself, and takes
    /// nothing in.
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

    /// What must be sent to the server now: after `init` the ClientHello, after `receive` and `send` what they led to,
    /// after a failure the alert. Empty if nothing.
    package mutating func takeOutgoing() -> [UInt8] { stream.takeOutgoing() }

    /// After `done`. What is sent to a server that has closed is lost.
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
        // Counted without what came after the handshake, so that it does not matter how the bytes were cut.
        guard receivedBytes - stream.unreadBytes <= TLSHandshake.maxHandshakeBytes else {
            return end(.failed(.alert("more than \(TLSHandshake.maxHandshakeBytes) bytes of handshake")))
        }
        switch step {
        case .wantsMore: return .underWay
        case .closed: return end(.failed(.alert("close notify")))
        case .failed(let reason): return end(.failed(.alert(reason)))
        case .done:
            guard let peer = stream.peer(name: name, nowSeconds: nowSeconds) else {
                return end(.failed(.alert("no certificate that could be judged")))
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

    /// What was read before the end is said first, and the end by the next call.
    private mutating func end(_ end: Progress, after plain: [UInt8] = []) -> Progress {
        phase = .ended(end)
        return plain.isEmpty ? end : .data(plain)
    }
}

/// The head of the first record: by it TLS is told from whatever else a server may greet us with. OpenSSL's own words
/// for that change from version to version.
private struct Opening {
    private var count = 0

    /// False as soon as the bytes cannot be the head of a record with an alert or a handshake message, not encrypted.
    mutating func accepts(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count, count < 5 {
            guard Opening.isPossible(bytes[index], at: count) else { return false }
            index += 1
            count += 1
        }
        return true
    }

    /// Type, version 3.x, and a length of at most 2^14 (RFC 8446, 5.1).
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
