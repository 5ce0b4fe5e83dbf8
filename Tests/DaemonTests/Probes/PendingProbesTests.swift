// The commands `verify`, `report`, `verdicts` and `whois` over the slow path: the shares of users, and the replies to
// clients.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Testing

@testable import Daemon

struct PendingProbesTests {
    private let stand: ResolvingStand
    private let pending: PendingProbes
    private let name: Name
    private let address = Address.v4(0xC000_0201)
    private let now = Clock.now()

    init() throws {
        stand = try ResolvingStand()
        pending = PendingProbes(stand.resolving)
        name = try #require(Name("a.example"))
    }

    private func text(_ stream: ControlStream) -> String { String(decoding: stream.unsent, as: UTF8.self) }

    @Test("a report of an address that no answer has led to is refused, and counted")
    func unknownAddress() throws {
        let stream = try pending.report(name, address, by: 7, wantsJSON: false, now: now)
        #expect(text(stream) == "error: no known answer for a.example contains 192.0.2.1\n" && stream.isFinished)
        let object = try pending.report(name, address, by: 7, wantsJSON: true, now: now)
        #expect(text(object) == "{\"error\":\"no known answer for a.example contains 192.0.2.1\"}\n")
        #expect(pending.reportsRefused == 2 && pending.reportsAccepted == 0 && pending.nextDeadline == nil)
    }

    @Test("a user that reports too often is refused with the reason, and others are not")
    func tooManyReports() throws {
        for _ in 0..<10 { _ = try pending.report(name, address, by: 7, wantsJSON: false, now: now) }
        let refusal = #expect(throws: Refusal.self) {
            _ = try pending.report(name, address, by: 7, wantsJSON: true, now: now)
        }
        #expect(refusal?.reason == "too many reports by user 7; allowed: one in 1 s, and 10 at once")
        #expect(pending.reportsRefused == 11)
        _ = try pending.report(name, address, by: 8, wantsJSON: false, now: now)
    }

    @Test("a name that does not resolve is refused after 5 s, with a check every 100 ms")
    func unresolved() throws {
        let stream = try pending.verify(name, wantsJSON: false, now: now)
        var looks = 0
        while let deadline = pending.nextDeadline, looks < 100 {
            pending.timePassed(now: deadline)
            looks += 1
        }
        #expect(looks == 50 && stream.isFinished)
        #expect(text(stream) == "error: no address of a.example was found within 5 s\n")
    }

    @Test("16 names are verified at once, and a client that goes makes room")
    func bound() throws {
        let streams = try (0..<16).map { _ in try pending.verify(name, wantsJSON: false, now: now) }
        let refusal = #expect(throws: Refusal.self) { _ = try pending.verify(name, wantsJSON: true, now: now) }
        #expect(refusal?.reason == "16 names are being verified; wait for one to end")
        #expect(try pending.report(name, address, by: 7, wantsJSON: false, now: now).isFinished)
        streams[3].connectionClosed()
        _ = try pending.verify(name, wantsJSON: false, now: now)
        for stream in streams { stream.connectionClosed() }
        #expect(pending.reportsAccepted == 0)
    }

    @Test("whois finds names in the cache by their addresses, each once, in as many pieces as it takes")
    func whois() throws {
        let other = Address.v4(0xC000_0202)
        let sixth = Address.v6(high: 0x2001_0DB8_0000_0000, low: 1)
        for number in 0..<100 {
            let name = try #require(Name("n\(number).example"))
            let addresses = number.isMultiple(of: 10) ? [other, address] : [other]
            stand.keep(Question(name, .a), from: .provider, addresses: addresses, now: now)
            stand.keep(Question(name, .aaaa), from: .system, addresses: [sixth], now: now)
        }
        stand.keep(Question(try #require(Name("n10.example")), .a), from: .system, addresses: [address], now: now)
        func told(_ address: Address) -> [String] {
            let pieces = ListingPages.whois(address, stand.cache, stand.resolving, wantsJSON: false, now: now)
            return pieces.joined().split(separator: "\n").map(String.init)
        }
        let names = stride(from: 0, to: 100, by: 10).map { "n\($0).example" }
        #expect(
            Set(told(address).dropLast().compactMap { $0.split(separator: " ").first }) == Set(names.map { $0[...] }))
        #expect(told(address).last == "; 10 names" && told(address).contains("n20.example A fresh provider 0s"))
        #expect(told(other).count == 101)
        #expect(told(sixth).count == 101 && told(sixth)[0].hasSuffix(".example AAAA fresh system 0s"))
        #expect(told(.v4(1)) == ["error: no known name resolved to 0.0.0.1"])
    }

    @Test("of a name of which nothing is known there is no verdict")
    func noVerdicts() {
        func told(_ name: Name?) -> String {
            ListingPages.verdicts(stand.resolving, on: name, wantsJSON: false, now: now).joined()
        }
        #expect(told(name) == "error: no verdict for a.example\n" && told(nil) == "; 0 addresses\n")
    }
}
