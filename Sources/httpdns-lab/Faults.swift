// What can go wrong on purpose, and for whom. Values only: the listener carries faults out.

package import DNSWire

package enum Fault: Equatable, Sendable {
    /// The right answer, this much later.
    case delay(milliseconds: Int32)
    case status(Int, retryAfter: String?)
    /// The provider's clock is ahead of ours: it finds signatures expired, and says so in `Date`. Only of a provider as
    /// a whole: names are not known yet when a signature is checked.
    case clock(aheadSeconds: Int64)
    /// Connections are good for some requests, and from this one on, the first being 1, nothing more comes.
    case hangLongConnection(fromRequest: Int)
    /// No answer until the lab is reset or the client goes.
    case hang
    /// The first half of the right answer, and then no more until the lab is reset or the client goes.
    case stall
    /// TCP RST instead of an answer.
    case reset
    /// The end of the connection behind the headers.
    case early
    /// Random bytes with status 200.
    case garbage
    /// Status 200 without a body.
    case empty
    /// The right answer, one byte each 100 ms.
    case drip
    /// A body that ends before its Content-Length.
    case short
    /// A body that goes on behind its Content-Length.
    case long
    /// 200 KiB with status 200.
    case huge
    /// Chunks without end.
    case endlessChunks
    /// 50 KiB that become 50 MiB.
    case gzipBomb
    /// The right answer compressed, without its last third, and all of that as long as announced.
    case truncatedGzip
    /// 302 to a path that has no dialect.
    case redirect
    /// No record of the asked type, as the dialect says it.
    case nothing
    /// An answer to the question for another name.
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
        // Longer than any client waits.
        ("delay", 0...600_000), ("status", 200...599),
        // A year.
        ("clock", -31_536_000...31_536_000), ("hang-long-connection", 1...1_000_000),
    ]
    package static let kinds = (["none"] + valued.map(\.name) + plain.map(\.name)).joined(separator: ", ")

    /// Nil for an unknown kind, and for a value that is not of the kind.
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

/// Faults by provider and name; the more that is named, the more it counts, and a name counts more than a provider.
package struct FaultTable: Sendable {
    package struct Scope: Hashable, Sendable {
        /// Nil for all.
        package let provider: String?
        package let name: Name?

        package init(provider: String?, name: Name?) {
            self.provider = provider
            self.name = name
        }
    }

    /// In the order in which they were set.
    package private(set) var entries: [(scope: Scope, fault: Fault)] = []
    /// A test that sets more has lost count.
    private static let maxEntries = 1000

    package init() {}

    /// Takes the place of what the same scope had; nil takes it away. False when there is no room.
    package mutating func set(_ fault: Fault?, for scope: Scope) -> Bool {
        entries.removeAll { $0.scope == scope }
        guard let fault else { return true }
        guard entries.count < FaultTable.maxEntries else { return false }
        entries.append((scope, fault))
        return true
    }

    /// - Parameter name: nil as long as it is not known.
    package func fault(provider: String, name: Name?) -> Fault? {
        let scopes = [
            Scope(provider: provider, name: name), Scope(provider: nil, name: name),
            Scope(provider: provider, name: nil), Scope(provider: nil, name: nil),
        ]
        return scopes.lazy.compactMap { scope in entries.first { $0.scope == scope }?.fault }.first
    }
}
