// The command `query` from the request to its last line, over the real cache and resolver.

import Control
import DNSWire
import LinuxIO
import Serving
import Settings
import Testing

@testable import Daemon
@testable import Upstreams

struct PendingQueriesTests {
    private let stand: ResolvingStand
    private let pending: PendingQueries
    private let name: Name
    private let now = Clock.now()

    init() throws {
        stand = try ResolvingStand()
        pending = PendingQueries(stand.resolving)
        name = try #require(Name("www.example.com"))
    }

    /// The stream's lines; durations are replaced by N.
    private func text(_ stream: ControlStream) -> [String] {
        let lines = String(decoding: stream.unsent, as: UTF8.self).split(separator: "\n").map(String.init)
        return lines.map { line in
            line.split(separator: " ").map { Int($0) == nil || line.hasPrefix("www") ? String($0) : "N" }
                .joined(separator: " ")
        }
    }

    @Test("what the cache has is shown with its source, as a client would get it")
    func fromCache() throws {
        stand.keep(Question(name, .a), from: .provider, now: now)
        let stream = try pending.begin(QueryTerms(name, .a), wantsJSON: false, now: now)
        #expect(
            text(stream) == [
                "www.example.com. 600 IN A 192.0.2.1", "; NOERROR for www.example.com A, from cache in N ms",
            ])
        #expect(stream.isFinished && pending.nextDeadline == nil)
        let mailbox = stand.resolving
        #expect(mailbox.clientsWaiting == 0 && mailbox.counted.questionsTaken == 0)
    }

    @Test("without an upstream the failure is shown with its extended error, and counts as one")
    func failure() throws {
        let stream = try pending.begin(QueryTerms(name, .a), wantsJSON: false, now: now)
        #expect(
            text(stream) == [
                "; SERVFAIL for www.example.com A, from local in N ms", "; EDE 22: no upstream answered",
                "error: www.example.com A has no answer: SERVFAIL",
            ])
        let again = try pending.begin(QueryTerms(name, .a), wantsJSON: false, now: now)
        #expect(text(again)[1] == "; EDE 13: it failed a moment ago" && again.isFinished)
    }

    @Test("past the cache an upstream is asked though the cache has an answer")
    func pastTheCache() throws {
        stand.keep(Question(name, .a), from: .provider, now: now)
        let stream = try pending.begin(QueryTerms(name, .a, skipsCache: true), wantsJSON: true, now: now)
        let text = String(decoding: stream.unsent, as: UTF8.self)
        #expect(text.hasPrefix(#"{"ede":{"code":22,"#) && text.contains(#""rcode":"SERVFAIL""#))
    }

    @Test("names of our own are answered by ourselves")
    func local() throws {
        let localhost = try #require(Name("localhost"))
        let stream = try pending.begin(QueryTerms(localhost, .a), wantsJSON: false, now: now)
        #expect(text(stream).last == "; NOERROR for localhost A, from local in N ms")
        let why = try #require(Name("www.example.com.why.httpdnsd"))
        let none = try pending.begin(QueryTerms(why, .a), wantsJSON: false, now: now)
        #expect(text(none).first == "; NODATA: www.example.com.why.httpdnsd has no A records")
        #expect(text(none).last == "; NOERROR for www.example.com.why.httpdnsd A, from local in N ms")
    }

    @Test("what is answered before the cache is by ourselves, also past the cache", arguments: [false, true])
    func beforeCache(skipsCache: Bool) throws {
        func lines(_ type: RecordType, _ name: Name) throws -> [String] {
            text(try pending.begin(QueryTerms(name, type, skipsCache: skipsCache), wantsJSON: false, now: now))
        }
        let any = try lines(.any, name)
        #expect(any.count == 2 && any[0].contains("HINFO") && any[1].contains("ANY, from local"), "\(any)")
        #expect(try lines(.axfr, name).first?.hasPrefix("; REFUSED for www.example.com TYPE252, from local") == true)
        stand.serving.setAAAAFilter(true)
        #expect(try lines(.aaaa, name).last == "; EDE 17: no IPv6 route (filter-aaaa)")
        let locked = try lines(.txt, #require(Name("www.example.com.why.httpdnsd")))
        #expect(locked.contains { $0.hasPrefix("; EDE 18: ") }, "\(locked)")
        let key = stand.resolving.explanations.key.text
        let why = try lines(.txt, #require(Name("www.example.com.\(key).why.httpdnsd")))
        #expect(why.contains { $0.contains("route ") } && why.last?.contains("from local") == true, "\(why)")
    }

    @Test("as JSON a failure is one object that says so")
    func failureAsJSON() throws {
        let stream = try pending.begin(QueryTerms(name, .a), wantsJSON: true, now: now)
        #expect(stream.unsent.filter { $0 == UInt8(ascii: "\n") }.count == 1 && Reply.isRefusal(stream.unsent))
        #expect(String(decoding: stream.unsent, as: UTF8.self).contains(#""error":"www.example.com A has no answer"#))
        stand.keep(Question(name, .a), from: .provider, now: now)
        let found = try pending.begin(QueryTerms(name, .a), wantsJSON: true, now: now)
        #expect(!Reply.isRefusal(found.unsent) && found.isFinished)
    }

    @Test("an unknown provider is refused with those that there are")
    func unknownProvider() throws {
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(2)), now: now)
        let names = stand.resolving.upstreams.providers.providers.map(\.name).joined(separator: ", ")
        do throws(Refusal) {
            _ = try pending.begin(QueryTerms(name, .a, provider: "nobody"), wantsJSON: false, now: now)
            Issue.record("it was not refused")
        } catch {
            #expect(error.reason == "no provider nobody; allowed: \(names)")
        }
    }

    @Test("no more than 16 are under way; one that ends, is left, or takes 5 s makes room")
    func bound() throws {
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        var streams: [ControlStream] = []
        for number in 0..<PendingQueries.maxRunning {
            let name = try #require(Name("n\(number).example.com"))
            streams.append(try pending.begin(QueryTerms(name, .a), wantsJSON: false, now: now))
        }
        #expect(streams.allSatisfy { !$0.isFinished } && stand.resolving.inflight(now: now).total == 16)
        #expect(throws: Refusal.self) { try pending.begin(QueryTerms(name, .a), wantsJSON: false, now: now) }
        streams[0].connectionClosed()
        let late = now + .seconds(1)
        let last = try pending.begin(QueryTerms(name, .a), wantsJSON: false, now: late)
        #expect(pending.nextDeadline == now + PendingQueries.patience)
        pending.timePassed(now: now + PendingQueries.patience)
        #expect(text(streams[1]) == ["error: no answer in N s"] && streams[1].isFinished && !last.isFinished)
        #expect(pending.nextDeadline == late + PendingQueries.patience)
    }

    @Test("one user without all rights has no more than 4 queries in flight")
    func boundOfUser() throws {
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        let begin = { try pending.begin(QueryTerms(name, .a), wantsJSON: false, by: $0, now: now) }
        for _ in 0..<PendingQueries.maxRunningOfUser { _ = try begin(1000) }
        #expect(throws: Refusal.self) { try begin(1000) }
        _ = try begin(1001)
        _ = try begin(nil)
    }

    @Test("unprivileged users together leave room for an operator")
    func boundOfUsers() throws {
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(1)), now: now)
        let begin = { try pending.begin(QueryTerms(name, .a), wantsJSON: false, by: $0, now: now) }
        for user: UInt32 in 1000..<1003 {
            for _ in 0..<PendingQueries.maxRunningOfUser { _ = try begin(user) }
        }
        #expect(throws: Refusal.self) { try begin(1003) }
        for _ in 0..<4 { _ = try begin(nil) }
    }
}
