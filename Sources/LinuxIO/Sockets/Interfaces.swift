// The current addresses of this machine's network interfaces.

package import DNSWire
import Glibc

package struct InterfaceAddress: Equatable, Sendable {
    /// The name of the interface: "eth0".
    package let interface: String
    package let address: Address
    /// Bits of the address that its network shares: 0 to 32, or 0 to 128.
    package let prefixLength: Int

    package init(interface: String, address: Address, prefixLength: Int) {
        self.interface = interface
        self.address = address
        self.prefixLength = prefixLength
    }

    package var network: Prefix? { Prefix(around: address, length: prefixLength) }
}

package enum Interfaces {
    /// Returns every address; empty if the kernel does not report them.
    package static func addresses() -> [Address] { all().map(\.address) }

    /// Returns every address with its network, in the kernel's order; empty if the kernel does not report them.
    package static func all() -> [InterfaceAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&first) == 0 else { return [] }
        defer { unsafe freeifaddrs(first) }
        var addresses: [InterfaceAddress] = []
        var next = unsafe first
        while let interface = unsafe next?.pointee {
            unsafe next = interface.ifa_next
            guard let pointer = unsafe interface.ifa_addr,
                let address = unsafe SocketAddress(UnsafePointer(pointer))?.address
            else { continue }
            let mask = unsafe interface.ifa_netmask.flatMap { unsafe SocketAddress(UnsafePointer($0))?.address }
            // Without a mask, the network is the address alone.
            let length = (mask?.bytes ?? address.bytes.map { _ in 0xFF }).reduce(0) { $0 + $1.nonzeroBitCount }
            addresses.append(
                InterfaceAddress(
                    interface: unsafe String(cString: interface.ifa_name), address: address, prefixLength: length))
        }
        return addresses
    }

    /// Returns the name of the interface with an index; nil if there is none.
    package static func name(of index: Int) -> String? {
        guard let index = UInt32(exactly: index) else { return nil }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { room in
            guard let start = room.baseAddress else { return nil }
            return unsafe if_indextoname(index, start).map { unsafe String(cString: $0) }
        }
    }

    /// Returns the listen addresses that no interface has. Queries to them do not arrive.
    package static func missing(of listen: [SocketAddress]) -> [SocketAddress] {
        // No interface names the whole of 127.0.0.0/8.
        let candidates = listen.filter { !$0.isWildcard && !$0.address.isLoopback }
        guard !candidates.isEmpty else { return [] }
        let present = Set(addresses())
        return candidates.filter { !present.contains($0.address) }
    }
}
