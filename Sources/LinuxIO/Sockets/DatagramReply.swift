// A single reply through a serving socket, from any thread: the kernel takes one datagram at a time.

internal import CLinux
internal import Glibc

extension DatagramSocket {
    /// - Parameter askedAddress: what `DatagramBatch.askedAddress` gave when the question came.
    /// - Returns: false when it can't be sent: no route, or the socket's buffer is full. The client asks again.
    package func reply(_ bytes: Span<UInt8>, to peer: SocketAddress, from askedAddress: [UInt8]) -> Bool {
        var kernel = peer.kernel
        var control = askedAddress
        let descriptor = descriptor.raw
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe kernel.withPointer { address, length in
                unsafe control.withUnsafeMutableBytes { control in
                    var vector = unsafe iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
                    var datagram = unsafe hd_datagram()
                    unsafe datagram.header.msg_name = UnsafeMutableRawPointer(address)
                    unsafe datagram.header.msg_namelen = length
                    unsafe datagram.header.msg_control = control.isEmpty ? nil : control.baseAddress
                    unsafe datagram.header.msg_controllen = control.count
                    unsafe datagram.header.msg_iovlen = 1
                    return unsafe withUnsafeMutablePointer(to: &vector) { vector in
                        unsafe datagram.header.msg_iov = vector
                        unsafe hd_answer_from_asked_address(&datagram.header)
                        let sent = try? SystemCall.attempt("sendmmsg") {
                            unsafe hd_send_datagrams(descriptor, &datagram, 1)
                        }
                        return sent != nil
                    }
                }
            }
        }
    }
}
