// Socket addresses as text: `127.0.0.1:53`, `[::1]:53`, `[fe80::1%eth0]:53`. The port is mandatory.

import Glibc

extension SocketAddress {
    /// Nil unless the text is an address with a decimal port from 0 to 65535. Host names are not resolved.
    package init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = text[colon...].dropFirst()
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            let port = UInt16(digits)
        else { return nil }
        let host = text[..<colon]
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]"), host.utf8.count > 2 {
            self.init(ipv6Text: host.dropFirst().dropLast(), port: port)
        } else {
            guard let bytes = SocketAddress.networkBytes(of: host, family: AF_INET, count: 4) else { return nil }
            self.init(ipBytes: bytes, port: port)
        }
    }

    private init?(ipv6Text text: Substring, port: UInt16) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let bytes = SocketAddress.networkBytes(of: parts[0], family: AF_INET6, count: 16) else { return nil }
        var scopeID: UInt32 = 0
        if parts.count == 2 {
            guard let scope = SocketAddress.scopeID(of: parts[1]) else { return nil }
            scopeID = scope
        }
        self.init(ipBytes: bytes, port: port, scopeID: scopeID)
    }

    private static func networkBytes(of text: Substring, family: Int32, count: Int) -> [UInt8]? {
        // A zero byte would end the C string early.
        guard !text.utf8.contains(0) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let outcome = unsafe inet_pton(family, String(text), &bytes)
        return outcome == 1 ? bytes : nil
    }

    /// Parses an interface's number or name.
    private static func scopeID(of text: Substring) -> UInt32? {
        guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
        let number = unsafe UInt32(text) ?? if_nametoindex(String(text))
        return number == 0 ? nil : number
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        let scope = scopeID == 0 ? "" : "%\(scopeID)"
        return isIPv6 ? "[\(ipText)\(scope)]:\(port)" : "\(ipText):\(port)"
    }

    /// The address alone, in RFC 5952 form for IPv6.
    private var ipText: String {
        let bytes = ipBytes
        return unsafe String(unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress,
                    unsafe inet_ntop(family, bytes, start, socklen_t(INET6_ADDRSTRLEN)) != nil
                else { return 0 }
                return unsafe strlen(start)
            }
        }
    }
}
