// The questions that count for an account's bill, and the counts if the store is late.

import DNSWire
import LinuxIO
import Settings
import Store
import TestSupport
import Testing

@testable import Daemon
@testable import Resolver
@testable import Upstreams

@Suite("Billing")
struct BillingTests {
    private let folder = TemporaryFolder()
    private let now = Clock.now()
    private let note = "billed by vendor"

    private var path: String { folder("cache.db") }

    /// An account at a vendor that receives requests and never replies.
    private struct Account {
        let stand: ResolvingStand
        let server: ProbedServer
        let provider: Provider
        let billing: Billing

        var fetches: ProviderFetches { stand.resolving.upstreams.providers }
        var total: Int? { billing.questions(of: provider)?.total(.month) }

        init(_ stand: ResolvingStand, now: Instant) throws {
            self.stand = stand
            server = try ProbedServer(.silent, stand.resolving.loop)
            var settings = Settings.Provider.builtIn[0]
            (settings.name, settings.dialect, settings.addresses) = ("vendor", .doh, [.v4(0x7F00_0001)])
            settings.quota = .init(1000, per: .month)
            settings.url = .init(isSecure: false, host: .name("provider.example"), port: server.port, path: "/q")
            try stand.setProviders([settings], now: now)
            provider = try #require(stand.resolving.upstreams.providers.providers.first)
            billing = stand.resolving.upstreams.billing
        }

        /// Counts the reported questions, then stores the counts.
        func save(now: Instant) {
            for case .upstream(.provider(.billed(let provider, let causes))) in stand.outbox.takeAll() {
                billing.billed(provider, causes, now: now)
            }
            billing.save()
            stand.carryOut(now: now)
        }

        func start(_ number: UInt64, now: Instant) throws -> FetchID {
            let name = try #require(Name("www.d\(number).example"))
            let id = FetchID(number: number)
            fetches.start(id, Question(name, .a), provider.id, .client, now: now)
            return id
        }

        /// Waits until the vendor has received that many requests.
        func wait(forRequests count: Int) throws {
            try stand.wait { server.speakerCount == count }
        }
    }

    private func stored() throws -> Int? {
        var store = EntryStore(path: path)
        return try store.notes()[note].flatMap { BilledQuestions(text: $0)?.total(.month) }
    }

    @Test("counts made while the store can't be read are added to the stored ones, and never replace them")
    func lateStore() throws {
        let wall = Clock.wallMilliseconds()
        var earlier = BilledQuestions(unixMilliseconds: wall)
        earlier.add(100, .client, unixMilliseconds: wall)
        let other = try ResolvingStand(storeAt: path)
        let holder = try #require(other.resolving.store)
        holder.note(note, earlier.text, now: now)
        try other.wait { holder.counts.batches > 0 }

        let account = try Account(ResolvingStand(storeAt: path), now: now)
        let store = try #require(account.stand.resolving.store)
        var isRead = false
        let takeEvents = {
            for event in store.takeEvents() {
                if case .notes(let notes) = event { account.billing.restore(notes, now: now) }
                if case .loaded = event { isRead = true }
            }
        }
        try account.stand.wait { store.counts.failures > 0 }
        try account.stand.loopOnce()
        takeEvents()
        let fetch = try account.start(1, now: now)
        try account.wait(forRequests: 1)
        account.fetches.abandon(fetch, now: now)
        account.save(now: now)
        holder.stop()
        try account.stand.wait {
            store.note("unrelated", "x", now: now)
            takeEvents()
            return isRead
        }
        #expect(account.total == 101)
        account.save(now: now)
        store.stop()
        #expect(try stored() == 101)
    }

    @Test("a question that is given up counts if its request has left, and then once")
    func givenUp() throws {
        let account = try Account(ResolvingStand(), now: now)
        account.fetches.abandon(try account.start(1, now: now), now: now)
        account.save(now: now)
        #expect(account.total == 0, "it was not connected")
        let fetch = try account.start(2, now: now)
        try account.wait(forRequests: 1)
        account.save(now: now)
        #expect(account.total == 0, "it may still fail")
        account.fetches.abandon(fetch, now: now)
        account.save(now: now)
        #expect(account.total == 1)
    }

    @Test("a request that is in flight at the end of the process counts")
    func inFlightAtEnd() throws {
        let account = try Account(ResolvingStand(), now: now)
        _ = try account.start(1, now: now)
        try account.wait(forRequests: 1)
        account.fetches.stop(now: now)
        account.save(now: now)
        #expect(account.total == 1)
    }
}

extension ResolvingStand {
    fileprivate func loopOnce() throws { try resolving.loop.turn(until: Clock.now() + .milliseconds(5)) }

    fileprivate func wait(until isTrue: () -> Bool) throws {
        let deadline = Clock.now() + .seconds(20)
        while !isTrue(), Clock.now() < deadline { try loopOnce() }
        try #require(isTrue())
    }
}
