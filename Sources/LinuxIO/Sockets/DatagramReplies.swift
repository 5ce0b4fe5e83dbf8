// Sends replies to questions that waited for an upstream, many with one system call. Any thread may send through a
// serving socket, because the kernel sends one datagram at a time; a queue of replies belongs to one thread.
//
// Invariant: the first `queued` datagrams are complete and leave through `socket`.

import CLinux
package import DNSWire
import Glibc

@safe package struct DatagramReplies: ~Copyable {
    /// Maximum number of replies per call. More would delay the first one.
    package static let capacity = 32

    private let replyBytes: Int
    private let datagrams: UnsafeMutablePointer<clinux_datagram>
    private let vectors: UnsafeMutablePointer<clinux_vector>
    private let peers: UnsafeMutablePointer<SocketAddress.Kernel>
    private let controls: UnsafeMutableRawPointer
    private let bytes: UnsafeMutablePointer<UInt8>
    private var socket: DatagramSocket?
    private var queued = 0
    private var unsent = 0

    /// - Parameter replyBytes: maximum size of a reply.
    package init(replyBytes: Int) {
        let capacity = DatagramReplies.capacity
        self.replyBytes = replyBytes
        unsafe datagrams = .allocate(capacity: capacity)
        unsafe vectors = .allocate(capacity: capacity)
        unsafe peers = .allocate(capacity: capacity)
        unsafe controls = .allocate(byteCount: capacity * clinux_control_bytes, alignment: 8)
        unsafe bytes = .allocate(capacity: capacity * replyBytes)
        unsafe datagrams.initialize(repeating: clinux_datagram(), count: capacity)
        unsafe vectors.initialize(repeating: clinux_vector(), count: capacity)
        unsafe peers.initialize(repeating: SocketAddress.Kernel(), count: capacity)
    }

    deinit {
        unsafe datagrams.deallocate()
        unsafe vectors.deallocate()
        unsafe peers.deallocate()
        unsafe controls.deallocate()
        unsafe bytes.deallocate()
    }

    /// Queues the reply that `write` outputs, at most `replyBytes`; none if it outputs nothing. A full queue is sent at
    /// once.
    ///
    /// - Parameter askedAddress: the result of `DatagramBatch.askedAddress` for the question.
    package mutating func add(
        to peer: SocketAddress, from askedAddress: [UInt8], through socket: DatagramSocket,
        _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        if queued == DatagramReplies.capacity || self.socket !== socket { send() }
        self.socket = socket
        let vector = unsafe vectors + queued
        let slot = unsafe bytes + queued * replyBytes
        let room = unsafe UnsafeMutableBufferPointer(start: slot, count: replyBytes)
        var output = unsafe OutputSpan(buffer: room, initializedCount: 0)
        write(&output)
        let count = unsafe output.finalize(for: room)
        guard count > 0 else { return }
        unsafe vector.pointee = clinux_vector(bytes: slot, count: count)
        unsafe peers[queued] = peer.kernel
        var header = unsafe clinux_header()
        unsafe header.address = UnsafeMutableRawPointer(peers + queued)
        unsafe header.address_length = peers[queued].length
        unsafe header.vectors = vector
        unsafe header.vector_count = 1
        if !askedAddress.isEmpty, askedAddress.count <= Int(clinux_control_bytes) {
            let control = unsafe controls + queued * Int(clinux_control_bytes)
            unsafe control.copyMemory(from: askedAddress, byteCount: askedAddress.count)
            unsafe header.control = control
            unsafe header.control_length = askedAddress.count
            unsafe clinux_answer_from_asked_address(&header)
        }
        unsafe datagrams[queued].header = header
        queued += 1
    }

    /// Sends the queued replies. Drops replies that cannot be sent at once: no route, or a full socket buffer. The
    /// client asks again.
    package mutating func send() {
        guard let socket, queued > 0 else { return }
        var sent = 0
        while sent < queued {
            let first = sent
            let count = try? SystemCall.attempt("sendmmsg") {
                unsafe clinux_send_datagrams(socket.descriptor.raw, datagrams + first, UInt32(queued - first))
            }
            if count == nil { unsent += 1 }
            sent += Int(count ?? 1)
        }
        queued = 0
    }

    /// Returns the number of dropped replies since the last call.
    package mutating func takeUnsent() -> Int { exchange(&unsent, with: 0) }
}
