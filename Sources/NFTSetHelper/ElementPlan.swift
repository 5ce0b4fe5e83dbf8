// Decides how a set changes so that it has the addresses of a request for as long as requested or longer. An element is
// never shortened: another name, or a daemon that has ended since, may have given it the later end.

import Glibc

struct ElementPlan {
    /// An address of a request.
    struct Requested: Equatable {
        let key: SetKey
        let milliseconds: UInt64
    }

    /// The set's element for an address.
    enum Found: Equatable {
        case nothing
        /// An address, or an interval that contains it.
        ///
        /// - Parameter milliseconds: time until the element's end; nil: it has none.
        case element(ClosedRange<SetKey>, milliseconds: UInt64?)
    }

    enum Step: Equatable {
        case add(ClosedRange<SetKey>, milliseconds: UInt64)
        case delete(ClosedRange<SetKey>)
    }

    /// Steps that the kernel does all or none of, for some of the addresses.
    struct Change: Equatable {
        let steps: [Step]
        let keys: [SetKey]
    }

    private(set) var changes: [Change] = []
    /// Addresses that get no element, with the kernel's error number for this.
    private(set) var refused: [SetKey: Int32] = [:]

    /// Minimum time-out. The kernel may round a shorter one down to 0, which means none.
    private static let leastMilliseconds: UInt64 = 1000

    /// - Parameters:
    ///   - requested: the addresses, with increasing keys.
    ///   - found: what the set has for each of them.
    ///   - merges: the set's owner lets nft(8) merge and divide intervals (auto-merge).
    init(_ requested: [Requested], _ found: [Found], merges: Bool) {
        var divisions: [Division] = []
        for (requested, found) in zip(requested, found) {
            guard case .element(let range, let milliseconds) = found else {
                changes.append(Change(steps: [requested.addition], keys: [requested.key]))
                continue
            }
            let isAlone = range == requested.range
            guard isAlone || merges else {
                refused[requested.key] = EEXIST
                continue
            }
            guard let milliseconds, milliseconds < requested.milliseconds else { continue }
            if isAlone {
                changes.append(ElementPlan.prolongation(of: requested))
            } else if divisions.last?.range == range {
                divisions[divisions.count - 1].addresses.append(requested)
            } else {
                let rest = max(milliseconds, ElementPlan.leastMilliseconds)
                divisions.append(Division(range: range, milliseconds: rest, addresses: [requested]))
            }
        }
        changes += divisions.map(\.change)
    }

    /// An element that is there has to go first: before Linux 6.12, adding it again does not prolong it. The first step
    /// makes sure of an element to delete: it may have ended meanwhile.
    private static func prolongation(of requested: Requested) -> Change {
        Change(steps: [requested.addition, .delete(requested.range), requested.addition], keys: [requested.key])
    }

    /// An interval that ends earlier than some of its addresses are needed.
    private struct Division {
        let range: ClosedRange<SetKey>
        let milliseconds: UInt64
        /// The addresses, with increasing keys.
        var addresses: [Requested]

        /// The interval becomes these addresses, and intervals between them that keep its end.
        var change: Change {
            var steps: [Step] = [.add(range, milliseconds: milliseconds), .delete(range)]
            var rest: ClosedRange<SetKey>? = range
            for address in addresses {
                guard let start = rest?.lowerBound else { break }
                if start < address.key, let end = address.key.previous {
                    steps.append(.add(start...end, milliseconds: milliseconds))
                }
                steps.append(address.addition)
                rest = address.key.next.flatMap { $0 <= range.upperBound ? $0...range.upperBound : nil }
            }
            if let rest { steps.append(.add(rest, milliseconds: milliseconds)) }
            return Change(steps: steps, keys: addresses.map(\.key))
        }
    }
}

extension ElementPlan.Requested {
    fileprivate var range: ClosedRange<SetKey> { key...key }
    fileprivate var addition: ElementPlan.Step { .add(range, milliseconds: milliseconds) }
}
