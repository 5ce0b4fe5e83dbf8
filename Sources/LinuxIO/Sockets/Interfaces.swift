// The current addresses of this machine's network interfaces.

package import DNSWire
import Glibc

package enum Interfaces {
    /// Empty if the kernel does not report them.
    package static func addresses() -> [Address] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&first) == 0 else { return [] }
        defer { unsafe freeifaddrs(first) }
        var addresses: [Address] = []
        var next = unsafe first
        while let interface = unsafe next?.pointee {
            unsafe next = interface.ifa_next
            guard let address = unsafe interface.ifa_addr else { continue }
            if let read = unsafe SocketAddress(UnsafePointer(address)) { addresses.append(read.address) }
        }
        return addresses
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
