// Response codes (RCODE) as an open set of numbers; 16 and above need EDNS (RFC 6891 section 6.1.3).

package struct ResponseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// `RawRepresentable` has a slower operator, which is generic.
    package static func == (left: ResponseCode, right: ResponseCode) -> Bool { left.rawValue == right.rawValue }

    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: UInt64(rawValue), seed: seed) }

    package static let noError = ResponseCode(rawValue: 0)
    package static let formatError = ResponseCode(rawValue: 1)
    package static let serverFailure = ResponseCode(rawValue: 2)
    package static let noSuchName = ResponseCode(rawValue: 3)
    package static let notImplemented = ResponseCode(rawValue: 4)
    package static let refused = ResponseCode(rawValue: 5)
    /// A DNAME record makes the name too long (RFC 6672 section 2.2).
    package static let nameShouldNotExist = ResponseCode(rawValue: 6)
    package static let badVersion = ResponseCode(rawValue: 16)
    /// The client must retry with the cookie in this reply (RFC 7873 section 8).
    package static let badCookie = ResponseCode(rawValue: 23)

    /// The codes of servers without EDNS support (RFC 6891 section 7): retry without OPT.
    package var mayBeAboutEDNS: Bool { self == .formatError || self == .notImplemented || self == .badVersion }
}

extension ResponseCode: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noError: "NOERROR"
        case .formatError: "FORMERR"
        case .serverFailure: "SERVFAIL"
        case .noSuchName: "NXDOMAIN"
        case .notImplemented: "NOTIMP"
        case .refused: "REFUSED"
        case .nameShouldNotExist: "YXDOMAIN"
        case .badVersion: "BADVERS"
        case .badCookie: "BADCOOKIE"
        default: "RCODE\(rawValue)"
        }
    }
}
