// An IP address and port for the kernel's socket calls. No names, no DNS types.

package import Glibc

package struct SocketAddress: Hashable, Sendable {
    /// The address in network order; an IPv4 address is in the last 32 bits of `low`.
    package let high: UInt64
    package let low: UInt64
    package let isIPv6: Bool
    package let port: UInt16
    /// The interface number of a link-local IPv6 address (RFC 4007), else 0.
    package let scopeID: UInt32

    /// - Parameter ipBytes: 4 or 16 bytes in network order; any other count gives nil.
    package init?(ipBytes: [UInt8], port: UInt16, scopeID: UInt32 = 0) {
        let number = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch ipBytes.count {
        case 4: self.init(high: 0, low: number(ipBytes[...]), isIPv6: false, port: port, scopeID: 0)
        case 16:
            self.init(
                high: number(ipBytes[..<8]), low: number(ipBytes[8...]), isIPv6: true, port: port, scopeID: scopeID)
        default: return nil
        }
    }

    /// - Parameter high, low: the address in host order; an IPv4 address is in the last 32 bits of `low`.
    package init(high: UInt64, low: UInt64, isIPv6: Bool, port: UInt16, scopeID: UInt32 = 0) {
        self.high = high
        self.low = low
        self.isIPv6 = isIPv6
        self.port = port
        self.scopeID = scopeID
    }

    /// 4 or 16 bytes in network order.
    package var ipBytes: [UInt8] {
        isIPv6 ? bytes(of: high, count: 8) + bytes(of: low, count: 8) : bytes(of: low, count: 4)
    }

    /// Whether it means every local address: `0.0.0.0` or `::`.
    package var isWildcard: Bool { high == 0 && low == 0 }

    private func bytes(of number: UInt64, count: Int) -> [UInt8] {
        (1...count).map { UInt8(truncatingIfNeeded: number >> UInt64((count - $0) * 8)) }
    }
}

// The kernel's form. Offsets in struct sockaddr_in and sockaddr_in6, the same on every Linux: family 0 (host order),
// port 2, IPv4 address 4; flow information 4, IPv6 address 8, scope 24 (host order).
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

    package var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

    package var kernel: Kernel {
        var kernel = Kernel()
        let (high, low, port, scopeID) = (high.bigEndian, low, port.bigEndian, scopeID)
        unsafe withUnsafeMutableBytes(of: &kernel.storage) { bytes in
            unsafe bytes.storeBytes(of: sa_family_t(family), as: sa_family_t.self)
            unsafe bytes.storeBytes(of: port, toByteOffset: 2, as: UInt16.self)
            guard isIPv6 else {
                return unsafe bytes.storeBytes(
                    of: UInt32(truncatingIfNeeded: low).bigEndian, toByteOffset: 4, as: UInt32.self)
            }
            unsafe bytes.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
            unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 16, as: UInt64.self)
            unsafe bytes.storeBytes(of: scopeID, toByteOffset: 24, as: UInt32.self)
        }
        let size = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        kernel.length = socklen_t(size)
        return kernel
    }

    /// Nil for families other than IPv4 and IPv6.
    package init?(_ storage: sockaddr_storage) {
        guard let read = unsafe withUnsafeBytes(of: storage, SocketAddress.read) else { return nil }
        self = read
    }

    /// The peer of a datagram. `sockaddr_in6` is the larger of the two kinds that these sockets report.
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
            let address = unsafe UInt32(bigEndian: bytes.load(fromByteOffset: 4, as: UInt32.self))
            return SocketAddress(high: 0, low: UInt64(address), isIPv6: false, port: port, scopeID: 0)
        case AF_INET6:
            return unsafe SocketAddress(
                high: UInt64(bigEndian: bytes.load(fromByteOffset: 8, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.load(fromByteOffset: 16, as: UInt64.self)), isIPv6: true,
                port: port, scopeID: bytes.load(fromByteOffset: 24, as: UInt32.self))
        default: return nil
        }
    }
}
