// Receives and sends many datagrams with one system call, in buffers that are allocated once. A batch belongs to one
// thread.
//
// Invariants
// - `received` datagrams are valid, each in its own part of `packets`, until the next `receive`.
// - `queued` replies stand in `outgoing[0..<queued]`, each pointing at its own part of `replies` and at the peer's
//   address where it was received.

import CLinux
package import DNSWire
import Glibc

@safe package struct DatagramBatch: ~Copyable {
    /// Maximum number of datagrams per call. More would gain little and delay the first one.
    package static let capacity = 32
    /// Maximum size of a received query. A query has a few dozen bytes, a padded one up to 512. The kernel truncates
    /// and marks longer ones, which get FORMERR.
    package static let packetBytes = 2048

    private let replyBytes: Int
    private let incoming: UnsafeMutablePointer<clinux_datagram>
    private let outgoing: UnsafeMutablePointer<clinux_datagram>
    private let vectors: UnsafeMutablePointer<clinux_vector>
    private let peers: UnsafeMutablePointer<sockaddr_in6>
    private let controls: UnsafeMutableRawPointer
    private let packets: UnsafeMutablePointer<UInt8>
    private let replies: UnsafeMutablePointer<UInt8>
    private var received = 0
    private var queued = 0

    /// - Parameter replyBytes: maximum size of a reply.
    package init(replyBytes: Int) {
        let capacity = DatagramBatch.capacity
        self.replyBytes = replyBytes
        unsafe incoming = .allocate(capacity: capacity)
        unsafe outgoing = .allocate(capacity: capacity)
        unsafe vectors = .allocate(capacity: 2 * capacity)
        unsafe peers = .allocate(capacity: capacity)
        unsafe controls = .allocate(byteCount: capacity * clinux_control_bytes, alignment: 8)
        unsafe packets = .allocate(capacity: capacity * DatagramBatch.packetBytes)
        unsafe replies = .allocate(capacity: capacity * replyBytes)
        unsafe outgoing.initialize(repeating: clinux_datagram(), count: capacity)
        unsafe peers.initialize(repeating: sockaddr_in6(), count: capacity)
        for place in 0..<capacity {
            let packet = unsafe packets + place * DatagramBatch.packetBytes
            let reply = unsafe replies + place * replyBytes
            unsafe (vectors + place).initialize(to: clinux_vector(bytes: packet, count: DatagramBatch.packetBytes))
            unsafe (vectors + capacity + place).initialize(to: clinux_vector(bytes: reply, count: 0))
            unsafe (incoming + place).initialize(to: clinux_datagram())
            unsafe prepare(&incoming[place], place)
        }
    }

    deinit {
        unsafe incoming.deallocate()
        unsafe outgoing.deallocate()
        unsafe vectors.deallocate()
        unsafe peers.deallocate()
        unsafe controls.deallocate()
        unsafe packets.deallocate()
        unsafe replies.deallocate()
    }

    /// Receives the queued datagrams without waiting. Returns 0 if there are none.
    package mutating func receive(from socket: borrowing DatagramSocket) throws(SystemError) -> Int {
        // The kernel has changed only the places of received datagrams.
        for place in 0..<received { unsafe prepare(&incoming[place], place) }
        queued = 0
        received = 0
        let count = try SystemCall.attempt("recvmmsg") {
            unsafe clinux_receive_datagrams(socket.descriptor.raw, incoming, UInt32(DatagramBatch.capacity))
        }
        received = Int(count ?? 0)
        return received
    }

    /// Lets `body` read datagram `place` and write a reply. An empty reply is not sent.
    package mutating func exchange<Result>(
        _ place: Int, _ body: (_ packet: Span<UInt8>, _ reply: inout OutputSpan<UInt8>) -> Result
    ) -> Result {
        precondition(place < received, "only received datagrams are read")
        let length = unsafe min(Int(incoming[place].length), DatagramBatch.packetBytes)
        let packet = unsafe Span(_unsafeStart: packets + place * DatagramBatch.packetBytes, count: length)
        let room = unsafe UnsafeMutableBufferPointer(start: replies + queued * replyBytes, count: replyBytes)
        var reply = unsafe OutputSpan(buffer: room, initializedCount: 0)
        let result = body(packet, &reply)
        let written = unsafe reply.finalize(for: room)
        if written > 0 { queue(replyTo: place, bytes: written) }
        return result
    }

    /// Returns a received datagram, valid until the next `receive`.
    @_lifetime(borrow self)
    package func packet(_ place: Int) -> Span<UInt8> {
        precondition(place < received, "only received datagrams are read")
        let length = unsafe min(Int(incoming[place].length), DatagramBatch.packetBytes)
        let packet = unsafe Span(_unsafeStart: packets + place * DatagramBatch.packetBytes, count: length)
        return unsafe _overrideLifetime(packet, borrowing: self)
    }

    /// Lets `body` read datagram `place`, until the next `receive`.
    package func withPacket<Result>(_ place: Int, _ body: (_ packet: Span<UInt8>) -> Result) -> Result {
        body(packet(place))
    }

    /// Returns a copy for a later answer.
    package func bytes(_ place: Int) -> [UInt8] {
        let length = unsafe min(Int(incoming[place].length), DatagramBatch.packetBytes)
        return unsafe Array(UnsafeBufferPointer(start: packets + place * DatagramBatch.packetBytes, count: length))
    }

    /// Whether the datagram was longer than `packetBytes` and truncated.
    package func isCut(_ place: Int) -> Bool {
        unsafe incoming[place].header.flags & Int32(MSG_TRUNC) != 0
    }

    /// Returns the peer of a datagram; nil for families other than IPv4 and IPv6, which these sockets never receive.
    package func peer(_ place: Int) -> SocketAddress? {
        unsafe SocketAddress(peers[place])
    }

    /// Returns the destination address of the query as a control message for a later reply; empty unless the socket
    /// listens on a wildcard address.
    package func askedAddress(_ place: Int) -> [UInt8] {
        let header = unsafe incoming[place].header
        guard let control = unsafe header.control, unsafe header.control_length > 0 else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: control, count: Int(header.control_length)))
    }

    /// Sends the queued replies. Drops those that cannot be sent at once, and returns their number.
    package mutating func send(through socket: borrowing DatagramSocket) -> Int {
        var sent = 0
        var dropped = 0
        while sent < queued {
            let first = sent
            let count = try? SystemCall.attempt("sendmmsg") {
                unsafe clinux_send_datagrams(socket.descriptor.raw, outgoing + first, UInt32(queued - first))
            }
            if count == nil { dropped += 1 }
            sent += Int(count ?? 1)
        }
        queued = 0
        return dropped
    }

    private func prepare(_ datagram: inout clinux_datagram, _ place: Int) {
        unsafe datagram.header.address = UnsafeMutableRawPointer(peers + place)
        unsafe datagram.header.address_length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        unsafe datagram.header.vectors = vectors + place
        unsafe datagram.header.vector_count = 1
        unsafe datagram.header.control = controls + place * clinux_control_bytes
        unsafe datagram.header.control_length = clinux_control_bytes
        unsafe datagram.header.flags = 0
    }

    private mutating func queue(replyTo place: Int, bytes: Int) {
        let vector = unsafe vectors + DatagramBatch.capacity + queued
        unsafe vector.pointee.count = bytes
        unsafe outgoing[queued].header = incoming[place].header
        unsafe outgoing[queued].header.vectors = vector
        if unsafe outgoing[queued].header.control_length > 0 {
            unsafe clinux_answer_from_asked_address(&outgoing[queued].header)
        }
        queued += 1
    }
}
