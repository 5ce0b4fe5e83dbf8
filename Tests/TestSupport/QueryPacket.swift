// Clients' queries, valid and invalid.

package import DNSWire

package struct QueryPacket {
    package var id: UInt16 = 0x1234
    /// The flags; RD is set, as in every stub's query.
    package var flags: UInt16 = 0x0100
    package var name: Name
    package var type: RecordType
    package var recordClass: UInt16 = 1
    /// The payload size of an OPT record; nil: no OPT record.
    package var payloadSize: UInt16?
    package var version: UInt8 = 0
    /// The flags of the OPT record; DO is the highest bit.
    package var optionFlags: UInt16 = 0
    /// The OPT record's data.
    package var options: [UInt8] = []

    package init(_ name: Name, _ type: RecordType, payloadSize: UInt16? = nil, optionFlags: UInt16 = 0) {
        self.name = name
        self.type = type
        self.payloadSize = payloadSize
        self.optionFlags = optionFlags
    }

    package var question: Question { Question(name, type) }

    package var bytes: [UInt8] {
        var bytes = pair(id) + pair(flags) + pair(1) + pair(0) + pair(0) + pair(payloadSize == nil ? 0 : 1)
        bytes += name.wire + pair(type.rawValue) + pair(recordClass)
        guard let payloadSize else { return bytes }
        return bytes + [0] + pair(41) + pair(payloadSize) + [0, version] + pair(optionFlags)
            + pair(UInt16(options.count))
            + options
    }

    private func pair(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
}
