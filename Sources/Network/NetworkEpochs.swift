// Turns a stream of network states into epochs: one for each relevant change, when it is complete. Has no clock, does
// not read the kernel, and starts a new epoch on the same network only for a reason.
//
//              other footing, or woke: `unsettled`            woke, and all is known: `changed`
//              +-------------------------------+               +----+
//              |                               v               v    |
//          [settled] <---------------------- [unsettled]    [settled]-+
//                     quiet for 250 ms and complete,
//                     or 1 s after the first step:
//                     `changed`, or `unchanged`
//
// The footing is an identity and the own address that connections stand on. The epoch's is `inForce`, the one just now
// is `present`, nil without a way out, which begins no epoch. What comes after a way out was gone is a new epoch if it
// was gone for more than a moment.

package import DNSWire

package struct NetworkEpochs: Sendable {
    package enum Event: Sendable {
        case tables(NetworkTables)
        /// Of resolv.conf, in any form.
        case searchDomains([String])
        /// The machine slept, or the program was stopped.
        case woke
        case timePassed
    }

    package enum Action: Equatable, Sendable {
        /// At once, whenever it is not the last one told.
        case reach(NetworkReach)
        /// Once for each gateway whose hardware address is not known.
        case solicit(gateway: Address, link: Int)
        /// The epoch may be over: `unchanged` or `changed` follows within `NetworkBounds.settleLimit`.
        case unsettled
        case unchanged
        /// A new epoch. Without `unsettled` before it after a wake, and when the gateway of an epoch that began without
        /// its hardware address has answered.
        case changed(NetworkChange)
    }

    private enum Phase {
        case settled
        case unsettled(since: Instant, lastStep: Instant)
    }

    private var tables: NetworkTables
    private var searchDomains: [String]
    package private(set) var reach: NetworkReach
    private var inForce: Footing
    private var present: Footing?
    private var phase = Phase.settled
    /// Of all changes: `unsettled` tells of the first one of each.
    package private(set) var steps = 0
    /// Of the present way out, or of the last wake that it has seen.
    private var usableSince: Instant
    /// Nil while there is a way out.
    private var lostSince: Instant?
    /// The next epoch begins even if nothing else differs.
    private var reasonToBegin: NetworkCause?
    private var solicited: Action?
    /// What the start would have asked for, and when.
    private var overdue: (action: Action, since: Instant)?

    /// The first identity is in force at once. `nextDeadline` may be `now`: for a gateway to be solicited.
    package init(tables: NetworkTables, searchDomains: [String], now: Instant) {
        self.tables = tables
        self.searchDomains = SearchDomains.normal(searchDomains)
        reach = NetworkReach(of: tables)
        let routed = RoutedLinks(tables)
        present = Footing(routed, searchDomains: self.searchDomains, before: nil, inForce: .isolated)
        inForce = present ?? .isolated
        usableSince = now
        lostSince = present == nil ? now : nil
        var actions: [Action] = []
        solicit(routed, actions: &actions)
        overdue = actions.first.map { ($0, now) }
    }

    /// Of the epoch; also while there is no way out.
    package var identity: NetworkIdentity { inForce.identity }

    /// What the tables define before the change is over; nil without a way out, and while the gateway's hardware
    /// address is not known.
    package var candidate: NetworkIdentity? {
        guard isUnsettled, let identity = present?.identity, identity.isComplete else { return nil }
        return identity
    }

    package var isUnsettled: Bool {
        if case .unsettled = phase { true } else { false }
    }

    /// Of `timePassed`.
    package var nextDeadline: Instant? { overdue?.since ?? settlesAt }

    package mutating func handle(_ event: Event, now: Instant, actions: inout [Action]) {
        if let overdue { actions.append(overdue.action) }
        overdue = nil
        switch event {
        case .tables(let tables):
            self.tables = tables
            look(now, actions: &actions)
        case .searchDomains(let domains):
            searchDomains = SearchDomains.normal(domains)
            look(now, actions: &actions)
        case .woke:
            woke(now, actions: &actions)
        case .timePassed:
            break
        }
        if let settlesAt, settlesAt <= now { settle(actions: &actions) }
    }
}

