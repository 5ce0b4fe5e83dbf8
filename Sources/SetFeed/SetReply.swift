// Messages of the helper to the daemon. One datagram in network byte order: version, kind, number, state, record type,
// number of refused elements, length and text of the reason.

package import DNSWire

package enum SetReply: Equatable, Sendable {
    /// The result of a request. A request without elements changes nothing and gets the state of the set.
    case done(number: UInt32, SetState, Refusal? = nil)
    /// Sets of the settings may have lost elements, or have come into being: the ruleset was changed.
    case rulesetChanged

    /// Elements that nftables refused although the set is ready: it is full, or an interval in it contains them.
    package struct Refusal: Equatable, Sendable {
        package let count: Int
        /// Of the first one, as nftables states it.
        package let reason: String

        package init(count: Int, reason: String) { (self.count, self.reason) = (count, reason) }
    }

    private static let doneKind: UInt8 = 0
    private static let changedKind: UInt8 = 1
    package static let maxBytes = 512
    /// Keeps a reply within `maxBytes`.
    package static let maxTextBytes = 200

    /// Nil unless the bytes are one whole reply within all bounds.
    package init?(_ bytes: [UInt8]) {
        var rest = WireFields(bytes)
        guard rest.byte() == SetRequest.version, let kind = rest.byte(), let number = rest.number(4),
            let word = rest.byte(), let type = rest.number(2), let refused = rest.number(2),
            let length = rest.byte(), let text = rest.text(Int(length)), rest.isAtEnd
        else { return nil }
        switch kind {
        case SetReply.changedKind: self = .rulesetChanged
        case SetReply.doneKind:
            guard let state = SetState(word, RecordType(rawValue: UInt16(type))) else { return nil }
            self = .done(number: number, state, refused == 0 ? nil : Refusal(count: Int(refused), reason: text))
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
        return [SetRequest.version, kind] + number.networkBytes + [word] + UInt32(type).networkBytes.suffix(2)
            + UInt32(refusal?.count ?? 0).networkBytes.suffix(2) + [UInt8(shown.count)] + shown
    }
}

package enum SetState: Equatable, Sendable {
    /// It takes addresses of this record type, A or AAAA.
    case ready(RecordType)
    /// The settings that the helper has read do not name it.
    case notListed
    case missing
    /// It lacks `flags timeout`.
    case untimed
    /// Its elements are not addresses alone.
    case otherType

    fileprivate init?(_ word: UInt8, _ type: RecordType) {
        switch word {
        case 0 where type == .a || type == .aaaa: self = .ready(type)
        case 1: self = .notListed
        case 2: self = .missing
        case 3: self = .untimed
        case 4: self = .otherType
        default: return nil
        }
    }

    fileprivate var fields: (word: UInt8, type: UInt16) {
        switch self {
        case .ready(let type): (0, type.rawValue)
        case .notListed: (1, 0)
        case .missing: (2, 0)
        case .untimed: (3, 0)
        case .otherType: (4, 0)
        }
    }
}

extension SetState {
    package var isReady: Bool { if case .ready = self { true } else { false } }

    /// What is wrong with the set, and the remedy; nil: nothing.
    package func fault(of set: AddressSet) -> String? {
        let command = "nft add set \(set.words) '{ type ipv4_addr; flags timeout; }'"
        return switch self {
        case .ready: nil
        case .notListed:
            "the helper refuses it, because no rule of its settings file names it: name it in a rule there"
        case .missing: "it does not exist; run: \(command)"
        case .untimed: "it has no timeout flag, so addresses would stay for ever; make it anew: \(command)"
        case .otherType: "its type is neither ipv4_addr nor ipv6_addr; make it anew: \(command)"
        }
    }
}
