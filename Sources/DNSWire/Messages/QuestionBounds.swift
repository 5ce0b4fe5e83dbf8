// Where the question of a query is, before the query is validated.

package struct QuestionBounds {
    /// Length of the name, which follows the header, in wire form.
    package let nameBytes: Int
    package let type: RecordType

    /// Returns nil if the packet has more or fewer questions than one, or one that cannot be read.
    package init?(in packet: Span<UInt8>) {
        guard packet.count > Header.byteCount, packet.bigEndian16(at: 4) == 1,
            let end = Query.endOfName(in: packet, at: Header.byteCount), end + 4 <= packet.count
        else { return nil }
        nameBytes = end - Header.byteCount
        type = RecordType(rawValue: packet.bigEndian16(at: end))
    }
}
