// The requests that run, wait, and give up their places, on virtual time.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Upstreams

@Suite("Request queue")
struct RequestQueueTests {
    private static let pool = ProviderID(0)
    private var queue = RequestQueue()
    private let start = Instant.testStart
    private var next = 0

    private func at(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    private func holder(_ name: String, of client: UInt32? = nil, isKnown: Bool = false) throws -> ShareHolder {
        ShareHolder(try #require(Name(name)), client.map { ClientID(.v4($0)) }, isKnown: isKnown)
    }

    /// Adds a request of a provider with eight connections.
    @discardableResult
    private mutating func add(
        _ name: String, of client: UInt32? = nil, with others: [String] = [], at milliseconds: Int, places: Int = 8,
        isKnown: Bool = false
    ) throws -> [RequestQueue.Step] {
        let request = RequestQueue.Request(
            try holder(name, of: client, isKnown: isKnown), try others.map { try holder($0) })
        let (places, until) = ((now: places, most: places), at(milliseconds + 4450))
        let now = at(milliseconds)
        defer { next += 1 }
        if queue.start(next, request, at: RequestQueueTests.pool, places: places, until: until, now: now) {
            return [.start(next)] + steps(at: milliseconds)
        }
        queue.add(next, request, to: RequestQueueTests.pool, places: places, until: until, now: now)
        return steps(at: milliseconds)
    }

    private mutating func steps(at milliseconds: Int) -> [RequestQueue.Step] {
        var steps: [RequestQueue.Step] = []
        while let step = queue.next(now: at(milliseconds)) { steps.append(step) }
        return steps
    }

    /// Gives earlier answers of 40 ms, so that the provider is measured.
    private mutating func measure() throws {
        for number in 0..<8 {
            try add("n.early\(number).example", at: -1000)
            queue.end(next - 1, .answered, now: at(-960))
        }
    }

    /// Makes names of this parent, and of no other, time out at 3 s.
    private mutating func hang(_ parent: String) throws {
        try measure()
        try add("n.\(parent)", at: 0)
        try add("www.good.example", at: 10)
        queue.end(9, .answered, now: at(50))
        queue.end(8, .timedOut, now: at(3000))
    }

    @Test("requests begin at once while there are places, for any client")
    mutating func room() throws {
        for number in 0..<8 { #expect(try add("n\(number).one.example", at: 0) == [.start(number)]) }
        #expect(queue.nextDeadline == nil)
        #expect(try add("n8.one.example", at: 1).isEmpty)
        queue.end(3, .answered, now: at(20))
        #expect(steps(at: 20) == [.start(8)] && queue.runningCount == 8 && queue.waitingCount == 0)
    }

    @Test("a question waits for its place until its deadline, and no longer")
    mutating func patience() throws {
        for number in 0..<8 { try add("n\(number).one.example", at: 2000) }
        queue.add(
            8, RequestQueue.Request(try holder("n8.one.example")), to: RequestQueueTests.pool, places: (8, 8),
            until: at(4450), now: at(2000))
        next += 1
        #expect(steps(at: 4449).isEmpty && queue.waitingCount == 1)
        #expect(steps(at: 4450) == [.expire(8)] && queue.expired == 1 && queue.waitingCount == 0)
    }

    @Test("what was sent stays though newer names of its holder wait, whatever its age")
    mutating func sent() throws {
        try measure()
        for number in 0..<8 { try add("n\(number).one.example", at: number) }
        for number in 8..<60 { #expect(try add("n\(number).one.example", at: 100).isEmpty) }
        queue.end(8, .answered, now: at(250))
        #expect(steps(at: 250) == [.start(16)])
        #expect(steps(at: 2490).isEmpty && queue.displaced == 0)
    }

    @Test("an overdue request of the larger holder gives its place to another one, and waits for the next")
    mutating func overdue() throws {
        try measure()
        for number in 0..<8 { try add("n\(number).one.example", at: number) }
        #expect(try add("www.good.example", at: 10).isEmpty)
        #expect(queue.nextDeadline == at(200), "three times 40 ms, not below 200")
        #expect(steps(at: 199).isEmpty)
        #expect(steps(at: 200) == [.suspend(8), .start(16)])
        #expect(queue.displaced == 1 && queue.runningCount == 8 && queue.waitingCount == 1)
        queue.end(16, .answered, now: at(240))
        #expect(steps(at: 240) == [.start(8)])
    }

    @Test("holders with equal numbers wait for each other while the provider is slow for all")
    mutating func slowForAll() throws {
        try measure()
        for number in 0..<8 { try add("n.d\(number).example", at: number) }
        try add("n.d8.example", at: 10)
        #expect(steps(at: 600).isEmpty)
        queue.end(8, .answered, now: at(700))
        #expect(steps(at: 700) == [.start(16)])
        try add("n.d9.example", at: 710)
        #expect(steps(at: 1999).isEmpty, "three times 700 ms")
    }

    @Test("a request that gives its place up does not get it back before the one that waits")
    mutating func handsOver() throws {
        try measure()
        for number in 0..<8 { try add("n.d\(number).example", at: number) }
        try add("n.d8.example", at: 10)
        #expect(steps(at: 1100) == [.suspend(8), .start(16)])
        #expect(queue.runningCount == 8 && queue.waitingCount == 1)
    }

    @Test("nor does one for a known name, while the provider answers others")
    mutating func handsOverOfKnownNames() throws {
        try measure()
        for number in 0..<8 { try add("n.d\(number).example", at: number, isKnown: true) }
        try add("n.d8.example", at: 10)
        queue.end(8, .answered, now: at(150))
        #expect(steps(at: 150) == [.start(16)])
        try add("n.d9.example", at: 200)
        #expect(steps(at: 500).prefix(2) == [.suspend(9), .start(17)])
    }

    @Test("nothing gives its place up that would free none")
    mutating func fewerPlaces() throws {
        try measure()
        for number in 0..<8 { try add("n\(number).one.example", of: 1, at: number) }
        queue.set((4, 8), of: RequestQueueTests.pool)
        try add("n.other.example", of: 2, at: 10, places: 4)
        #expect(steps(at: 1100).isEmpty)
    }

    @Test("a parent that hangs holds half of the places while the provider answers others, and is tried on")
    mutating func hanging() throws {
        try measure()
        for number in 0..<6 { try add("n\(number).hang.example", of: 1, at: 0) }
        try add("www.good.example", of: 1, at: 10)
        queue.end(14, .answered, now: at(50))
        for number in 0..<4 { try add("m\(number).hang.example", of: 2, at: 60) }
        #expect(queue.runningCount == 8 && queue.waitingCount == 2)
        #expect(try add("www.good.example", of: 1, at: 250).first == .displace(8))
        let hang = try #require(Name("hang.example"))
        #expect(queue.hangs(hang, at: RequestQueueTests.pool, now: at(250)))
        // The parent frees its places one by one for others, and keeps some.
        queue.end(19, .answered, now: at(290))
        #expect(steps(at: 290).isEmpty)
        #expect(try add("www.better.example", of: 1, at: 300) == [.start(20)])
        #expect(queue.runningCount <= 6, "\(queue.runningCount) \(queue.waitingCount)")
    }

    @Test("an answer for its parent shows that it does not hang any more")
    mutating func noLonger() throws {
        try hang("slow.example")
        let slow = try #require(Name("slow.example"))
        #expect(queue.hangs(slow, at: RequestQueueTests.pool, now: at(3000)))
        for time in [3100, 3200] {
            try add("n.slow.example", at: time)
            queue.end(next - 1, .answered, now: at(time + 40))
        }
        #expect(!queue.hangs(slow, at: RequestQueueTests.pool, now: at(3300)))
    }

    @Test("names that hang wait in small number, and a known name below their parent goes with the others")
    mutating func surplus() throws {
        try hang("hang.example")
        var steps: [RequestQueue.Step] = []
        for number in 0..<40 { steps += try add("n\(number).hang.example", at: 3001) }
        #expect(steps.filter { if case .start = $0 { true } else { false } }.count == 4)
        #expect(steps.filter { if case .expire = $0 { true } else { false } }.count == 29 && queue.waitingCount == 7)
        #expect(try add("www.hang.example", at: 3002, isKnown: true) == [.start(next - 1)])
    }

    @Test("while a provider answers nothing, time-outs say nothing about a parent")
    mutating func silentProvider() throws {
        try add("n0.slow.example", at: 0)
        queue.end(0, .timedOut, now: at(3000))
        let slow = try #require(Name("slow.example"))
        #expect(!queue.hangs(slow, at: RequestQueueTests.pool, now: at(3000)))
    }

    @Test("after a silence, the requests sent before its end give their places to others of their holder")
    mutating func silence() throws {
        try add("n0.example", at: 0)
        queue.end(0, .answered, now: at(40))
        for number in 1...8 { try add("n\(number).zone.example", at: 5000 + 100 * number) }
        #expect(try add("n9.zone.example", at: 7599).isEmpty)
        #expect(steps(at: 7600) == [.suspend(1), .start(9)])
        queue.end(9, .answered, now: at(7640))
        #expect(steps(at: 7640).first == .start(1))
    }

    @Test("of a shared request that times out each parent is asked alone, and the one that hangs is found")
    mutating func shared() throws {
        let (good, hung) = (try #require(Name("good.example")), try #require(Name("hung.example")))
        let early = try #require(Name("early.example"))
        try add("www.good.example", with: ["hung.example", "early.example"], at: 0)
        queue.leave(0, early)
        queue.end(0, .timedOut, now: at(3000))
        func isAlone(_ parent: Name, _ time: Int) -> Bool {
            queue.isAskedAlone(parent, at: RequestQueueTests.pool, now: at(time))
        }
        #expect(isAlone(good, 3000) && isAlone(hung, 3000) && !isAlone(early, 3000))
        try add("n1.hung.example", at: 3100)
        try add("www.good.example", at: 3100)
        queue.end(2, .answered, now: at(3140))
        #expect(!isAlone(good, 3140))
        queue.end(1, .timedOut, now: at(6100))
        #expect(queue.hangs(hung, at: RequestQueueTests.pool, now: at(6100)) && !isAlone(good, 6100))
    }

    @Test("what cannot be served in time at the present rate is refused at once, the newest of the largest first")
    mutating func rate() throws {
        for number in 0..<8 {
            try add("n\(number).example", at: -1000)
            queue.end(next - 1, .answered, now: at(0))
        }
        for number in 0..<8 { try add("n\(number).one.example", of: 1, at: 0) }
        try add("www.other.example", of: 2, at: 0)
        var expired: [RequestQueue.Step] = []
        for number in 0..<60 { expired += try add("m\(number).one.example", of: 1, at: 0) }
        // Eight places of 1 s each allow 36 requests in 4.5 s.
        #expect(queue.waitingCount == 36 && expired.count == 25 && expired.first == .expire(next - 25))
        queue.end(8, .answered, now: at(900))
        #expect(steps(at: 900) == [.start(16)], "the other client's name")
    }

    @Test("all pools share the bound on requests, and the client with the fewest is next")
    mutating func all() throws {
        queue = RequestQueue(capacity: 2)
        for number in 0..<4 {
            queue.add(
                number, RequestQueue.Request(try holder("n\(number).example", of: number < 3 ? 1 : 2)),
                to: ProviderID(number), places: (8, 8), until: at(4450), now: start)
        }
        #expect(steps(at: 0) == [.start(0), .start(3)] || steps(at: 0).isEmpty)
        #expect(queue.runningCount == 2 && queue.waitingCount == 2)
        queue.end(0, .answered, now: at(10))
        #expect(steps(at: 10) == [.start(1)])
    }

    @Test("requests that start at once leave the queue as those that next() starts", arguments: UInt64(1)...6)
    func atOnce(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var (direct, queued) = (RequestQueue(capacity: 12), RequestQueue(capacity: 12))
        var (running, time): (Set<Int>, Int) = ([], 0)
        for number in 0..<800 {
            time += Int.random(in: 0..<(number % 200 < 100 ? 40 : 400), using: &random)
            let now = at(time)
            var steps: [RequestQueue.Step] = []
            if running.count < 6 || Bool.random(using: &random) {
                let pool = ProviderID(Int.random(in: 0..<2, using: &random))
                let name = "n\(number).d\(Int.random(in: 0..<4, using: &random)).example"
                let client = UInt32.random(in: 1...3, using: &random)
                let requests = try [holder(name, of: client), holder(name, of: client)].map { RequestQueue.Request($0) }
                let until = at(time + 4450)
                if direct.start(number, requests[0], at: pool, places: (8, 8), until: until, now: now) {
                    steps.append(.start(number))
                } else {
                    direct.add(number, requests[0], to: pool, places: (8, 8), until: until, now: now)
                }
                queued.add(number, requests[1], to: pool, places: (8, 8), until: until, now: now)
            } else if let ended = running.sorted().randomElement(using: &random) {
                let end: RequestQueue.End = Int.random(in: 0..<4, using: &random) == 0 ? .timedOut : .answered
                direct.end(ended, end, now: now)
                queued.end(ended, end, now: now)
                running.remove(ended)
            }
            while let step = direct.next(now: now) { steps.append(step) }
            for step in steps {
                #expect(queued.next(now: now) == step)
                switch step {
                case .start(let id): running.insert(id)
                case .suspend(let id), .displace(let id), .expire(let id): running.remove(id)
                }
            }
            #expect(queued.next(now: now) == nil && queued.nextDeadline == direct.nextDeadline)
            #expect(queued.runningCount == direct.runningCount && queued.waitingCount == direct.waitingCount)
        }
        #expect(direct.displaced > 0 && direct.displaced == queued.displaced && direct.expired == queued.expired)
    }
}
