// The kernel's ruleset by libnftables: reads a set's type, and adds elements. Its commands consist of a set of the
// settings, addresses and numbers; no text of the daemon gets into them.

import CNftables
import DNSWire
import SetFeed

@safe final class Ruleset {
    private let context: OpaquePointer
    private var states: [AddressSet: SetState] = [:]

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
    func state(after request: SetRequest) -> SetState {
        let state = state(of: request.set)
        guard case .ready(let type) = state, !request.elements.isEmpty else { return state }
        guard request.elements.allSatisfy({ $0.address.recordType == type }) else {
            return .failed("addresses of another family than the set's")
        }
        guard let error = run(Ruleset.addition(request)) else { return state }
        // The set may have gone meanwhile.
        states[request.set] = nil
        let now = self.state(of: request.set)
        return now.isReady ? .failed(error) : now
    }

    /// An element that is there has to go first: before Linux 6.12, adding it again does not prolong it. The three
    /// commands are one transaction.
    static func addition(_ request: SetRequest) -> String {
        let words = request.set.words
        let addresses = request.elements.map(\.address.description).joined(separator: ", ")
        let elements = request.elements.map { "\($0.address) timeout \($0.timeoutSeconds)s" }
        let addition = "add element \(words) { \(elements.joined(separator: ", ")) }\n"
        let removal = "delete element \(words) { \(addresses) }\n"
        return addition + removal + addition
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
