// The kernel's ruleset by libnftables: reads a set's type, and adds elements. Its commands consist of a set of the
// settings, addresses and numbers; no text of the daemon gets into them.

import CNftables
import DNSWire
import LinuxIO
import SetFeed

@safe final class Ruleset {
    private let context: OpaquePointer
    private var states: [AddressSet: SetState] = [:]
    /// For one request whose first command is refused; the daemon waits 10 s for the reply. A command takes about a
    /// millisecond, and with a large set of intervals 0.3 to 0.7 s.
    private static let searchTime: Duration = .seconds(1)

    init() throws(HelperFailure) {
        guard let context = unsafe nft_ctx_new(UInt32(NFT_CTX_DEFAULT)) else {
            throw HelperFailure("libnftables can't be used: it gives no context")
        }
        unsafe self.context = context
        unsafe nft_ctx_output_set_flags(context, UInt32(NFT_CTX_OUTPUT_TERSE))
        guard unsafe nft_ctx_buffer_output(context) == 0, unsafe nft_ctx_buffer_error(context) == 0 else {
            throw HelperFailure("libnftables can't be used: it has no memory")
        }
    }

    deinit { unsafe nft_ctx_free(context) }

    /// The port ID of the library's netlink socket, by which the kernel marks this process's own changes.
    func port(besides monitor: Int32) -> UInt32 { cnftables_own_port(monitor) }

    /// Sets may have another type now, or none.
    func forget() { states = [:] }

    /// Carries out a request whose set is allowed.
    func reply(to request: SetRequest) -> SetReply {
        let state = state(of: request.set)
        guard case .ready(let type) = state, !request.elements.isEmpty else {
            return .done(number: request.number, state)
        }
        let elements = request.elements.filter { $0.address.recordType == type }
        let others = request.elements.count - elements.count
        var refusals = others == 0 ? [] : [SetReply.Refusal(count: others, reason: "the set has the other family")]
        if let error = add(elements, to: request.set) {
            // The set may have gone meanwhile, before this command or before one of the search.
            if let fault = fault(of: request.set) { return .done(number: request.number, fault) }
            refusals += addHalves(
                elements[...], of: request.set, refused: error, until: Clock.now() + Ruleset.searchTime)
            if let fault = fault(of: request.set) { return .done(number: request.number, fault) }
        }
        let refusal = refusals.first.map {
            SetReply.Refusal(count: refusals.reduce(0) { $0 + $1.count }, reason: $0.reason)
        }
        return .done(number: request.number, state, refusal)
    }

    /// One element that is refused must not keep the others out: adds each half, and searches a half that is refused.
    ///
    /// - Parameters:
    ///   - error: why the elements are refused together.
    ///   - end: of the search. The rest then counts as refused.
    private func addHalves(
        _ elements: ArraySlice<SetElement>, of set: AddressSet, refused error: String, until end: Instant
    ) -> [SetReply.Refusal] {
        guard elements.count > 1 else { return [SetReply.Refusal(count: 1, reason: error)] }
        let middle = elements.startIndex + elements.count / 2
        return [elements[..<middle], elements[middle...]].flatMap { half in
            guard Clock.now() < end else { return [SetReply.Refusal(count: half.count, reason: error)] }
            guard let error = add(Array(half), to: set) else { return [] }
            return addHalves(half, of: set, refused: error, until: end)
        }
    }

    /// Returns the first line of the error; nil: all are in the set.
    private func add(_ elements: [SetElement], to set: AddressSet) -> String? {
        elements.isEmpty ? nil : run(Ruleset.addition(elements, to: set))
    }

    /// An element that is there has to go first: before Linux 6.12, adding it again does not prolong it. The three
    /// commands are one transaction.
    static func addition(_ elements: [SetElement], to set: AddressSet) -> String {
        let words = set.words
        let addresses = elements.map(\.address.description).joined(separator: ", ")
        let elements = elements.map { "\($0.address) timeout \($0.timeoutSeconds)s" }
        let addition = "add element \(words) { \(elements.joined(separator: ", ")) }\n"
        let removal = "delete element \(words) { \(addresses) }\n"
        return addition + removal + addition
    }

    /// Looks again why a set took no elements; nil: it is ready.
    private func fault(of set: AddressSet) -> SetState? {
        states[set] = nil
        let state = state(of: set)
        return state.isReady ? nil : state
    }

    private func state(of set: AddressSet) -> SetState {
        if let state = states[set] { return state }
        var state = SetState.missing
        if run("list set \(set.words)\n") == nil {
            state = Ruleset.state(listing: unsafe String(cString: nft_ctx_get_output_buffer(context)))
        }
        // A missing set may be made at any time.
        if state != .missing { states[set] = state }
        return state
    }

    /// Reads the declaration of a set as nft(8) prints it.
    static func state(listing: String) -> SetState {
        var (type, flags): (String?, [Substring]) = (nil, [])
        for line in listing.split(separator: "\n") {
            let words = line.split(whereSeparator: { " \t".contains($0) })
            switch words.first {
            case "type" where type == nil: type = words.dropFirst().joined(separator: " ")
            case "flags" where flags.isEmpty: flags = words.dropFirst().joined().split(separator: ",")
            default: continue
            }
        }
        let record: RecordType
        switch type {
        case "ipv4_addr": record = .a
        case "ipv6_addr": record = .aaaa
        default: return .otherType
        }
        return flags.contains("timeout") ? .ready(record) : .untimed
    }

    /// Returns the first line of the error; nil: done.
    private func run(_ command: String) -> String? {
        let code = unsafe nft_run_cmd_from_buffer(context, command)
        let error = unsafe String(cString: nft_ctx_get_error_buffer(context))
        guard code != 0 else { return nil }
        return error.split(separator: "\n").first.map(String.init) ?? "no reason given"
    }
}
