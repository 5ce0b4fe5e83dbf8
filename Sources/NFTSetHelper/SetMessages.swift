// Requests to the kernel's nf_tables as bytes (linux/netfilter/nf_tables.h, linux/netfilter/nfnetlink.h). They consist
// of a set of the settings, addresses and numbers; no text of the daemon gets into them.

import CLinux
import DNSWire
import Glibc
import LinuxIO

enum SetMessages {
    /// Returns a request for the declaration of a set.
    static func declaration(of set: AddressSet) -> [UInt8] {
        message(NFT_MSG_GETSET, of: set) {
            $0.attribute(NFTA_SET_TABLE.rawValue, set.table.terminated)
            $0.attribute(NFTA_SET_NAME.rawValue, set.name.terminated)
        }
    }

    static func table(of set: AddressSet) -> [UInt8] {
        message(NFT_MSG_GETTABLE, of: set) { $0.attribute(NFTA_TABLE_NAME.rawValue, set.table.terminated) }
    }

    /// The kinds of requests about an address; the sequence number tells which one a reply is for.
    enum Lookup: Int, CaseIterable {
        /// The element that is the address or contains it. Of intervals, the kernel returns the start.
        case element
        /// The element that is the next address or contains it: if an interval starts there, a former one ends before.
        case successor
        /// The smallest end of an interval above the address. Where another interval starts at the same place, the
        /// kernel may return a later one.
        case end
    }

    /// Returns requests for elements.
    static func elements(_ keys: [SetKey], of set: AddressSet, isInterval: Bool) -> [UInt8] {
        var writer = NetlinkWriter()
        for (index, key) in keys.enumerated() {
            for lookup in isInterval ? Lookup.allCases : [.element] {
                guard let key = lookup == .element ? key : key.next else { continue }
                let sequence = index * Lookup.allCases.count + lookup.rawValue
                writer.message(NFT_MSG_GETSETELEM, of: set, sequence: sequence) {
                    $0.elements(of: set) { $0.element(key, isEnd: lookup == .end) }
                }
            }
        }
        return writer.bytes
    }

    /// Returns the index of the address and what was asked about it.
    static func lookup(of sequence: UInt32) -> (index: Int, lookup: Lookup)? {
        let (index, place) = Int(sequence).quotientAndRemainder(dividingBy: Lookup.allCases.count)
        return Lookup(rawValue: place).map { (index, $0) }
    }

    /// Returns a transaction. The sequence number is the index of the change, whose last step the kernel acknowledges.
    static func transaction(_ changes: [ElementPlan.Change], of set: AddressSet, isInterval: Bool) -> [UInt8] {
        var writer = NetlinkWriter()
        writer.batchBorder(Int(NFNL_MSG_BATCH_BEGIN))
        for (index, change) in changes.enumerated() {
            for (place, step) in change.steps.enumerated() {
                let isLast = place == change.steps.count - 1
                let (type, range, milliseconds): (nf_tables_msg_types, ClosedRange<SetKey>, UInt64?) =
                    switch step {
                    case .add(let range, let milliseconds): (NFT_MSG_NEWSETELEM, range, milliseconds)
                    case .delete(let range): (NFT_MSG_DELSETELEM, range, nil)
                    }
                writer.message(
                    type, of: set, flags: NLM_F_CREATE | (isLast ? NLM_F_ACK : 0), sequence: index
                ) {
                    $0.elements(of: set) {
                        $0.element(range.lowerBound, milliseconds: milliseconds)
                        // The end of an interval is the first address after it. It goes with its start.
                        if isInterval, let end = range.upperBound.next { $0.element(end, isEnd: true) }
                    }
                }
            }
        }
        writer.batchBorder(Int(NFNL_MSG_BATCH_BEGIN) + 1)
        return writer.bytes
    }

    private static func message(
        _ type: nf_tables_msg_types, of set: AddressSet, _ body: (inout NetlinkWriter) -> Void
    ) -> [UInt8] {
        var writer = NetlinkWriter()
        writer.message(type, of: set, sequence: 0, body)
        return writer.bytes
    }
}

extension AddressSet.Family {
    /// NFPROTO_INET and the like: linux/netfilter.h does not go together with Glibc's headers.
    var number: UInt8 {
        switch self {
        case .inet: 1
        case .ip: 2
        case .ip6: 10
        }
    }
}

extension NetlinkWriter {
    fileprivate mutating func message(
        _ type: nf_tables_msg_types, of set: AddressSet, flags: Int32 = 0, sequence: Int,
        _ body: (inout NetlinkWriter) -> Void
    ) {
        message(
            Int(NFNL_SUBSYS_NFTABLES) << 8 | Int(type.rawValue), flags: NLM_F_REQUEST | flags,
            sequence: UInt32(sequence)
        ) {
            $0.append(nfgenmsg(nfgen_family: set.family.number, version: UInt8(NFNETLINK_V0), res_id: 0))
            body(&$0)
        }
    }

    /// Begins or ends a transaction.
    fileprivate mutating func batchBorder(_ type: Int) {
        message(type, flags: NLM_F_REQUEST, sequence: SetReports.batchSequence) {
            $0.append(
                nfgenmsg(
                    nfgen_family: 0, version: UInt8(NFNETLINK_V0), res_id: UInt16(NFNL_SUBSYS_NFTABLES).bigEndian))
        }
    }

    fileprivate mutating func elements(of set: AddressSet, _ body: (inout NetlinkWriter) -> Void) {
        attribute(NFTA_SET_ELEM_LIST_TABLE.rawValue, set.table.terminated)
        attribute(NFTA_SET_ELEM_LIST_SET.rawValue, set.name.terminated)
        nested(NFTA_SET_ELEM_LIST_ELEMENTS.rawValue, body)
    }

    fileprivate mutating func element(_ key: SetKey, isEnd: Bool = false, milliseconds: UInt64? = nil) {
        nested(NFTA_LIST_ELEM.rawValue) {
            $0.nested(NFTA_SET_ELEM_KEY.rawValue) { $0.attribute(NFTA_DATA_VALUE.rawValue, key.bytes) }
            if isEnd {
                $0.attribute(NFTA_SET_ELEM_FLAGS.rawValue, UInt32(NFT_SET_ELEM_INTERVAL_END.rawValue).bigEndianBytes)
            }
            if let milliseconds { $0.attribute(NFTA_SET_ELEM_TIMEOUT.rawValue, milliseconds.bigEndianBytes) }
        }
    }
}

extension String {
    /// The bytes of the name as the kernel takes names, with a final zero byte.
    fileprivate var terminated: [UInt8] { Array(utf8) + [0] }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }
}
