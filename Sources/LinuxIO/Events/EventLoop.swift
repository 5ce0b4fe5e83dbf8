// Waits for descriptors and calls their handlers: epoll, level-triggered, one thread. It has no timers: the caller
// keeps the deadlines and passes the next one to `turn`.

import CLinux
package import DNSWire
import Glibc

/// Readiness of a descriptor, or interest in it.
package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// Both directions are closed. Reported without interest, too, and again each turn: close the descriptor.
    package static let hangUp = Readiness(rawValue: 4)
    /// An error can be read from the descriptor. Reported like `hangUp`.
    package static let failed = Readiness(rawValue: 8)
    /// The peer has closed the connection or its sending half (EPOLLRDHUP). Reported only with interest, and again each
    /// turn.
    package static let peerClosed = Readiness(rawValue: 16)
}

/// Invariants: a slot in use has a body; a free one has none and is in `freeSlots`. A slot's generation changes when it
/// is freed, so that registrations and pending events with an older generation are ignored. `watchers` has the newest
/// registration of each descriptor number.
package final class EventLoop {
    private let descriptor: FileDescriptor
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var watchers: [Int32: Registration] = [:]
    private var events = [clinux_event](repeating: clinux_event(), count: EventLoop.batchSize)
    private var isTurning = false

    /// Maximum number of events per turn. The rest comes first in the next turn, so deadlines are checked in between.
    package static let batchSize = 64

    package struct Registration: Hashable, Sendable {
        fileprivate let slot: UInt32
        fileprivate let generation: UInt32
    }

    private struct Slot {
        var generation: UInt32
        var descriptor: Int32
        var interest: Readiness
        var body: ((Readiness) -> Void)?
    }

    package init() throws(SystemError) {
        descriptor = FileDescriptor(owning: try SystemCall.run("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
    }

    /// Calls `body` in each turn that finds `descriptor` ready. The body may watch, change and unwatch anything,
    /// itself included, but not start a turn.
    ///
    /// - Parameter descriptor: open, not watched yet, and unwatched before it is closed. The loop does not own it:
    ///   keep the owner in a stored property, because a local array may be released after its last use.
    /// - Throws: EEXIST (watched already), EPERM (a regular file), ENOSPC and ENOMEM.
    package func watch(
        _ descriptor: Int32, for interest: Readiness, _ body: @escaping (Readiness) -> Void
    ) throws(SystemError) -> Registration {
        let registration = nextRegistration()
        try control(EPOLL_CTL_ADD, descriptor, interest, registration)
        let slot = Slot(
            generation: registration.generation, descriptor: descriptor, interest: interest, body: body)
        if freeSlots.popLast() == nil {
            slots.append(slot)
        } else {
            slots[Int(registration.slot)] = slot
        }
        watchers[descriptor] = registration
        return registration
    }

    /// Changes the events of interest. An ended registration is ignored.
    package func change(_ registration: Registration, to interest: Readiness) throws(SystemError) {
        guard let slot = slot(of: registration), slot.interest != interest else { return }
        try control(EPOLL_CTL_MOD, slot.descriptor, interest, registration)
        slots[Int(registration.slot)].interest = interest
    }

    /// Ends a registration: no more calls, not even for events of the current batch. An ended registration is ignored.
    package func unwatch(_ registration: Registration) {
        guard let watched = forget(registration) else { return }
        _ = clinux_epoll_control(descriptor.raw, EPOLL_CTL_DEL, watched, 0, 0)
    }

    /// Ends the registration of a descriptor that is closed before the next turn. The kernel forgets a closed
    /// descriptor by itself (epoll(7), if it has no duplicate), which saves a call.
    ///
    /// - Returns: the descriptor, if epoll may still know it; nil for an ended registration, too.
    @discardableResult
    package func forget(_ registration: Registration) -> Int32? {
        guard let slot = slot(of: registration) else { return nil }
        slots[Int(registration.slot)].body = nil
        slots[Int(registration.slot)].generation &+= 1
        freeSlots.append(registration.slot)
        // A library may have closed its descriptor. The number is then unknown to epoll, or belongs to another file.
        guard watchers[slot.descriptor] == registration else { return nil }
        watchers[slot.descriptor] = nil
        return slot.descriptor
    }

    /// Waits for one batch of events or until `deadline`, and calls the bodies. Nil waits without limit; a past
    /// deadline does not wait. May return early without events.
    package func turn(until deadline: Instant?) throws(SystemError) {
        precondition(!isTurning, "a body started a turn of the loop that called it")
        isTurning = true
        defer { isTurning = false }
        let count = try SystemCall.run("epoll_wait") {
            let milliseconds = deadline.map { Clock.milliseconds(from: Clock.now(), to: $0) } ?? -1
            return unsafe clinux_epoll_wait(descriptor.raw, &events, Int32(EventLoop.batchSize), milliseconds)
        }
        for index in 0..<Int(count) {
            let event = events[index]
            let registration = Registration(
                slot: UInt32(truncatingIfNeeded: event.tag), generation: UInt32(truncatingIfNeeded: event.tag >> 32))
            slot(of: registration)?.body?(Readiness(kernelEvents: event.events))
        }
    }

    private func nextRegistration() -> Registration {
        guard let free = freeSlots.last else { return Registration(slot: UInt32(slots.count), generation: 0) }
        return Registration(slot: free, generation: slots[Int(free)].generation)
    }

    private func slot(of registration: Registration) -> Slot? {
        guard Int(registration.slot) < slots.count else { return nil }
        let slot = slots[Int(registration.slot)]
        return slot.generation == registration.generation ? slot : nil
    }

    private func control(
        _ operation: Int32, _ watched: Int32, _ interest: Readiness, _ registration: Registration
    ) throws(SystemError) {
        let tag = UInt64(registration.generation) << 32 | UInt64(registration.slot)
        try SystemCall.run("epoll_ctl") {
            clinux_epoll_control(descriptor.raw, operation, watched, interest.kernelEvents, tag)
        }
    }
}

extension Readiness {
    /// EPOLLHUP and EPOLLERR are always reported.
    fileprivate var kernelEvents: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
            | (contains(.peerClosed) ? EPOLLRDHUP.rawValue : 0)
    }

    fileprivate init(kernelEvents: UInt32) {
        self = []
        if kernelEvents & EPOLLIN.rawValue != 0 { insert(.readable) }
        if kernelEvents & EPOLLOUT.rawValue != 0 { insert(.writable) }
        if kernelEvents & EPOLLHUP.rawValue != 0 { insert(.hangUp) }
        if kernelEvents & EPOLLERR.rawValue != 0 { insert(.failed) }
        if kernelEvents & EPOLLRDHUP.rawValue != 0 { insert(.peerClosed) }
    }
}
