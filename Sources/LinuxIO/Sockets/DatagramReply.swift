// Sends a single reply through a serving socket. Any thread may call it, because the kernel sends one datagram at a
// time.

import CLinux
package import DNSWire
import Glibc

extension DatagramSocket {
    /// - Parameter askedAddress: the result of `DatagramBatch.askedAddress` for the question.
    /// - Returns: false if it cannot be sent: no route, or a full socket buffer. The client asks again.
    package func reply(_ bytes: Span<UInt8>, to peer: SocketAddress, from askedAddress: [UInt8]) -> Bool {
        var kernel = peer.kernel
        var control = askedAddress
        let descriptor = descriptor.raw
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe kernel.withPointer { address, length in
                unsafe control.withUnsafeMutableBytes { control in
                    var vector = unsafe clinux_vector(
                        bytes: UnsafeMutableRawPointer(mutating: buffer.baseAddress), count: buffer.count)
                    var datagram = unsafe clinux_datagram()
                    unsafe datagram.header.address = UnsafeMutableRawPointer(address)
                    unsafe datagram.header.address_length = length
                    unsafe datagram.header.control = control.isEmpty ? nil : control.baseAddress
                    unsafe datagram.header.control_length = control.count
                    unsafe datagram.header.vector_count = 1
                    return unsafe withUnsafeMutablePointer(to: &vector) { vector in
                        unsafe datagram.header.vectors = vector
                        unsafe clinux_answer_from_asked_address(&datagram.header)
                        let sent = try? SystemCall.attempt("sendmmsg") {
                            unsafe clinux_send_datagrams(descriptor, &datagram, 1)
                        }
                        return sent != nil
                    }
                }
            }
        }
    }
}
