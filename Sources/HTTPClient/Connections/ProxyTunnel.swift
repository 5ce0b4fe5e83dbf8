// Asks a proxy for a connection to the endpoint: CONNECT (RFC 9110 section 9.3.6) or SOCKS version 5 (RFC 1928, RFC
// 1929). Bytes in, bytes out; no socket and no clock. The proxy gets an address, never a name.

package import DNSWire

package struct ProxyTunnel {
    package enum Progress: Equatable {
        /// More bytes are needed, or `takeOutput` has some to send.
        case underWay
        /// The following bytes come from the endpoint.
        case established
        /// Holds the reason, such as "status 407".
        case failed(String)
    }

    private enum Step {
        case reply(HTTP1Reader)
        case socksMethod, socksLogin, socksConnection
        case ended(Progress)
    }

    private static let socksVersion: UInt8 = 5
    private static let socksLoginVersion: UInt8 = 1
    private static let withoutLogin: UInt8 = 0
    private static let withLogin: UInt8 = 2

    private let proxy: HTTPProxy
    private let target: SocketAddress
    private var step: Step
    private var output: [UInt8] = []
    /// The beginning of a SOCKS message that has not arrived whole; at most 262 bytes.
    private var pending: [UInt8] = []

    /// Begins the conversation; `takeOutput` has the first bytes to send.
    package init(to target: SocketAddress, through proxy: HTTPProxy) {
        (self.target, self.proxy) = (target, proxy)
        switch proxy.kind {
        case .connect:
            step = .reply(HTTP1Reader(ignoresBody: true))
            output = ProxyTunnel.connectRequest(target, proxy)
        case .socks5h:
            step = .socksMethod
            let methods = [ProxyTunnel.withoutLogin] + (proxy.userName == nil ? [] : [ProxyTunnel.withLogin])
            output = [ProxyTunnel.socksVersion, UInt8(methods.count)] + methods
        }
    }

    /// Returns the bytes to send to the proxy now.
    package mutating func takeOutput() -> [UInt8] { exchange(&output, with: []) }

    /// Processes bytes from `start` on.
    ///
    /// - Parameter start: advanced over the processed bytes.
    package mutating func receive(_ bytes: Span<UInt8>, from start: inout Int) -> Progress {
        while true {
            let progress: Progress
            switch step {
            case .ended(let end): return end
            case .reply(var reader):
                progress = ProxyTunnel.read(bytes, from: &start, with: &reader)
                step = .reply(reader)
            case .socksMethod, .socksLogin, .socksConnection:
                guard start < bytes.count else { return .underWay }
                pending.append(bytes[start])
                start += 1
                progress = takeMessage()
            }
            guard progress == .underWay else {
                step = .ended(progress)
                return progress
            }
            if start == bytes.count { return .underWay }
        }
    }

    // MARK: CONNECT

    private static func connectRequest(_ target: SocketAddress, _ proxy: HTTPProxy) -> [UInt8] {
        var request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let userName = proxy.userName {
            let credentials = Base64.standard.encode(Array("\(userName):\(proxy.password ?? "")".utf8))
            request += "Proxy-Authorization: Basic \(credentials)\r\n"
        }
        return Array((request + "\r\n").utf8)
    }

    /// Reads the header block of the reply. Any 2xx status opens the tunnel, and its reply has no body.
    private static func read(
        _ bytes: Span<UInt8>, from start: inout Int, with reader: inout HTTP1Reader
    ) -> Progress {
        while true {
            switch reader.next(in: bytes, from: &start) {
            case .needsMore: return .underWay
            case .status(200..<300), .field: continue
            case .status(let status): return .failed("status \(status)")
            case .endOfFields: return .established
            case .failed(.garbage(let reason)): return .failed(reason)
            case .failed(let failure): return .failed(failure.kind)
            case .data, .complete: preconditionFailure("the tunnel begins before a body")
            }
        }
    }

    // MARK: SOCKS

    private mutating func takeMessage() -> Progress {
        let message = pending
        switch step {
        case .socksMethod:
            guard message.count == 2 else { return .underWay }
            guard message[0] == ProxyTunnel.socksVersion else { return .failed("not SOCKS version 5") }
            return choose(message[1])
        case .socksLogin:
            guard message.count == 2 else { return .underWay }
            guard message[1] == 0 else { return .failed("SOCKS login refused") }
            return ask()
        case .socksConnection: return takeConnection(message)
        case .reply, .ended: return .underWay
        }
    }

    private mutating func choose(_ method: UInt8) -> Progress {
        switch (method, proxy.userName) {
        case (ProxyTunnel.withoutLogin, _): return ask()
        case (ProxyTunnel.withLogin, let userName?):
            let (name, password) = (Array(userName.utf8), Array((proxy.password ?? "").utf8))
            let login = [ProxyTunnel.socksLoginVersion, UInt8(name.count)] + name + [UInt8(password.count)] + password
            return proceed(to: .socksLogin, sending: login)
        default: return .failed("no SOCKS login method in common")
        }
    }

    /// Asks for a connection: CONNECT is command 1, and addresses have type 1 or 4 (RFC 1928 section 4).
    private mutating func ask() -> Progress {
        let request = [ProxyTunnel.socksVersion, 1, 0, target.address.isIPv6 ? 4 : 1] + target.address.bytes
        return proceed(
            to: .socksConnection,
            sending: request + [UInt8(target.port >> 8), UInt8(truncatingIfNeeded: target.port)])
    }

    private mutating func proceed(to step: Step, sending bytes: [UInt8]) -> Progress {
        (self.step, pending) = (step, [])
        output += bytes
        return .underWay
    }

    /// Reads the reply with the proxy's own address, whose length depends on its type (RFC 1928 section 6).
    private func takeConnection(_ message: [UInt8]) -> Progress {
        guard message.count >= 5 else { return .underWay }
        guard message[0] == ProxyTunnel.socksVersion else { return .failed("not SOCKS version 5") }
        guard message[1] == 0 else { return .failed("SOCKS reply \(message[1])") }
        let addressBytes: Int
        switch message[3] {
        case 1: addressBytes = 4
        case 3: addressBytes = 1 + Int(message[4])
        case 4: addressBytes = 16
        default: return .failed("a SOCKS address of type \(message[3])")
        }
        return message.count == 4 + addressBytes + 2 ? .established : .underWay
    }
}
