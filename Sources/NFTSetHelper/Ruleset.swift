// The kernel's ruleset by nfnetlink: reads how a set is declared and what it has, and adds elements.

import CLinux
import DNSWire
import Glibc
import LinuxIO
import SetFeed

final class Ruleset {
    private let socket: NetlinkSocket
    /// Addresses per exchange, to which the kernel's replies fit into the receive buffer: up to three replies for each
    /// address, of less than 1 KiB.
    private static let addressesAtOnce = 64
    private static let receiveBufferBytes: Int32 = 1 << 20
    /// Bound on tries of a transaction. The kernel names each refused change of a transaction and carries none out. A
    /// change may be refused only once others are left out, for example in a set that is full.
    private static let maxTries = 4

    init() throws(HelperFailure) {
        do throws(SystemError) {
            socket = try NetlinkSocket(
                subsystem: NETLINK_NETFILTER, groups: [], receiveBufferBytes: Ruleset.receiveBufferBytes)
        } catch {
            throw HelperFailure("nftables can't be reached: \(error)")
        }
    }

    /// The port by which the kernel marks this process's own changes.
    var port: UInt32 { socket.port }

    /// Carries out a request whose set is allowed.
    func reply(to request: SetRequest) -> SetReply {
        guard let declaration = declaration(of: request.set) else {
            return .done(number: request.number, has(SetMessages.table(of: request.set)) ? .missing : .noTable)
        }
        guard case .ready(let type) = declaration.state, !request.elements.isEmpty else {
            return .done(number: request.number, declaration.state)
        }
        var requested: [SetKey: UInt64] = [:]
        for element in request.elements where element.address.recordType == type {
            let key = SetKey(element.address)
            requested[key] = max(requested[key] ?? 0, UInt64(element.timeoutSeconds) * 1000)
        }
        let elements = requested.sorted { $0.key < $1.key }.map {
            ElementPlan.Requested(key: $0.key, milliseconds: $0.value)
        }
        var refused: [SetKey: Int32] = [:]
        for start in stride(from: 0, to: elements.count, by: Ruleset.addressesAtOnce) {
            let some = elements[start..<min(start + Ruleset.addressesAtOnce, elements.count)]
            refused.merge(add(Array(some), to: request.set, declaration)) { first, _ in first }
        }
        // The set may have gone meanwhile.
        if !refused.isEmpty, let state = self.declaration(of: request.set)?.state, !state.isReady {
            return .done(number: request.number, state)
        }
        return .done(number: request.number, declaration.state, refusal(of: refused, in: request, type))
    }

    private func refusal(of refused: [SetKey: Int32], in request: SetRequest, _ type: RecordType) -> SetReply.Refusal? {
        var reasons: [Int: String] = [:]
        for (index, element) in request.elements.enumerated() {
            if element.address.recordType != type {
                reasons[index] = "the set has the other family"
            } else if let code = refused[SetKey(element.address)] {
                reasons[index] = Ruleset.reason(code)
            }
        }
        let places = reasons.keys.sorted()
        return places.first.map { SetReply.Refusal(places: places, reason: reasons[$0] ?? "") }
    }

    /// Why the kernel refuses an element, by its error number.
    private static func reason(_ code: Int32) -> String {
        switch code {
        case ENFILE: "the set is full (ENFILE)"
        case EEXIST, ENOTEMPTY: "an interval of the set contains the address (EEXIST)"
        default: SystemError(call: "nftables", code: code).description
        }
    }

    // MARK: kernel

    /// Returns the declaration of a set; nil: the set does not exist.
    private func declaration(of set: AddressSet) -> SetDeclaration? {
        var declaration: SetDeclaration?
        _ = exchange(SetMessages.declaration(of: set)) { message, bytes in
            declaration = declaration ?? SetDeclaration(message, in: bytes)
        }
        return declaration
    }

    /// Whether the kernel answers a request for an object otherwise than by an error.
    private func has(_ request: [UInt8]) -> Bool {
        var isThere = false
        _ = exchange(request) { message, _ in isThere = isThere || SetReports.kind(of: message) != nil }
        return isThere
    }