extension NetworkEpochs {
    private mutating func look(_ now: Instant, actions: inout [Action]) {
        let newReach = NetworkReach(of: tables)
        if newReach != reach { actions.append(.reach(newReach)) }
        reach = newReach

        let routed = RoutedLinks(tables)
        let before = present
        present = Footing(routed, searchDomains: searchDomains, before: before, inForce: inForce)
        solicit(routed, actions: &actions)
        noteWayOut(before, now)
        step(from: before, now, actions: &actions)
    }

    private mutating func noteWayOut(_ before: Footing?, _ now: Instant) {
        if present == nil {
            lostSince = lostSince ?? now
        } else if let lost = lostSince {
            let isNews = now - lost > NetworkBounds.gap || inForce == .isolated
            if isNews { reasonToBegin = reasonToBegin ?? .restored }
            lostSince = nil
            usableSince = now
        }
    }

    private mutating func step(from before: Footing?, _ now: Instant, actions: inout [Action]) {
        guard case .settled = phase else {
            // A gateway that has answered makes nothing less certain.
            if let present, let before, before.isCompleted(by: present) { return }
            if present != before { unsettle(now, actions: &actions) }
            return
        }
        guard let present, present != inForce || reasonToBegin != nil else { return }
        if reasonToBegin == nil, inForce.isCompleted(by: present) {
            // Nothing has moved, but the network has its proper name only now, and what is kept goes by that name.
            usableSince = now
            begin(present, actions: &actions)
        } else {
            unsettle(now, actions: &actions)
        }
    }

    private mutating func woke(_ now: Instant, actions: inout [Action]) {
        reasonToBegin = .wake
        solicited = nil
        usableSince = now
        solicit(RoutedLinks(tables), actions: &actions)
        // Without a way out, the first one begins the epoch.
        guard let present else { return }
        if present.identity.isComplete {
            begin(present, actions: &actions)
        } else {
            unsettle(now, actions: &actions)
        }
    }

    private mutating func unsettle(_ now: Instant, actions: inout [Action]) {
        steps += 1
        if case .unsettled(let since, _) = phase {
            phase = .unsettled(since: since, lastStep: now)
        } else {
            phase = .unsettled(since: now, lastStep: now)
            // A way out that was there all the time is another one from now on.
            usableSince = now
            actions.append(.unsettled)
        }
    }

    private var settlesAt: Instant? {
        guard case .unsettled(let since, let lastStep) = phase else { return nil }
        let latest = since + NetworkBounds.settleLimit
        guard present?.identity.isComplete ?? true else { return latest }
        return min(lastStep + NetworkBounds.quiet, latest)
    }

    private mutating func settle(actions: inout [Action]) {
        if let present, present != inForce || reasonToBegin != nil {
            begin(present, actions: &actions)
        } else {
            // Also when every way out is gone: the epoch lasts until there is another.
            phase = .settled
            actions.append(.unchanged)
        }
    }

    private mutating func begin(_ footing: Footing, actions: inout [Action]) {
        let cause = reasonToBegin ?? footing.cause(after: inForce)
        phase = .settled
        reasonToBegin = nil
        inForce = footing
        actions.append(
            .changed(NetworkChange(identity: footing.identity, cause: cause, usableSince: usableSince)))
    }

    private mutating func solicit(_ routed: RoutedLinks, actions: inout [Action]) {
        guard let wayOut = routed.wayOut, let gateway = wayOut.gateway, wayOut.gatewayHardware == nil,
            wayOut.link.hasHardwareAddresses
        else {
            solicited = nil
            return
        }
        let wanted = Action.solicit(gateway: gateway, link: wayOut.link.index)
        if wanted != solicited { actions.append(wanted) }
        solicited = wanted
    }
}
