// A lease of a DHCP server, as a line or record of its file has it. The client chose the name: only one label of it is
// used, below the operator's local zones.

package import DNSWire

package struct Lease: Equatable, Sendable {
    /// The client's name, a single label.
    package let label: Name
    package let address: Address
    /// The end of the lease by the wall clock; nil: never.
    package let endsAtSecondsSince1970: Int64?
    /// The line of the lease in the file.
    package let line: Int

    /// Names that programs look up without a request of their users: with them a client could lead the network's web
    /// traffic to itself (CERT VU#598349). Windows servers refuse "wpad" and "isatap" to DHCP clients, too.
    private static let refused = Set(["wpad", "isatap", "localhost"].compactMap { Name($0) })

    /// Returns the first label of a client's name, if it is a host name's: letters, digits, "-" and "_", the latter two
    /// not at its start or end. Nil for other names. Everything behind the first label is ignored, as by dnsmasq: a
    /// client must not choose the domain.
    static func label(of name: some Collection<UInt8>) -> Name? {
        let label = name.prefix { $0 != UInt8(ascii: ".") }
        guard (1...Name.maxLabelBytes).contains(label.count), label.allSatisfy({ isHostByte($0) || isJoint($0) }),
            let first = label.first, !isJoint(first), !isJoint(label.suffix(1).first ?? first),
            let single = Name(wire: [UInt8(label.count)] + label + [0])
        else { return nil }
        return refused.contains(single) ? nil : single
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isDigit || (0x61...0x7A).contains(byte.lowercased)
    }

    private static func isJoint(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") }
}

/// The contents of a lease file.
package struct LeaseFile: Equatable, Sendable {
    /// The maximum number of leases: a network of 16 bits.
    package static let maxLeases = 65_536

    /// The leases in force with a name, in the order of the file.
    package internal(set) var leases: [Lease] = []
    /// Leases whose client has a name that no host may have, or a refused name.
    package internal(set) var refusedNames = 0
    package internal(set) var ignored = IgnoredLines()

    package static let none = LeaseFile()

    init() {}

    /// Reads a file of dnsmasq, ISC dhcpd or odhcpd. The first line shows which one it is.
    ///
    /// - Returns: nil if it is none of these.
    package init?(parsing text: [UInt8]) {
        switch LeaseFormat(of: text) {
        case .empty: self.init()
        case .dnsmasq: self = LeaseLines.dnsmasq(text)
        case .odhcpd: self = LeaseLines.odhcpd(text)
        case .dhcpd: self = DHCPDLeases.parse(text)
        case nil: return nil
        }
    }

    /// - Returns: false if there is no room for the lease.
    mutating func add(
        _ name: some Collection<UInt8>, _ address: Address, endsAtSecondsSince1970 end: Int64?, line: Int
    ) -> Bool {
        guard leases.count < LeaseFile.maxLeases else {
            ignored.stop(line: line, .tooManyLeases)
            return false
        }
        guard let label = Lease.label(of: name) else {
            refusedNames += 1
            return true
        }
        leases.append(Lease(label: label, address: address, endsAtSecondsSince1970: end, line: line))
        return true
    }
}

enum LeaseFormat {
    case empty
    /// lease.c of dnsmasq: "EXPIRY MAC ADDRESS NAME CLIENT-ID", "duid ID" before the leases of DHCPv6.
    case dnsmasq
    /// dhcpd.leases(5) of ISC.
    case dhcpd
    /// statefiles.c of odhcpd: "# INTERFACE DUID IAID NAME EXPIRY ASSIGNED LENGTH ADDRESS/LENGTH ...", with lines of
    /// hosts(5) between.
    case odhcpd

    private static let wordsOfDHCPD = [
        "lease", "ia-na", "ia-ta", "ia-pd", "authoring-byte-order", "server-duid", "default-duid", "failover", "host",
        "group", "class", "subclass", "key", "zone",
    ].map { Array($0.utf8) }

    /// Recognises the format of a text; nil for any other text.
    init?(of text: [UInt8]) {
        var start = 0
        while start < text.count {
            let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
            let words = text[start..<end].words
            start = end + 1
            guard let first = words.first else { continue }
            if first.elementsEqual("duid".utf8) || first.allSatisfy(\.isDigit) {
                self = .dnsmasq
                return
            }
            if LeaseLines.isLease(ofODHCPD: words) || Address(String(decoding: first, as: UTF8.self)) != nil {
                self = .odhcpd
                return
            }
            if first.first == UInt8(ascii: "#") { continue }
            guard LeaseFormat.wordsOfDHCPD.contains(where: first.elementsEqual) else { return nil }
            self = .dhcpd
            return
        }
        self = .empty
    }
}

extension ArraySlice<UInt8> {
    var words: [ArraySlice<UInt8>] { split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }

    var text: String { String(decoding: self, as: UTF8.self) }
}
