// The positions of names in RDATA, for types with compressible names. All other data is opaque.

/// The fields of a type's RDATA, in order.
struct DataLayout {
    enum Field {
        case bytes(Int)
        /// Length-prefixed strings (RFC 1035 section 3.3).
        case strings(Int)
        case names(Int)
        case rest
    }

    let fields: [Field]

    /// The types that may compress names (RFC 1035 section 3.3, RFC 3597 section 4). Also KX, DNAME, SRV, SVCB and
    /// HTTPS: some servers compress them against the rules, and a pointer would mean nothing in another message. Nil:
    /// the data is copied unchanged.
    init?(of type: RecordType) {
        switch type.rawValue {
        case 1: fields = [.bytes(4)]  // A
        case 28: fields = [.bytes(16)]  // AAAA
        case 2, 3, 4, 5, 7, 8, 9, 12, 39: fields = [.names(1)]  // NS MD MF CNAME MB MG MR PTR DNAME
        case 6: fields = [.names(2), .bytes(20)]  // SOA
        case 14, 17: fields = [.names(2)]  // MINFO RP
        case 15, 18, 21, 36: fields = [.bytes(2), .names(1)]  // MX AFSDB RT KX
        case 24: fields = [.bytes(18), .names(1), .rest]  // SIG
        case 26: fields = [.bytes(2), .names(2)]  // PX
        case 30: fields = [.names(1), .rest]  // NXT
        case 64, 65: fields = [.bytes(2), .names(1), .rest]  // SVCB HTTPS
        case 33: fields = [.bytes(6), .names(1)]  // SRV
        case 35: fields = [.bytes(4), .strings(3), .names(1)]  // NAPTR
        default: return nil
        }
    }
}

extension RecordType {
    /// Returns whether this is RDATA of the type: whole and uncompressed. True for types without a known layout.
    package func accepts(_ data: [UInt8]) -> Bool {
        guard DataLayout(of: self) != nil else { return true }
        var cursor = ByteCursor(data.span, from: 0)
        do throws(MalformedMessage) {
            return try cursor.readData(of: self) == data
        } catch {
            return false
        }
    }
}

extension ByteCursor {
    /// Reads the whole range as RDATA and decompresses its names.
    @_lifetime(self: copy self)
    mutating func readData(of type: RecordType) throws(MalformedMessage) -> [UInt8] {
        guard let layout = DataLayout(of: type) else { return readRest() }
        var data: [UInt8] = []
        if layout.fields.count > 1 { data.reserveCapacity(remaining) }
        for field in layout.fields {
            switch field {
            case .bytes(let count): try append(count, to: &data)
            case .strings(let count):
                for _ in 0..<count {
                    let length = try readByte()
                    data.append(length)
                    try append(Int(length), to: &data)
                }
            case .names(let count):
                for _ in 0..<count { data += try readName().wire }
            case .rest: try append(remaining, to: &data)
            }
        }
        guard isAtEnd else { throw malformed(.dataLength) }
        return data
    }
}
