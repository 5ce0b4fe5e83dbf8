// Turns a stream of network states into changes: one for each that is complete and relevant. Has no clock, and does not
// read the kernel. The same network counts as another one only for a cause (`NetworkCause`).
//
//            other attachment, or woke: `changing`        woke, identity complete: `changed`
//              +-------------------------------+               +----+
//              |                               v               v    |
//          [stable] <---------------------- [changing]      [stable]-+
//                     quiet for 250 ms and complete,
//                     or 1 s after the first step:
//                     `changed`, or `unchanged`
//
// An attachment is a network identity and the local address that connections use. `inForce` is the attachment of the
// last change, `present` the latest one; nil without a default route. The loss of the default route is no change. A
// default route that returns is one if it was missing for longer than `NetworkBounds.gap`.

package import DNSWire

package struct NetworkChanges: Sendable {
    package enum Event: Sendable {
        case tables(NetworkTables)
        /// Search domains of resolv.conf, not normalised.
        case searchDomains([String])
        /// The machine slept, or the program was stopped.
        case woke
        case timePassed
    }

    package enum Action: Equatable, Sendable {
        /// The reachable destinations, sent at once if they differ from the last ones sent.
        case reach(NetworkReach)
        /// Find out the hardware address of a gateway; sent once for each gateway with an unknown one.
        case solicit(gateway: Address, link: Int)
        /// The network may be another one: `unchanged` or `changed` follows within `NetworkBounds.settleLimit`.
        case changing
        case unchanged
        /// The network is another one. There is no `changing` before this after a wake, or when the gateway of the
        /// network in force has revealed its hardware address.
        case changed(NetworkChange)

        package var isChange: Bool { if case .changed = self { true } else { false } }
    }

    private enum Phase {
        case stable
        case changing(since: Instant, lastStep: Instant)
    }

    private var tables: NetworkTables
    private var searchDomains: [String]
    package private(set) var reach: NetworkReach
    private var inForce: NetworkAttachment
    private var present: NetworkAttachment?
    private var phase = Phase.stable
    /// Number of steps of all changes. `changing` reports only the first step of each.
    package private(set) var steps = 0
    /// Since when the present default route has been usable, counted anew after a wake.
    private var usableSince: Instant
    /// When the default route was lost; nil while there is one.
    private var lostSince: Instant?
    /// The cause of the next change, even if the attachment is the same.
    private var reasonToBegin: NetworkCause?
    private var solicited: Action?
    /// The action of `init`, sent with the first event, and the time of `init`.
    private var overdue: (action: Action, since: Instant)?

    /// Puts the first identity in force at once. `nextDeadline` may be `now`, to solicit a gateway.
    package init(tables: NetworkTables, searchDomains: [String], now: Instant) {
        self.tables = tables
        self.searchDomains = SearchDomains.normal(searchDomains)
        reach = NetworkReach(of: tables)
        let routed = RoutedLinks(tables)
        present = NetworkAttachment(routed, searchDomains: self.searchDomains, before: nil, inForce: .isolated)
        inForce = present ?? .isolated
        usableSince = now
        lostSince = present == nil ? now : nil
        var actions: [Action] = []
        solicit(routed, actions: &actions)
        overdue = actions.first.map { ($0, now) }
    }

    /// Identity of the network in force, also while there is no default route.
    package var identity: NetworkIdentity { inForce.identity }

    /// The expected next identity while a change is under way; nil without a default route, and while the gateway's
    /// hardware address is unknown.
    package var candidate: NetworkIdentity? {
        guard isChanging, let identity = present?.identity, identity.isComplete else { return nil }
        return identity
    }

    package var isChanging: Bool {
        if case .changing = phase { true } else { false }
    }

    /// Deadline for `timePassed`.
    package var nextDeadline: Instant? { overdue?.since ?? endsAt }

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
        if let endsAt, endsAt <= now { end(actions: &actions) }
    }
}

extension NetworkChanges {
    private mutating func look(_ now: Instant, actions: inout [Action]) {
        let newReach = NetworkReach(of: tables)
        if newReach != reach { actions.append(.reach(newReach)) }
        reach = newReach

        let routed = RoutedLinks(tables)
        let before = present
        present = NetworkAttachment(routed, searchDomains: searchDomains, before: before, inForce: inForce)
        solicit(routed, actions: &actions)
        noteDefaultRoute(before, now)
        step(from: before, now, actions: &actions)
    }

    private mutating func noteDefaultRoute(_ before: NetworkAttachment?, _ now: Instant) {
        if present == nil {
            lostSince = lostSince ?? now
        } else if let lost = lostSince {
            let isNews = now - lost > NetworkBounds.gap || inForce == .isolated
            if isNews { reasonToBegin = reasonToBegin ?? .restored }
            lostSince = nil
            usableSince = now
        }
    }

    private mutating func step(from before: NetworkAttachment?, _ now: Instant, actions: inout [Action]) {
        guard case .stable = phase else {
            // A gateway that reveals its hardware address does not prolong the change.
            if let present, let before, before.isCompleted(by: present) { return }
            if present != before { changing(now, actions: &actions) }
            return
        }
        guard let present, present != inForce || reasonToBegin != nil else { return }
        if reasonToBegin == nil, inForce.isCompleted(by: present) {
            // The network is the same, but its complete identity is known only now, and stored state is keyed by it.
            usableSince = now
            begin(present, actions: &actions)
        } else {
            changing(now, actions: &actions)
        }
    }

    private mutating func woke(_ now: Instant, actions: inout [Action]) {
        reasonToBegin = .wake
        solicited = nil
        usableSince = now
        solicit(RoutedLinks(tables), actions: &actions)
        // Without a default route, the next one is the change.
        guard let present else { return }
        if present.identity.isComplete {
            begin(present, actions: &actions)
        } else {
            changing(now, actions: &actions)
        }
    }

    private mutating func changing(_ now: Instant, actions: inout [Action]) {
        steps += 1
        if case .changing(let since, _) = phase {
            phase = .changing(since: since, lastStep: now)
        } else {
            phase = .changing(since: now, lastStep: now)
            // If the default route never went away, the new one counts as usable from the first step.
            usableSince = now
            actions.append(.changing)
        }
    }

    private var endsAt: Instant? {
        guard case .changing(let since, let lastStep) = phase else { return nil }
        let latest = since + NetworkBounds.settleLimit
        guard present?.identity.isComplete ?? true else { return latest }
        return min(lastStep + NetworkBounds.quiet, latest)
    }

    private mutating func end(actions: inout [Action]) {
        if let present, present != inForce || reasonToBegin != nil {
            begin(present, actions: &actions)
        } else {
            // The network stays in force until there is another attachment, even without any default route.
            phase = .stable
            actions.append(.unchanged)
        }
    }

    private mutating func begin(_ attachment: NetworkAttachment, actions: inout [Action]) {
        let cause = reasonToBegin ?? attachment.cause(after: inForce)
        phase = .stable
        reasonToBegin = nil
        inForce = attachment
        actions.append(
            .changed(NetworkChange(identity: attachment.identity, cause: cause, usableSince: usableSince)))
    }

    private mutating func solicit(_ routed: RoutedLinks, actions: inout [Action]) {
        guard let wayOut = routed.wayOut, let gateway = wayOut.gateway, wayOut.gatewayHardware == nil,
            wayOut.link.hasHardwareAddresses
        else {
            solicited = nil
            return
        }
        let solicitation = Action.solicit(gateway: gateway, link: wayOut.link.index)
        if solicitation != solicited { actions.append(solicitation) }
        solicited = solicitation
    }
}
