// Messages of the helper to the daemon. One datagram in network byte order: version, kind, number, state, record type,
// number and places of the refused elements, length and text of the reason.

package import DNSWire

package enum SetReply: Equatable, Sendable {
    /// The result of a request. A request without elements changes nothing and gets the state of the set.
    case done(number: UInt32, SetState, Refusal? = nil)
    /// Sets of the settings may have lost elements, or have come into being: the ruleset was changed.
    case rulesetChanged

    /// Elements that nftables refused although the set is ready: it is full, or an interval in it contains them.
    package struct Refusal: Equatable, Sendable {
        /// Increasing indices of the request's elements; at least one.
        package let places: [Int]
        /// The reason for the first refused element.
        package let reason: String

        package init(places: [Int], reason: String) { (self.places, self.reason) = (places, reason) }
    }

    private static let doneKind: UInt8 = 0
    private static let changedKind: UInt8 = 1
    package static let maxBytes = 512
    /// Bound on the reason, which keeps a reply within `maxBytes`, also if all elements are refused.
    package static let maxTextBytes = 200

    /// Returns nil unless the bytes are one whole reply within all bounds.
    package init?(_ bytes: [UInt8]) {
        var rest = WireFields(bytes)
        guard rest.byte() == SetRequest.version, let kind = rest.byte(), let number = rest.number(4),
            let word = rest.byte(), let type = rest.number(2), let count = rest.number(2),
            let places = rest.bytes(Int(count)).map({ $0.map(Int.init) }),
            zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }),
            let length = rest.byte(), let text = rest.text(Int(length)), rest.isAtEnd
        else { return nil }
        switch kind {
        case SetReply.changedKind: self = .rulesetChanged
        case SetReply.doneKind:
            guard let state = SetState(word, RecordType(rawValue: UInt16(type))) else { return nil }
            self = .done(number: number, state, places.isEmpty ? nil : Refusal(places: places, reason: text))
        default: return nil
        }
    }

    package var bytes: [UInt8] {
        let (kind, number, state, refusal): (UInt8, UInt32, SetState?, Refusal?) =
            switch self {
            case .done(let number, let state, let refusal): (SetReply.doneKind, number, state, refusal)
            case .rulesetChanged: (SetReply.changedKind, 0, nil, nil)
            }
        let (word, type) = state?.fields ?? (0, 0)
        let shown = (refusal?.reason ?? "").utf8.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: " ") }
            .prefix(SetReply.maxTextBytes)
        let places = (refusal?.places ?? []).map { UInt8(clamping: $0) }
        return [SetRequest.version, kind] + number.networkBytes + [word] + UInt32(type).networkBytes.suffix(2)
            + UInt32(places.count).networkBytes.suffix(2) + places + [UInt8(shown.count)] + shown
    }
}

package enum SetState: Equatable, Sendable {
    /// The set takes addresses of this record type, A or AAAA.
    case ready(RecordType)
    /// The settings that the helper has read do not name the set.
    case notListed
    /// The set does not exist, but its table does.
    case missing
    case noTable
    /// The set lacks `flags timeout`. It has addresses of this record type.
    case untimed(RecordType)
    /// The set's elements are not addresses alone.
    case otherType
    /// The set maps keys to values.
    case map

    fileprivate init?(_ word: UInt8, _ type: RecordType) {
        switch word {
        case 0 where type == .a || type == .aaaa: self = .ready(type)
        case 1: self = .notListed
        case 2: self = .missing
        case 3 where type == .a || type == .aaaa: self = .untimed(type)
        case 4: self = .otherType
        case 5: self = .noTable
        case 6: self = .map
        default: return nil
        }
    }

    fileprivate var fields: (word: UInt8, type: UInt16) {
        switch self {
        case .ready(let type): (0, type.rawValue)
        case .notListed: (1, 0)
        case .missing: (2, 0)
        case .untimed(let type): (3, type.rawValue)
        case .otherType: (4, 0)
        case .noTable: (5, 0)
        case .map: (6, 0)
        }
    }
}

extension SetState {
    package var isReady: Bool { if case .ready = self { true } else { false } }

    /// The fault of the set, and the remedy, whose end is a command for a shell; nil: none.
    ///
    /// - Parameter recordType: the type of the addresses that the set shall get, if the settings say so.
    package func fault(of set: AddressSet, for recordType: RecordType?) -> String? {
        let type = recordType ?? (set.isNamedForIPv6 ? .aaaa : .a)
        return switch self {
        case .ready: nil
        case .notListed:
            "the helper refuses it, because no rule of its settings file names it: name it in a rule there"
        case .missing: "it does not exist; run: \(set.creation(type))"
        case .noTable:
            "its table does not exist; run: nft add table \(set.family.rawValue) \(set.table); \(set.creation(type))"
        case .untimed(let type):
            "it has no timeout flag, so addresses would stay for ever; delete it and create it again: "
                + "nft delete set \(set.words); \(set.creation(type))"
        case .otherType:
            "its type is neither ipv4_addr nor ipv6_addr; delete it and create it again: "
                + "nft delete set \(set.words); \(set.creation(type))"
        case .map:
            "it is a map; delete it and create a set: nft delete map \(set.words); \(set.creation(type))"
        }
    }
}

extension AddressSet {
    fileprivate func creation(_ type: RecordType) -> String {
        "nft add set \(words) '{ type \(type == .aaaa ? "ipv6_addr" : "ipv4_addr"); flags timeout; }'"
    }

    /// Whether the name suggests IPv6: a guess for a set of both families' tables.
    fileprivate var isNamedForIPv6: Bool { family == .ip6 || (name.contains("6") && !name.contains("4")) }
}
