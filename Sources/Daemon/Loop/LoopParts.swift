// The parts of the daemon that have deadlines. The main loop takes its deadline and its timer calls from this list.

import DNSWire
import LinuxIO
import Serving

protocol LoopPart: AnyObject {
    /// When `timePassed` is due; nil: no deadline.
    var nextDeadline: Instant? { get }
    /// Does what is due. The loop calls this in every turn, also when nothing is due.
    func timePassed(now: Instant)
}

/// Invariants: every stored property of the owner that is a `LoopPart` is in the list, in the order of declaration. A
/// part has one owner. TidyTests refuses a class with a deadline that is no part.
struct LoopParts {
    private let parts: [any LoopPart]

    init() { parts = [] }

    /// - Parameter owner: its properties are read once; a part that is assigned later is missing.
    init(of owner: AnyObject) {
        parts = Mirror(reflecting: owner).children.compactMap { $0.value as? any LoopPart }
        precondition(!parts.isEmpty, "the program was compiled without reflection metadata")
    }

    var nextDeadline: Instant? {
        var earliest: Instant?
        for part in parts {
            if let deadline = part.nextDeadline { earliest = min(deadline, earliest ?? deadline) }
        }
        return earliest
    }

    func timePassed(now: Instant) { for part in parts { part.timePassed(now: now) } }
}

extension StreamServer: LoopPart {}
