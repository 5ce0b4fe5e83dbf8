// What can go wrong on purpose, and for whom. Values only: the listener carries faults out.

package import DNSWire

package enum Fault: Equatable, Sendable {
    /// The right answer, this much later.
    case delay(milliseconds: Int32)
    case status(Int, retryAfter: String?)
    /// No answer until the lab is reset or the client goes.
    case hang
    /// TCP RST instead of an answer.
    case reset
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

    package static let plain: [(name: String, fault: Fault)] = [
        ("hang", .hang), ("reset", .reset), ("garbage", .garbage), ("empty", .empty), ("drip", .drip),
        ("short", .short), ("long", .long), ("huge", .huge),
    ]
    package static let kinds = (["none", "delay", "status"] + plain.map(\.name)).joined(separator: ", ")
    /// Longer than any client waits.
    private static let maxDelayMilliseconds: Int32 = 600_000

    /// Nil for an unknown kind, and for a value that is not of the kind.
    package init?(kind: String, value: String?, retryAfter: String?) {
        switch kind {
        case "delay":
            guard let delay = value.flatMap(Int32.init), (0...Fault.maxDelayMilliseconds).contains(delay) else {
                return nil
            }
            self = .delay(milliseconds: delay)
        case "status":
            guard let status = value.flatMap({ Int($0) }), (200...599).contains(status) else { return nil }
            self = .status(status, retryAfter: retryAfter)
        default:
            guard let known = Fault.plain.first(where: { $0.name == kind }) else { return nil }
            self = known.fault
        }
    }
}

extension Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .delay(let milliseconds): "delay \(milliseconds)"
        case .status(let status, let retryAfter): "status \(status)" + (retryAfter.map { " retry-after \($0)" } ?? "")
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

    package func fault(provider: String, name: Name) -> Fault? {
        let scopes = [
            Scope(provider: provider, name: name), Scope(provider: nil, name: name),
            Scope(provider: provider, name: nil), Scope(provider: nil, name: nil),
        ]
        return scopes.lazy.compactMap { scope in entries.first { $0.scope == scope }?.fault }.first
    }
}
