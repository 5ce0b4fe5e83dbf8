// The faults that the lab can inject, and their scopes. `HTTPListener` and `Exchange` carry them out.

package import DNSWire

package enum Fault: Equatable, Sendable {
    /// The correct answer after a delay.
    case delay(milliseconds: Int32)
    case status(Int, retryAfter: String?)
    /// The provider's clock is ahead: it rejects signatures as expired, and shows its time in `Date`. Applies to whole
    /// providers only, because names are unknown while a signature is checked.
    case clock(aheadSeconds: Int64)
    /// From this request of a connection on (the first is 1), the lab does not reply.
    case hangLongConnection(fromRequest: Int)
    /// No reply until the lab is reset or the client disconnects.
    case hang
    /// The first half of the correct reply, then nothing until the lab is reset or the client disconnects.
    case stall
    /// A TCP RST instead of a reply.
    case reset
    /// Closes the connection after the headers.
    case early
    /// Random bytes with status 200.
    case garbage
    /// Status 200 without a body.
    case empty
    /// The correct reply, one byte every 100 ms.
    case drip
    /// A body that is shorter than its Content-Length.
    case short
    /// A body that is longer than its Content-Length.
    case long
    /// 200 KiB with status 200.
    case huge
    /// Chunks without an end.
    case endlessChunks
    /// 50 KiB that inflate to 50 MiB.
    case gzipBomb
    /// The correct answer compressed, without its last third. Content-Length matches what is sent.
    case truncatedGzip
    /// A 302 redirect to a path without a dialect.
    case redirect
    /// No record of the requested type, in the form of the dialect.
    case nothing
    /// An answer for a different name.
    case wrongName
    /// Addresses of a private network.
    case privateAddress

    package static let plain: [(name: String, fault: Fault)] = [
        ("hang", .hang), ("stall", .stall), ("reset", .reset), ("early", .early), ("garbage", .garbage),
        ("empty", .empty), ("drip", .drip), ("short", .short), ("long", .long), ("huge", .huge),
        ("endless-chunks", .endlessChunks), ("gzip-bomb", .gzipBomb), ("truncated-gzip", .truncatedGzip),
        ("redirect", .redirect), ("nothing", .nothing), ("wrong-name", .wrongName), ("private", .privateAddress),
    ]
    private static let valued: [(name: String, values: ClosedRange<Int>)] = [
        // Ten minutes, longer than any client waits.
        ("delay", 0...600_000), ("status", 200...599),
        // One year.
        ("clock", -31_536_000...31_536_000), ("hang-long-connection", 1...1_000_000),
    ]
    package static let kinds = (["none"] + valued.map(\.name) + plain.map(\.name)).joined(separator: ", ")

    /// Returns nil for an unknown kind, or a value that the kind does not allow.
    package init?(kind: String, value: String?, retryAfter: String?) {
        if let known = Fault.plain.first(where: { $0.name == kind }) {
            self = known.fault
            return
        }
        guard let values = Fault.valued.first(where: { $0.name == kind })?.values,
            let number = value.flatMap({ Int($0) }), values.contains(number)
        else { return nil }
        switch kind {
        case "delay": self = .delay(milliseconds: Int32(number))
        case "status": self = .status(number, retryAfter: retryAfter)
        case "clock": self = .clock(aheadSeconds: Int64(number))
        default: self = .hangLongConnection(fromRequest: number)
        }
    }
}

extension Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .delay(let milliseconds): "delay \(milliseconds)"
        case .status(let status, let retryAfter): "status \(status)" + (retryAfter.map { " retry-after \($0)" } ?? "")
        case .clock(let aheadSeconds): "clock \(aheadSeconds)"
        case .hangLongConnection(let request): "hang-long-connection \(request)"
        default: Fault.plain.first { $0.fault == self }?.name ?? ""
        }
    }
}

/// Faults by provider and name. The most specific scope applies, and a name is more specific than a provider.
package struct FaultTable: Sendable {
    package struct Scope: Hashable, Sendable {
        /// The scope's provider and name; nil: all providers, or all names.
        package let provider: String?
        package let name: Name?

        package init(provider: String?, name: Name?) {
            self.provider = provider
            self.name = name
        }
    }

    /// The faults, in the order in which they were set.
    package private(set) var entries: [(scope: Scope, fault: Fault)] = []
    /// Bound on faults: more than any test needs.
    private static let maxEntries = 1000

    package init() {}

    /// Sets or replaces the fault of a scope; nil removes it. Returns false if the table is full.
    package mutating func set(_ fault: Fault?, for scope: Scope) -> Bool {
        entries.removeAll { $0.scope == scope }
        guard let fault else { return true }
        guard entries.count < FaultTable.maxEntries else { return false }
        entries.append((scope, fault))
        return true
    }

    /// - Parameter name: nil while it is unknown.
    package func fault(provider: String, name: Name?) -> Fault? {
        let scopes = [
            Scope(provider: provider, name: name), Scope(provider: nil, name: name),
            Scope(provider: provider, name: nil), Scope(provider: nil, name: nil),
        ]
        return scopes.lazy.compactMap { scope in entries.first { $0.scope == scope }?.fault }.first
    }
}
