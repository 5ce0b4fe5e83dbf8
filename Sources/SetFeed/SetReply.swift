// What the helper says to the daemon. One datagram in network byte order: version, kind, number, state, record type,
// length and text of the error.

package import DNSWire

package enum SetReply: Equatable, Sendable {
    /// The result of a request. A request without elements changes nothing and gets the state of the set.
    case done(number: UInt32, SetState)
    /// Sets of the settings may have lost elements, or have come into being: the ruleset was changed.
    case rulesetChanged

    private static let doneKind: UInt8 = 0
    private static let changedKind: UInt8 = 1
    package static let maxBytes = 512
    /// Keeps a reply within `maxBytes`.
    package static let maxTextBytes = 200

    /// Nil unless the bytes are one whole reply within all bounds.
    package init?(_ bytes: [UInt8]) {
        var rest = WireFields(bytes)
        guard rest.byte() == SetRequest.version, let kind = rest.byte(), let number = rest.number(4),
            let word = rest.byte(), let type = rest.number(2), let length = rest.byte(),
            let text = rest.text(Int(length)), rest.isAtEnd
        else { return nil }
        switch kind {
        case SetReply.changedKind: self = .rulesetChanged
        case SetReply.doneKind:
            guard let state = SetState(word, RecordType(rawValue: UInt16(type)), text) else { return nil }
            self = .done(number: number, state)
        default: return nil
        }
    }

    package var bytes: [UInt8] {
        let (kind, number, state): (UInt8, UInt32, SetState?) =
            switch self {
            case .done(let number, let state): (SetReply.doneKind, number, state)
            case .rulesetChanged: (SetReply.changedKind, 0, nil)
            }
        let (word, type, text) = state?.fields ?? (0, 0, "")
        let shown = text.utf8.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: " ") }.prefix(SetReply.maxTextBytes)
        return [SetRequest.version, kind] + number.networkBytes + [word] + UInt32(type).networkBytes.suffix(2)
            + [UInt8(shown.count)] + shown
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
    /// nftables refused the command.
    case failed(String)

    fileprivate init?(_ word: UInt8, _ type: RecordType, _ text: String) {
        switch word {
        case 0 where type == .a || type == .aaaa: self = .ready(type)
        case 1: self = .notListed
        case 2: self = .missing
        case 3: self = .untimed
        case 4: self = .otherType
        case 5: self = .failed(text)
        default: return nil
        }
    }

    fileprivate var fields: (word: UInt8, type: UInt16, text: String) {
        switch self {
        case .ready(let type): (0, type.rawValue, "")
        case .notListed: (1, 0, "")
        case .missing: (2, 0, "")
        case .untimed: (3, 0, "")
        case .otherType: (4, 0, "")
        case .failed(let text): (5, 0, text)
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
        case .failed(let reason): "nftables refused the addresses: \(reason)"
        }
    }
}