    /// Returns the addresses that the set does not take, with the error numbers.
    private func add(
        _ requested: [ElementPlan.Requested], to set: AddressSet, _ declaration: SetDeclaration
    ) -> [SetKey: Int32] {
        let found = found(requested.map(\.key), in: set, isInterval: declaration.isInterval)
        let plan = ElementPlan(requested, found, merges: declaration.merges)
        var (changes, refused) = (plan.changes, plan.refused)
        for _ in 0..<Ruleset.maxTries where !changes.isEmpty {
            let codes = carryOut(changes, on: set, isInterval: declaration.isInterval)
            guard !codes.isEmpty else { return refused }
            for (index, code) in codes {
                for key in changes[index].keys { refused[key] = code }
            }
            changes = changes.indices.filter { codes[$0] == nil }.map { changes[$0] }
        }
        for change in changes {
            for key in change.keys { refused[key] = EAGAIN }
        }
        return refused
    }

    /// Returns the error numbers of changes that the kernel refuses; if there are any, none is carried out.
    private func carryOut(_ changes: [ElementPlan.Change], on set: AddressSet, isInterval: Bool) -> [Int: Int32] {
        var codes = [Int?: Int32](minimumCapacity: changes.count)
        let isWhole = exchange(SetMessages.transaction(changes, of: set, isInterval: isInterval)) { message, bytes in
            guard let code = SetReports.code(of: message, in: bytes) else { return }
            // The first error counts: others of the same change follow from it.
            let index = Int(exactly: message.sequence).flatMap { $0 < changes.count ? $0 : nil }
            if codes[index] ?? 0 == 0 { codes[index] = code }
        }
        // The error of the transaction as a whole, or of a reply that is missing.
        let general = codes[nil].flatMap { $0 == 0 ? nil : $0 } ?? (isWhole ? nil : ENOBUFS)
        return Dictionary(
            uniqueKeysWithValues: changes.indices.compactMap { index in
                let code = general ?? codes[index] ?? EIO
                return code == 0 ? nil : (index, code)
            })
    }

    private func found(_ keys: [SetKey], in set: AddressSet, isInterval: Bool) -> [ElementPlan.Found] {
        var elements: [Int: (key: SetKey, milliseconds: UInt64?)] = [:]
        var (successors, ends): ([Int: SetKey], [Int: SetKey]) = ([:], [:])
        _ = exchange(SetMessages.elements(keys, of: set, isInterval: isInterval)) { message, bytes in
            guard let element = SetReports.element(of: message, in: bytes),
                let (index, lookup) = SetMessages.lookup(of: message.sequence)
            else { return }
            switch lookup {
            case .element: elements[index] = element
            case .successor: successors[index] = element.key
            case .end: ends[index] = element.key
            }
        }
        return keys.enumerated().map { index, key in
            guard let element = elements[index], element.key <= key else { return .nothing }
            guard isInterval else { return .element(key...key, milliseconds: element.milliseconds) }
            // An interval without an end has the largest address.
            let end = successors[index] == key.next ? key : ends[index].flatMap(\.previous) ?? key.last
            return .element(element.key...max(key, end), milliseconds: element.milliseconds)
        }
    }

    /// Sends a request and reads all replies: the kernel has them ready when the call returns.
    ///
    /// - Returns: whether all replies have come.
    private func exchange(_ request: [UInt8], _ body: (NetlinkMessage, Span<UInt8>) -> Void) -> Bool {
        var isWhole = true
        do throws(SystemError) {
            try socket.send(request)
            while true {
                let outcome = try socket.receive { bytes in
                    var messages = NetlinkMessages()
                    while let message = messages.next(in: bytes) { body(message, bytes) }
                }
                switch outcome {
                case .received: continue
                case .lost: isWhole = false
                case .nothing: return isWhole
                }
            }
        } catch {
            return false
        }
    }
}
