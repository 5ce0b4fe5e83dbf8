// Messages of the kernel's nf_tables: declarations of sets, elements, errors, and changes of the ruleset
// (linux/netfilter/nf_tables.h).

import CLinux
import DNSWire
import Glibc
import LinuxIO
import SetFeed

/// How a set is declared, by the kernel's flags: nft(8) prints neither all of them nor always in the same way.
struct SetDeclaration: Equatable {
    let state: SetState
    let isInterval: Bool
    /// nft(8) may merge and divide its intervals (auto-merge). The kernel only keeps this for nft.
    let merges: Bool

    /// The kernel's data types are those of nft (TYPE_IPADDR, TYPE_IP6ADDR in its datatype.h), also with `typeof`.
    private static let types: [[UInt32]: RecordType] = [[7, 4]: .a, [8, 16]: .aaaa]
    /// NFTNL_UDATA_SET_MERGE_ELEMENTS of libnftnl's udata.h.
    private static let mergeField: UInt8 = 2

    /// Returns nil for another message than a set's declaration.
    init?(_ message: NetlinkMessage, in bytes: Span<UInt8>) {
        guard SetReports.kind(of: message) == NFT_MSG_NEWSET else { return nil }
        var (flags, type, length): (UInt32, UInt32, UInt32) = (0, 0, 0)
        var merges = false
        var attributes = NetlinkAttributes(message.payload, skipping: MemoryLayout<nfgenmsg>.size)
        while let (kind, value) = attributes.next(in: bytes) {
            let number = bytes.load(UInt32.self, in: value).map { UInt32(bigEndian: $0) } ?? 0
            switch UInt32(kind) {
            case NFTA_SET_FLAGS.rawValue: flags = number
            case NFTA_SET_KEY_TYPE.rawValue: type = number
            case NFTA_SET_KEY_LEN.rawValue: length = number
            case NFTA_SET_USERDATA.rawValue: merges = SetDeclaration.merges(bytes, value)
            default: continue
            }
        }
        func has(_ flag: nft_set_flags) -> Bool { flags & flag.rawValue != 0 }
        isInterval = has(NFT_SET_INTERVAL)
        self.merges = merges
        state =
            if has(NFT_SET_MAP) || has(NFT_SET_OBJECT) {
                .map
            } else if let record = SetDeclaration.types[[type, length]] {
                has(NFT_SET_TIMEOUT) ? .ready(record) : .untimed(record)
            } else {
                .otherType
            }
    }

    /// Reads the field for auto-merge among fields of a type and a length of one byte each, and a value.
    private static func merges(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var at = range.lowerBound
        while at + 2 <= range.upperBound {
            let (type, length) = (bytes[at], Int(bytes[at + 1]))
            guard at + 2 + length <= range.upperBound else { return false }
            if type == mergeField { return bytes.load(UInt32.self, in: at + 2..<at + 2 + length) ?? 0 != 0 }
            at += 2 + length
        }
        return false
    }
}

enum SetReports {
    /// The sequence number of the messages that begin and end a transaction.
    static let batchSequence: UInt32 = .max

    /// Returns nil for a message of another subsystem.
    static func kind(of message: NetlinkMessage) -> nf_tables_msg_types? {
        guard message.type >> 8 == Int(NFNL_SUBSYS_NFTABLES) else { return nil }
        return nf_tables_msg_types(rawValue: UInt32(message.type & 0xFF))
    }

    /// Returns the error number of an acknowledgement, 0 for none; nil for another message.
    static func code(of message: NetlinkMessage, in bytes: Span<UInt8>) -> Int32? {
        guard message.type == Int(NLMSG_ERROR) else { return nil }
        return bytes.load(Int32.self, in: message.payload).map { 0 &- $0 }
    }

    /// Returns the first element of a message.
    ///
    /// - Returns: the element's key, and the time until its end; nil for the time: it has no end.
    static func element(
        of message: NetlinkMessage, in bytes: Span<UInt8>
    ) -> (key: SetKey, milliseconds: UInt64?)? {
        guard kind(of: message) == NFT_MSG_NEWSETELEM else { return nil }
        let start = NetlinkAttributes(message.payload, skipping: MemoryLayout<nfgenmsg>.size)
        guard let list = value(NFTA_SET_ELEM_LIST_ELEMENTS.rawValue, start, bytes),
            let element = value(NFTA_LIST_ELEM.rawValue, NetlinkAttributes(list), bytes),
            let key = value(NFTA_SET_ELEM_KEY.rawValue, NetlinkAttributes(element), bytes),
            let data = value(NFTA_DATA_VALUE.rawValue, NetlinkAttributes(key), bytes),
            let key = SetKey(bytes: data.map { bytes[$0] })
        else { return nil }
        let end = value(NFTA_SET_ELEM_EXPIRATION.rawValue, NetlinkAttributes(element), bytes)
        return (key, end.flatMap { bytes.load(UInt64.self, in: $0) }.map { UInt64(bigEndian: $0) })
    }

    private static func value(
        _ type: UInt32, _ attributes: NetlinkAttributes, _ bytes: Span<UInt8>
    ) -> Range<Int>? {
        var attributes = attributes
        while let (kind, value) = attributes.next(in: bytes) {
            if kind == Int(type) { return value }
        }
        return nil
    }

    /// Returns whether one of the sets was made or deleted, or lost elements.
    ///
    /// - Parameter port: the kernel marks changes of this process with it.
    static func concern(_ sets: Set<AddressSet>, in bytes: Span<UInt8>, without port: UInt32) -> Bool {
        var messages = NetlinkMessages()
        while let message = messages.next(in: bytes) {
            guard let kind = kind(of: message), message.port != port,
                [NFT_MSG_NEWSET, NFT_MSG_DELSET, NFT_MSG_DELSETELEM].contains(kind)
            else { continue }
            if let set = set(of: message, in: bytes), sets.contains(set) { return true }
        }
        return false
    }

    /// The attributes of sets and of lists of elements have the same numbers for these names.
    private static func set(of message: NetlinkMessage, in bytes: Span<UInt8>) -> AddressSet? {
        let start = NetlinkAttributes(message.payload, skipping: MemoryLayout<nfgenmsg>.size)
        guard let header = bytes.load(nfgenmsg.self, in: message.payload),
            let family = AddressSet.Family.allCases.first(where: { $0.number == header.nfgen_family }),
            let table = value(NFTA_SET_TABLE.rawValue, start, bytes),
            let name = value(NFTA_SET_NAME.rawValue, start, bytes)
        else { return nil }
        return AddressSet("\(family.rawValue)#\(bytes.text(in: table))#\(bytes.text(in: name))")
    }
}
