// The current addresses of this machine's network interfaces.

import Glibc

package enum Interfaces {
    /// Returns the addresses without ports; empty if the kernel does not report them.
    package static func addresses() -> [SocketAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&first) == 0 else { return [] }
        defer { unsafe freeifaddrs(first) }
        var addresses: [SocketAddress] = []
        var next = unsafe first
        while let interface = unsafe next?.pointee {
            unsafe next = interface.ifa_next
            guard let address = unsafe interface.ifa_addr else { continue }
            if let address = unsafe SocketAddress(UnsafePointer(address)) { addresses.append(address) }
        }
        return addresses
    }
}
