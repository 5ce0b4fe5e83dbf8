// A listening socket whose connections carry DNS messages, each after its two-byte length (RFC 1035 section 4.2.2).

import DNSWire
package import LinuxIO

package struct StreamListener {
    let transport: Transport
    package let descriptor: Int32
    /// Returns the next connection and the address of its client; nil if none is queued.
    let accept: () throws(SystemError) -> (socket: StreamSocket, client: Address)?
}

extension StreamListener {
    package init(_ listener: Listener) {
        self.init(transport: .tcp, descriptor: listener.descriptor.raw) { () throws(SystemError) in
            guard let (socket, peer) = try listener.accept() else { return nil }
            return (socket, peer.address)
        }
    }
}
