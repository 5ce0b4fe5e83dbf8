// Decides which bound sockets of the former process serve the settings' addresses.
//
// A kept socket serves its address whatever the number of threads, because queries queue in it: threads share out more
// sockets than threads, and bind further ones if there are fewer. Sockets of other addresses are closed, here and in
// the store, because clients must not wait for an answer there.

import DNSWire

struct SocketReuse: Equatable {
    /// The kept sockets of one address of the settings, as places in the lists of kept sockets.
    struct Place: Equatable {
        /// The kept listener; nil: a new one is to be bound.
        var listener: Int?
        var datagrams: [Int] = []
    }

    /// One for each address of the settings. An address with port 0 has no kept sockets.
    let places: [Place]
    /// The addresses of the settings that have kept sockets.
    let reused: [SocketAddress]
    /// The addresses of kept sockets that the settings do not name.
    let unused: [SocketAddress]

    /// - Parameters:
    ///   - wanted: distinct addresses, apart from those with port 0.
    ///   - listeners: the addresses of kept listeners.
    ///   - datagrams: the addresses of kept UDP sockets, which several sockets may share.
    init(_ wanted: [SocketAddress], listeners: [SocketAddress], datagrams: [SocketAddress]) {
        places = wanted.map { address in
            Place(
                listener: listeners.firstIndex(of: address),
                datagrams: datagrams.indices.filter { datagrams[$0] == address })
        }
        reused = wanted.filter { listeners.contains($0) || datagrams.contains($0) }
        unused = (listeners + datagrams).filter { !wanted.contains($0) }.withoutRepetition
    }
}
