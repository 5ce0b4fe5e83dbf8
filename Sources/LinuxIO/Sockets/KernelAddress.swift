// Socket addresses in the kernel's form, and the interface names in their text.

package import DNSWire
package import Glibc

// Offsets in struct sockaddr_in and sockaddr_in6, the same on every Linux: family 0 (host order), port 2, IPv4
// address 4; flow information 4, IPv6 address 8, scope 24 (host order).
extension SocketAddress {
    /// A `sockaddr` and its length.
    package struct Kernel {
        package var storage: sockaddr_storage
        package var length: socklen_t

        /// Storage for an address of any kind, to be filled in by the kernel.
        package init() {
            storage = sockaddr_storage()
            length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        }

        /// The pointer is writable, and valid only within the closure.
        package mutating func withPointer<Result, Failure: Error>(
            _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try unsafe withUnsafeMutablePointer(to: &storage) { (pointer) throws(Failure) in
                let general = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
                return try unsafe body(general, &length)
            }
        }
    }

    package var family: Int32 { address.family }

    package var kernel: Kernel {
        var kernel = Kernel()
        let port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &kernel.storage) { bytes in
            unsafe bytes.storeBytes(of: sa_family_t(family), as: sa_family_t.self)
            unsafe bytes.storeBytes(of: port, toByteOffset: 2, as: UInt16.self)
            switch address {
            case .v4(let value): unsafe bytes.storeBytes(of: value.bigEndian, toByteOffset: 4, as: UInt32.self)
            case .v6(let high, let low):
                unsafe bytes.storeBytes(of: high.bigEndian, toByteOffset: 8, as: UInt64.self)
                unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 16, as: UInt64.self)
                unsafe bytes.storeBytes(of: scopeID, toByteOffset: 24, as: UInt32.self)
            }
        }
        let size = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        kernel.length = socklen_t(size)
        return kernel
    }

    /// Returns nil for families other than IPv4 and IPv6.
    package init?(_ storage: sockaddr_storage) {
        guard let read = unsafe withUnsafeBytes(of: storage, SocketAddress.read) else { return nil }
        self = read
    }

    /// Converts the peer of a datagram. `sockaddr_in6` is the larger of the two kinds that these sockets report.
    init?(_ storage: sockaddr_in6) {
        guard let read = unsafe withUnsafeBytes(of: storage, SocketAddress.read) else { return nil }
        self = read
    }

    /// Copies as many bytes from the kernel's pointer as the family has.
    init?(_ pointer: UnsafePointer<sockaddr>) {
        let size: Int
        switch unsafe Int32(pointer.pointee.sa_family) {
        case AF_INET: size = MemoryLayout<sockaddr_in>.size
        case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        guard let read = unsafe SocketAddress.read(UnsafeRawBufferPointer(start: pointer, count: size)) else {
            return nil
        }
        self = read
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> SocketAddress? {
        let port = unsafe UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        switch unsafe Int32(bytes.load(as: sa_family_t.self)) {
        case AF_INET:
            let value = unsafe UInt32(bigEndian: bytes.load(fromByteOffset: 4, as: UInt32.self))
            return SocketAddress(.v4(value), port: port)
        case AF_INET6:
            // The kernel's structure is aligned to four bytes only.
            let address = unsafe Address.v6(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
            return unsafe SocketAddress(
                address, port: port, scopeID: bytes.load(fromByteOffset: 24, as: UInt32.self))
        default: return nil
        }
    }
}

extension Address {
    /// The address family: AF_INET or AF_INET6.
    package var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }
}

extension SocketAddress {
    /// Parses "ADDR:PORT" or "[ADDR]:PORT", also with an interface's name or index: "[fe80::1%eth0]:53".
    ///
    /// - Returns: nil also if this machine has no interface of that name.
    package init?(withZone text: String) {
        guard let zoneStart = text.utf8.firstIndex(of: UInt8(ascii: "%")) else {
            self.init(text)
            return
        }
        guard let end = text[zoneStart...].utf8.firstIndex(of: UInt8(ascii: "]")),
            let scopeID = SocketAddress.scopeID(of: text[zoneStart..<end].dropFirst()),
            let plain = SocketAddress(String(text[..<zoneStart] + text[end...])), plain.isIPv6
        else { return nil }
        self.init(plain.address, port: plain.port, scopeID: scopeID)
    }

    private static func scopeID(of zone: Substring) -> UInt32? {
        // A zero byte would end the C string early.
        guard !zone.isEmpty, !zone.utf8.contains(0) else { return nil }
        let index = unsafe UInt32(zone) ?? if_nametoindex(String(zone))
        return index == 0 ? nil : index
    }
}
