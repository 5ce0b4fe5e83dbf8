// Record types as an open set of numbers; some have names here.

package struct RecordType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// `RawRepresentable` has a slower operator, which is generic.
    package static func == (left: RecordType, right: RecordType) -> Bool { left.rawValue == right.rawValue }

    package static let a = RecordType(rawValue: 1)
    package static let ns = RecordType(rawValue: 2)
    package static let cname = RecordType(rawValue: 5)
    package static let soa = RecordType(rawValue: 6)
    package static let ptr = RecordType(rawValue: 12)
    package static let hinfo = RecordType(rawValue: 13)
    package static let mx = RecordType(rawValue: 15)
    package static let txt = RecordType(rawValue: 16)
    package static let aaaa = RecordType(rawValue: 28)
    package static let srv = RecordType(rawValue: 33)
    package static let dname = RecordType(rawValue: 39)
    package static let opt = RecordType(rawValue: 41)
    package static let ds = RecordType(rawValue: 43)
    package static let rrsig = RecordType(rawValue: 46)
    package static let nsec = RecordType(rawValue: 47)
    package static let dnskey = RecordType(rawValue: 48)
    package static let nsec3 = RecordType(rawValue: 50)
    package static let svcb = RecordType(rawValue: 64)
    package static let https = RecordType(rawValue: 65)
    /// A type in NSEC bitmaps of compact denial: the name does not exist (RFC 9824).
    package static let nxName = RecordType(rawValue: 128)
    package static let ixfr = RecordType(rawValue: 251)
    package static let axfr = RecordType(rawValue: 252)
    package static let any = RecordType(rawValue: 255)
    package static let caa = RecordType(rawValue: 257)

    /// A and AAAA, the types that HTTPDNS services answer.
    package var isAddress: Bool { self == .a || self == .aaaa }

    /// Types that lead from a name to another one.
    package var isRedirection: Bool { self == .cname || self == .dname }

    /// Types that a signed answer adds to the authority section (RFC 4035 section 3.1, RFC 5155 section 7.2).
    var isProof: Bool { self == .rrsig || self == .nsec || self == .nsec3 || self == .ds }

    /// Whether the type is a query or meta type, never of a record: types 128 to 255 and 41 (RFC 6895 section 3.1).
    package var isMeta: Bool { self == .opt || (128...255).contains(rawValue) }

    private static let mnemonics: [(RecordType, String)] = [
        (.a, "A"), (.ns, "NS"), (.cname, "CNAME"), (.soa, "SOA"), (.ptr, "PTR"), (.hinfo, "HINFO"), (.mx, "MX"),
        (.txt, "TXT"), (.aaaa, "AAAA"), (.srv, "SRV"), (.dname, "DNAME"), (.ds, "DS"), (.rrsig, "RRSIG"),
        (.nsec, "NSEC"), (.dnskey, "DNSKEY"), (.nsec3, "NSEC3"), (.svcb, "SVCB"), (.https, "HTTPS"),
        (.any, "ANY"), (.caa, "CAA"),
    ]

    /// The types that have names here.
    package static var names: [String] { mnemonics.map(\.1) }

    /// Parses a mnemonic in any case, or RFC 3597's "TYPE123".
    package init?(_ text: String) {
        let upper = text.uppercased()
        if let known = RecordType.mnemonics.first(where: { $0.1 == upper }) {
            self = known.0
        } else if upper.hasPrefix("TYPE"), upper.utf8.dropFirst(4).allSatisfy(\.isDigit),
            let number = UInt16(upper.dropFirst(4))
        {
            self.init(rawValue: number)
        } else {
            return nil
        }
    }
}

extension RecordType: CustomStringConvertible {
    package var description: String {
        RecordType.mnemonics.first { $0.0 == self }?.1 ?? "TYPE\(rawValue)"
    }
}
