// The addresses of a host name by the resolver of this machine (getaddrinfo(3)).

package import DNSWire
import Glibc

package enum HostAddresses {
    /// Returns the addresses in the resolver's order, each once; empty if it finds none. Blocks for as long as that
    /// resolver takes, usually 10 s at most.
    package static func resolve(_ name: String) -> [Address] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [Address] = []
        var next = unsafe first
        while let entry = unsafe next?.pointee {
            unsafe next = entry.ai_next
            guard let pointer = unsafe entry.ai_addr,
                let address = unsafe SocketAddress(UnsafePointer(pointer))?.address
            else { continue }
            addresses.append(address)
        }
        return addresses.withoutRepetition
    }
}
