// Decides which requests to providers run, which wait for a place, and which overdue requests give up their place. Has
// neither clock nor timers; its owner carries out each step. Copies share the requests.
//
// Invariants: a request is in one queue of its pool, and also in `all` from the time that it has a place there; it runs
// if it has a place in both. Each step costs a logarithm, and one pass over the overdue requests of a full pool.

import DNSWire
import Resolver

package struct RequestQueue {
    /// Number of a request, given by the owner: small, as the tables have a row for each.
    typealias ID = FairQueue.ID

    enum Step: Equatable, Sendable {
        case start(ID)
        /// The request gives its place to another one, and waits for the next.
        case suspend(ID)
        /// The request gives its place to another one and ends, because names of its parent hang.
        case displace(ID)
        /// The request got no place in time, or could not.
        case expire(ID)
    }

    /// Result of a request that was started.
    enum End: Sendable {
        case answered
        case timedOut
        /// The request ended with any other result, or an unknown one.
        case other
    }

    /// A request, waiting or running. A class, so that no pass copies it; the owner adds what it knows of the request.
    class Request {
        /// The holder that the place counts for: the first name's.
        let holder: ShareHolder
        /// Holders of further names in a shared request.
        private var others: [ShareHolder]
        /// The first name is abandoned.
        private var isFirstGone = false
        fileprivate var pool: Pool?
        /// End of the wait for a place.
        fileprivate var until: Instant?
        /// When the request started; nil while it waits.
        fileprivate var startedAt: Instant?
        /// The request is in the queue of names that hang.
        fileprivate var hangs = false
        fileprivate var wasSuspended = false

        init(_ holder: ShareHolder, _ others: [ShareHolder] = []) {
            (self.holder, self.others) = (holder, others)
        }

        /// Parents of the names that are not abandoned, each once.
        fileprivate var parents: [Name] {
            var parents = isFirstGone ? [] : [holder.parent]
            for other in others where !parents.contains(other.parent) { parents.append(other.parent) }
            return parents
        }

        fileprivate func leave(_ parent: Name) {
            isFirstGone = isFirstGone || holder.parent == parent
            others.removeAll { $0.parent == parent }
        }

        /// Counts an answer for the names that are not abandoned.
        fileprivate func answered(_ answers: inout Answers, now: Instant) {
            if !isFirstGone { answers.add(holder, now: now) }
            for other in others { answers.add(other, now: now) }
        }
    }

    /// The requests over connections that one or more providers share. A class, so that no step copies it.
    fileprivate final class Pool {
        let id: ProviderID
        /// Numbers of requests that the pool's connections carry now, and at most.
        var places: Int
        var maxPlaces: Int
        var usual = FairQueue(capacity: .max)
        /// Names below parents that hang: they hold half of the places, so that names of other parents find one.
        var hanging = FairQueue(capacity: .max)
        var latency = LatencyEstimate()
        var answers = Answers()
        /// When a running request may have to give up its place; nil: no request waits for that.
        var checkAt: Instant?
        /// The next request, and the number of answers, when no running request had to give up its place. Nil: unknown.
        private var checked: (next: ID, answers: Int)?

        init(_ id: ProviderID, _ places: (now: Int, most: Int)) {
            self.id = id
            (self.places, maxPlaces) = places
        }

        var running: Int { usual.heldCount + hanging.heldCount }
        var waiting: Int { usual.waitingCount + hanging.waitingCount }
        var hangingLimit: Int { max(1, places / 2) }

        /// Time after which a running request is overdue if the provider answers others.
        var overdueAfter: Duration {
            guard let p99 = latency.percentile99 else { return Bounds.hopelessAfter }
            let multiple = Duration.milliseconds(p99 * RequestQueue.overdueFactor)
            return min(max(multiple, RequestQueue.overdueFloor), Bounds.hopelessAfter)
        }

        /// The request that gets the next place.
        var next: ID? { usual.next ?? hanging.next }

        /// Whether no running request has to give up its place: nothing has changed since the last check.
        func isChecked(_ now: Instant) -> Bool {
            guard let checked, checkAt.map({ now < $0 }) ?? true else { return false }
            return checked.answers == answers.count && checked.next == next
        }

        func setChecked(until instant: Instant?) {
            checkAt = instant
            checked = next.map { ($0, answers.count) }
        }

        func forgetCheck() { (checkAt, checked) = (nil, nil) }

        /// The running request after this one, in the order of their starts; nil: the first.
        func running(after id: ID?, hangs: Bool) -> ID? {
            inQueue(hangs) { if let id { $0.held(after: id) } else { $0.oldestHeld } }
        }

        /// Reads or changes one of the two queues in place.
        func inQueue<Value>(_ hangs: Bool, _ body: (inout FairQueue) -> Value) -> Value {
            hangs ? body(&hanging) : body(&usual)
        }

        func sort() {
            usual.sort()
            hanging.sort()
        }

        /// Gives a free place. One request of the parents that hang always runs, to show whether they still do.
        func grant() -> ID? {
            guard running < places else { return nil }
            let mayHang = hanging.waitingCount > 0 && hanging.heldCount < hangingLimit
            if mayHang, usual.waitingCount == 0 || hanging.heldCount == 0 { return hanging.takeNext() }
            return usual.takeNext()
        }

        /// A waiting request that cannot have a place in time at the present rate: the newest of the largest holder.
        var surplus: ID? {
            let turns = Bounds.answerWithin / Bounds.hopelessAfter
            if Double(hanging.waitingCount) > Double(hangingLimit) * turns { return hanging.waitingOfLargest }
            guard let latency = latency.smoothed, latency > 0 else { return nil }
            let inTime = Bounds.answerWithin.milliseconds / latency * Double(maxPlaces)
            return Double(usual.waitingCount) > inTime ? usual.waitingOfLargest : nil
        }
    }

    fileprivate struct Answers {
        var count = 0
        /// When the last answer came.
        private(set) var at: Instant?
        /// Answers whose parents are not compared yet, in their order.
        private var uncompared: [(holder: ShareHolder, at: Instant)] = []
        /// The parent of the last answer before those, when it came, and when the last answer for another parent came.
        private var parent: Name?
        private var parentAt: Instant?
        private var otherAt: Instant?
        /// Since when the provider owes an answer; nil: no request has run since the last answer.
        var owedSince: Instant?
        /// The last answer that was owed for longer than `Bounds.hopelessAfter`.
        var silenceEndedAt: Instant?

        /// Bound on `uncompared`: more than the requests of most pools, so that the answers since the start of a
        /// running request fit.
        private static let maxUncompared = 1024

        mutating func add(_ holder: ShareHolder, now: Instant) {
            at = now
            uncompared.append((holder, now))
        }

        var isFull: Bool { uncompared.count >= Answers.maxUncompared }

        /// Drops answers from before the start of every request whose end may ask for them.
        mutating func forget(before start: Instant) {
            uncompared.removeAll { $0.at < start }
            if uncompared.count > Answers.maxUncompared / 2 { compare() }
        }

        /// Whether a name of another parent was answered since.
        mutating func include(otherThan parent: Name, since instant: Instant) -> Bool {
            compare()
            return (parent == self.parent ? otherAt : at).map { $0 >= instant } ?? false
        }

        private mutating func compare() {
            guard let last = uncompared.last else { return }
            let latest = last.holder.parent
            if let other = uncompared.last(where: { $0.holder.parent != latest }) {
                otherAt = other.at
            } else if latest != parent {
                otherAt = parentAt
            }
            (parent, parentAt) = (latest, last.at)
            uncompared.removeAll(keepingCapacity: true)
        }
    }

    private struct PoolName: Hashable {
        let pool: ProviderID
        let parent: Name
    }

    /// A parent whose names hang: each hanging name adds two to the weight, and each answer for one of its names
    /// subtracts one.
    private struct Hang {
        var weight = 0
        var until: Instant
    }

    /// Requests to providers in flight. Each holds a socket or a stream and up to 30 KiB.
    static let maxRequests = 1024
    /// A running request is overdue after this multiple of the 99th percentile of the provider's answer times, not
    /// below the second value, and at `Bounds.hopelessAfter`. Then it may have to give its place to another holder. A
    /// name that its provider has to resolve rarely takes longer than the second value.
    private static let overdueFactor = 3.0
    private static let overdueFloor: Duration = .milliseconds(200)
    /// An overdue request gives up its place as well after this time if the provider has answered nothing since: other
    /// names show whether it still works.
    private static let silenceAfter: Duration = .seconds(1)
    /// Time for which a parent counts as hanging after a request for one of its names was given up while the provider
    /// answered others. Names below such parents hold half of a provider's places.
    private static let hangMemory: Duration = .seconds(10)
    /// Maximum weight of a hanging parent (`Hang`).
    private static let maxHangWeight = 8
    /// Hanging parents that are remembered. Eviction beyond this number gives a parent no advantage.
    private static let maxHangs = 1024

    private var all: FairQueue
    private var pools: [Pool] = []
    private var requests: [Request?] = []
    /// When waiting requests expire.
    private var ends = DeadlineQueue()
    private var hangs: [PoolName: Hang] = [:]
    /// Parents of a shared request that hung. Asking each alone shows which one hangs.
    private var suspectUntil: [PoolName: Instant] = [:]
    /// Requests that gave up their place, and requests that got none.
    package private(set) var displaced: UInt64 = 0
    package private(set) var expired: UInt64 = 0

    init(capacity: Int = RequestQueue.maxRequests) {
        all = FairQueue(capacity: capacity)
    }

    var runningCount: Int { all.heldCount }
    var waitingCount: Int { all.waitingCount + pools.reduce(0) { $0 + $1.waiting } }

    /// Whether requests wait for a place among these connections that more connections would help.
    func wantsMore(at pool: ProviderID) -> Bool { self.pool(pool).map { $0.usual.waitingCount > 0 } ?? false }

    private func pool(_ id: ProviderID) -> Pool? { pools.first { $0.id == id } }

    /// Whether a request waits for a place. If none does, there is nothing to decide.
    var hasWaiting: Bool { ends.first != nil }

    /// When `next` may have a new step; nil if no request waits.
    var nextDeadline: Instant? {
        guard hasWaiting else { return nil }
        var earliest = ends.earliest
        for pool in pools { earliest = Instant.earliest(earliest, pool.checkAt) }
        return earliest
    }

    /// Whether names of this parent hang while the provider answers others.
    func hangs(
        _ parent: @autoclosure () -> Name, at pool: @autoclosure () -> ProviderID, now: Instant
    ) -> Bool {
        !hangs.isEmpty && hangs[PoolName(pool: pool(), parent: parent())].map { now < $0.until } ?? false
    }

    /// Whether names of this parent share no request with others, which would have to wait too.
    func isAskedAlone(
        _ parent: @autoclosure () -> Name, at pool: @autoclosure () -> ProviderID, now: Instant
    ) -> Bool {
        hangs(parent(), at: pool(), now: now)
            || !suspectUntil.isEmpty && suspectUntil[PoolName(pool: pool(), parent: parent())].map { now < $0 } ?? false
    }

    /// Drops the state of removed pools.
    mutating func keep(_ kept: [ProviderID]) {
        pools.removeAll { !kept.contains($0.id) && $0.running + $0.waiting == 0 }
        hangs = hangs.filter { kept.contains($0.key.pool) }
        suspectUntil = suspectUntil.filter { kept.contains($0.key.pool) }
    }

    // MARK: requests

    /// Starts a request at once if no request waits and a place is free: then there is nothing to share.
    ///
    /// - Parameters:
    ///   - places: concurrent requests that the connections of the pool carry now, and at most.
    ///   - until: end of a wait for another place.
    /// - Returns: whether it has its place; otherwise `add` queues it.
    mutating func start(
        _ id: ID, _ request: Request, at pool: ProviderID, places: (now: Int, most: Int), until: Instant, now: Instant
    ) -> Bool {
        guard !hasWaiting, all.heldCount < all.capacity else { return false }
        let pool = setPlaces(places, of: pool)
        let hangs = hangs(request, at: pool, now: now)
        guard pool.running < pool.places, !hangs || pool.hanging.heldCount < pool.hangingLimit else { return false }
        enter(id, request, at: pool, until: until, hangs: hangs)
        pool.inQueue(hangs) { $0.add(held: id, for: request.holder) }
        all.add(held: id, for: request.holder)
        started(request, at: pool, now: now)
        return true
    }

    /// Queues a request. `next` starts it.
    ///
    /// - Parameters:
    ///   - places: concurrent requests that the connections of the pool carry now, and at most.
    ///   - until: end of the wait for a place.
    mutating func add(
        _ id: ID, _ request: Request, to pool: ProviderID, places: (now: Int, most: Int), until: Instant, now: Instant
    ) {
        let pool = setPlaces(places, of: pool)
        let hangs = hangs(request, at: pool, now: now)
        enter(id, request, at: pool, until: until, hangs: hangs)
        if pool.waiting == 0 { pool.forgetCheck() }
        pool.inQueue(hangs) { $0.add(id, for: request.holder) }
        ends.set(until, for: id)
    }

    private func hangs(_ request: Request, at pool: Pool, now: Instant) -> Bool {
        !request.holder.isKnown && hangs(request.holder.parent, at: pool.id, now: now)
    }

    private mutating func enter(_ id: ID, _ request: Request, at pool: Pool, until: Instant, hangs: Bool) {
        (request.pool, request.until, request.hangs) = (pool, until, hangs)
        while requests.count <= id { requests.append(nil) }
        requests[id] = request
    }

    /// - Parameter places: concurrent requests that the connections of the pool carry now, and at most.
    mutating func set(_ places: (now: Int, most: Int), of id: ProviderID) { _ = setPlaces(places, of: id) }

    private mutating func setPlaces(_ places: (now: Int, most: Int), of id: ProviderID) -> Pool {
        if let pool = pool(id) {
            (pool.places, pool.maxPlaces) = places
            return pool
        }
        let pool = Pool(id, places)
        pools.append(pool)
        return pool
    }

    /// Removes a parent whose names the request no longer serves. The request's end then says nothing about this
    /// parent.
    mutating func leave(_ id: ID, _ parent: Name) {
        if requests.indices.contains(id) { requests[id]?.leave(parent) }
    }

    /// Ends a request, started or not. An unknown request is ignored.
    mutating func end(_ id: ID, _ end: End, now: Instant) {
        guard requests.indices.contains(id), let request = requests[id], let pool = request.pool else { return }
        remove(id, request)
        guard let startedAt = request.startedAt else { return }
        switch end {
        case .answered: noteAnswer(of: request, at: pool, startedAt: startedAt, now: now)
        case .timedOut: noteHang(of: request, at: pool, startedAt: startedAt, now: now)
        case .other: break
        }
        if pool.running == 0 { pool.answers.owedSince = nil }
        if case .timedOut = end, case let parents = request.parents, parents.count > 1 {
            for parent in parents { suspect(PoolName(pool: pool.id, parent: parent), now: now) }
        }
    }

    private mutating func remove(_ id: ID, _ request: Request) {
        requests[id] = nil
        if request.startedAt == nil { ends.remove(id) }
        all.remove(id)
        request.pool?.inQueue(request.hangs) { $0.remove(id) }
    }

    // MARK: steps

    /// Returns the next step; nil if there is none until `nextDeadline`, `add` or `end`.
    mutating func next(now: Instant) -> Step? {
        guard hasWaiting else { return nil }
        if let id = ends.popDue(now) { return expire(id) }
        while true {
            if let id = all.take() { return start(id, now: now) }
            var hasGranted = false
            for pool in pools {
                guard pool.waiting > 0 else {
                    pool.forgetCheck()
                    continue
                }
                if let id = pool.surplus { return expire(id) }
                if let id = pool.grant() {
                    if let holder = requests[id]?.holder { all.add(id, for: holder) }
                    hasGranted = true
                } else if pool.running <= pool.places, !pool.isChecked(now) {
                    pool.sort()
                    if let id = overdue(of: pool, now: now) { return giveUp(id, now: now) }
                }
            }
            if !hasGranted { return nil }
        }
    }

    private mutating func start(_ id: ID, now: Instant) -> Step {
        ends.remove(id)
        if let request = requests[id], let pool = request.pool {
            started(request, at: pool, now: now)
            if pool.waiting > 0 { pool.checkAt = Instant.earliest(pool.checkAt, now + pool.overdueAfter) }
        }
        return .start(id)
    }

    private func started(_ request: Request, at pool: Pool, now: Instant) {
        request.startedAt = now
        if pool.answers.owedSince == nil { pool.answers.owedSince = now }
    }

    private mutating func expire(_ id: ID) -> Step {
        if let request = requests[id] { remove(id, request) }
        expired += 1
        return .expire(id)
    }

    // MARK: overdue requests

    /// Returns the running request that gives its place to the next one; nil: each running request may still be
    /// answered. Sets when that may change.
    private func overdue(of pool: Pool, now: Instant) -> ID? {
        guard let waiting = pool.next else { return nil }
        let limits = (pool.overdueAfter, max(pool.overdueAfter, RequestQueue.silenceAfter), Bounds.hopelessAfter)
        var checkAt: Instant?
        for hangs in pool.usual.waitingCount > 0 ? [true, false] : [true] {
            var candidate = pool.running(after: nil, hangs: hangs)
            while let id = candidate {
                candidate = pool.running(after: id, hangs: hangs)
                // A request that waits for its place in `all` has no start.
                guard let startedAt = requests[id]?.startedAt else { continue }
                for limit in [limits.0, limits.1, limits.2] where startedAt + limit > now {
                    checkAt = Instant.earliest(checkAt, startedAt + limit)
                    break
                }
                if startedAt + limits.0 <= now, mayGiveUp(id, startedAt, for: waiting, at: pool, now: now) { return id }
            }
        }
        pool.setChecked(until: checkAt)
        return nil
    }

    /// Whether a request that is overdue makes room for the waiting one.
    private func mayGiveUp(
        _ id: ID, _ startedAt: Instant, for waiting: ID, at pool: Pool, now: Instant
    ) -> Bool {
        // A request that gave up its own place takes no other request's place.
        guard let request = requests[id], let next = requests[waiting], !next.wasSuspended else { return false }
        // Requests that are sent after a silence are answered sooner.
        if let endedAt = pool.answers.silenceEndedAt, startedAt <= endedAt { return true }
        let isHopeless = startedAt + Bounds.hopelessAfter <= now
        let isSilent = pool.answers.at.map { $0 < startedAt } ?? true
        if request.hangs != next.hangs || isHopeless && isSilent { return true }
        guard !isSameHolder(request.holder, next.holder) else { return false }
        if isHopeless || isSilent && startedAt + RequestQueue.silenceAfter <= now { return true }
        if request.parents.allSatisfy({ pool.answers.include(otherThan: $0, since: startedAt) }) { return true }
        return request.hangs ? pool.hanging.outweighs(id, waiting) : pool.usual.outweighs(id, waiting)
    }

    private func isSameHolder(_ one: ShareHolder, _ other: ShareHolder) -> Bool {
        one.client == other.client && one.parent == other.parent
    }

    /// Gives the place of a running request to the next one. The running one waits for another place, once, unless its
    /// name hangs.
    private mutating func giveUp(_ id: ID, now: Instant) -> Step? {
        guard let request = requests[id], let pool = request.pool, let startedAt = request.startedAt else { return nil }
        let waiting = pool.usual.next
        displaced += 1
        noteHang(of: request, at: pool, startedAt: startedAt, now: now)
        defer { if let waiting { hand(to: waiting) } }
        guard !request.hangs, !request.wasSuspended else {
            remove(id, request)
            return .displace(id)
        }
        request.wasSuspended = true
        suspend(id)
        return .suspend(id)
    }

    /// Gives a place in its pool to a waiting request. Otherwise the request that gave up the place might be the next.
    private mutating func hand(to id: ID) {
        guard let request = requests[id], !request.hangs else { return }
        request.pool?.usual.hold(id)
        all.add(id, for: request.holder)
    }

    /// Lets a running request wait for another place.
    mutating func suspend(_ id: ID) {
        guard requests.indices.contains(id), let request = requests[id] else { return }
        request.startedAt = nil
        all.remove(id)
        if let until = request.until { ends.set(until, for: id) }
        guard let pool = request.pool else { return }
        if pool.waiting == 0 { pool.forgetCheck() }
        pool.inQueue(request.hangs) { $0.suspend(id) }
    }

    // MARK: what answers and silences show

    private mutating func noteAnswer(of request: Request, at pool: Pool, startedAt: Instant, now: Instant) {
        pool.latency.measure(startedAt.duration(to: now), now: now)
        if let owedSince = pool.answers.owedSince, owedSince + Bounds.hopelessAfter <= now {
            pool.answers.silenceEndedAt = now
        }
        pool.answers.owedSince = pool.running == 0 ? nil : now
        pool.answers.count += 1
        request.answered(&pool.answers, now: now)
        if pool.answers.isFull {
            let starts = requests.lazy.compactMap { $0?.pool === pool ? $0?.startedAt : nil }
            pool.answers.forget(before: starts.min() ?? now)
        }
        guard !suspectUntil.isEmpty || !hangs.isEmpty else { return }
        for parent in request.parents {
            let name = PoolName(pool: pool.id, parent: parent)
            if !suspectUntil.isEmpty { suspectUntil[name] = nil }
            guard !hangs.isEmpty, var hang = hangs[name] else { continue }
            hang.weight -= 1
            hangs[name] = hang.weight > 0 ? hang : nil
            if hang.weight == 0 { move(name, toHanging: false) }
        }
    }

    /// Records that names of the request's parent hang, if the provider answered other names meanwhile. The parents of
    /// a shared request are only suspected.
    private mutating func noteHang(of request: Request, at pool: Pool, startedAt: Instant, now: Instant) {
        let parents = request.parents
        for parent in parents where pool.answers.include(otherThan: parent, since: startedAt) {
            let name = PoolName(pool: pool.id, parent: parent)
            guard parents.count == 1 else {
                suspect(name, now: now)
                continue
            }
            var hang = hangs[name] ?? Hang(until: now)
            let isNew = hang.until <= now
            hang.weight = min(isNew ? 2 : hang.weight + 2, RequestQueue.maxHangWeight)
            hang.until = now + RequestQueue.hangMemory
            if hangs[name] == nil, hangs.count >= RequestQueue.maxHangs {
                hangs = hangs.filter { now < $0.value.until }
                guard hangs.count < RequestQueue.maxHangs else { return }
            }
            hangs[name] = hang
            if isNew { move(name, toHanging: true) }
        }
    }

    /// Moves the requests of a parent between the two queues of the pool.
    private mutating func move(_ name: PoolName, toHanging hangs: Bool) {
        pool(name.pool)?.forgetCheck()
        for (id, request) in requests.enumerated() {
            guard let request, let pool = request.pool, request.hangs != hangs, pool.id == name.pool,
                request.holder.parent == name.parent, !request.holder.isKnown
            else { continue }
            let isRunning = pool.inQueue(request.hangs) { queue in
                defer { queue.remove(id) }
                return queue.isHeld(id)
            }
            request.hangs = hangs
            pool.inQueue(hangs) { queue in
                queue.add(id, for: request.holder)
                if isRunning { queue.hold(id) }
            }
        }
    }

    private mutating func suspect(_ name: PoolName, now: Instant) {
        if suspectUntil[name] == nil, suspectUntil.count >= RequestQueue.maxHangs {
            suspectUntil = suspectUntil.filter { now < $0.value }
            guard suspectUntil.count < RequestQueue.maxHangs else { return }
        }
        suspectUntil[name] = now + RequestQueue.hangMemory
    }
}
