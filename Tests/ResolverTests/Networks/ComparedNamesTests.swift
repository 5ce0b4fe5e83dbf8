// What is a name of the network, and what is not, for each kind of answer; suffixes, bounds, portals and networks.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Compared names")
struct ComparedNamesTests {
    private var compared = ComparedNames()
    /// The questions to which a provider gave records last.
    private var provided: Set<Question> = []
    private var publicNames: Set<Name> { Set(provided.map(\.name)) }
    private var now = Instant.testStart
    private static let provider = Source.provider(ProviderID(0))

    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    /// Records addresses, or a denial for none.
    private mutating func said(
        _ text: String, _ addresses: [String], by source: Source, kind: Answer.Kind = .noSuchName,
        type: RecordType = .a, ttl: UInt32 = 60, remark: ExtendedError? = nil
    ) throws {
        let name = try name(text)
        let records = try addresses.map {
            ResourceRecord(owner: name, address: try #require(Address($0)), ttlSeconds: ttl)
        }
        let answer =
            records.isEmpty ? Answer(negative: kind, ttlSeconds: ttl) : Answer(records: records)
        let isUsable = source == .system || records.isEmpty || answer.addresses.contains { !$0.isPrivate }
        let (question, isPublic) = (Question(name, type), publicNames.contains(name))
        _ = compared.heard(
            question, answer.remarked(remark), isUsable: isUsable, from: source, isPublic: isPublic,
            isLocal: source == .system, isRouted: false, isAsked: source != .system, includesPublic: false, now: now)
        guard source != .system else { return }
        if records.isEmpty || !isUsable { provided.remove(question) } else { provided.insert(question) }
    }

    private mutating func here(_ text: String, _ addresses: String..., type: RecordType = .a, ttl: UInt32 = 60) throws {
        try said(text, addresses, by: .system, type: type, ttl: ttl)
    }

    private mutating func elsewhere(
        _ text: String, _ addresses: String..., kind: Answer.Kind = .noSuchName, type: RecordType = .a,
        remark: ExtendedError? = nil
    ) throws {
        try said(text, addresses, by: ComparedNamesTests.provider, kind: kind, type: type, remark: remark)
    }

    /// The system resolver's answer about a name that does not exist.
    private mutating func controlled(_ addresses: String...) throws {
        let records = try addresses.map {
            ResourceRecord(owner: .root, address: try #require(Address($0)), ttlSeconds: 60)
        }
        let answer = records.isEmpty ? Answer(negative: .noSuchName) : Answer(records: records)
        for type in [RecordType.a, .aaaa] { compared.controlled(type, answer, now: now) }
    }

    private mutating func found(_ text: String, _ address: String, _ verdict: Verdict) throws {
        compared.found(ProbeTarget(try name(text), try #require(Address(address)), port: 443), verdict, now: now)
    }

    private func kinds(behind prefixes: [NAT64Prefix] = []) -> [String: SplitName.Kind] {
        let names = compared.splitHorizon(behind: prefixes, announced: [], publicNames: publicNames).names
        return Dictionary(uniqueKeysWithValues: names.map { ($0.name.description, $0.kind) })
    }

    private func suffixes(announced: [String] = []) throws -> [String] {
        let found = compared.splitHorizon(behind: [], announced: try announced.map(name), publicNames: publicNames)
        return found.suffixes.map(\.name.description)
    }

    @Test("private addresses of a denied name, of every block of a network; without a control nothing is listed")
    mutating func onlyHere() throws {
        let addresses = ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fd00::1"]
        for (number, address) in addresses.enumerated() {
            let text = "n\(number).site\(number).com"
            let type: RecordType = address.contains(":") ? .aaaa : .a
            try elsewhere(text, type: type)
            try here(text, address, type: type)
        }
        #expect(kinds().isEmpty)
        try controlled()
        #expect(Set(kinds().keys) == Set(addresses.indices.map { "n\($0).site\($0).com" }))
        #expect(kinds().values.allSatisfy { $0 == .onlyHere })
    }

    @Test("addresses that no host of a network has: a filter's, a program's that invents addresses, NAT64")
    mutating func noHosts() throws {
        try controlled()
        for (number, address) in ["0.0.0.0", "127.0.0.1", "198.18.3.4", "169.254.1.1", "240.0.0.1"].enumerated() {
            try elsewhere("a.site\(number).com")
            try here("a.site\(number).com", address)
        }
        try elsewhere("six.com", kind: .noData, type: .aaaa)
        try here("six.com", "64:ff9b::1402:304", type: .aaaa)
        try elsewhere("seven.com", kind: .noData, type: .aaaa)
        try here("seven.com", "fd64::1402:304", type: .aaaa)
        let prefix = try #require(Prefix("fd64::/96").flatMap { NAT64Prefix($0) })
        #expect(kinds(behind: [prefix]).isEmpty)
        #expect(kinds() == ["seven.com": .onlyHere])
    }

    @Test("a public address of a denied name counts after both have said so for an hour and longer than the TTL")
    mutating func publicAddress() throws {
        try controlled()
        for (seconds, isFound) in [(0, false), (3599, false), (3600, false), (7199, false), (7200, true)] {
            now = .testStart + .seconds(seconds)
            try elsewhere("new.site.com")
            try here("new.site.com", "20.1.1.1", ttl: 7200)
            #expect((kinds() == ["new.site.com": .onlyHere]) == isFound, "\(seconds) s")
        }
        // Between two denials the providers had the name: the zone has expired, or was emptied.
        try elsewhere("new.site.com", "20.1.1.1")
        try elsewhere("new.site.com")
        #expect(kinds().isEmpty)
    }

    @Test("no data counts for the families that the network has; for a public address, for both")
    mutating func noData() throws {
        try controlled()
        try elsewhere("a.site.com", kind: .noData, type: .aaaa)
        try here("a.site.com", "10.0.0.1")
        #expect(kinds().isEmpty)
        try elsewhere("a.site.com", kind: .noData)
        #expect(kinds() == ["a.site.com": .onlyHere])
    }

    @Test("a blocked name is none of the network, in whichever form it is blocked")
    mutating func blocked() throws {
        try controlled()
        for (number, remark) in [ExtendedError.blockedByRule, .censoredByRule, .filteredByRule].enumerated() {
            try elsewhere("a.site\(number).com", remark: remark)
            try here("a.site\(number).com", "10.0.0.1")
        }
        for (number, address) in ["0.0.0.0", "127.0.0.1", "10.9.9.9"].enumerated() {
            try elsewhere("b.site\(number).com", address)
            try here("b.site\(number).com", "10.0.0.1")
        }
        #expect(kinds().isEmpty)
    }

    @Test("other addresses: private ones count, public ones if verified while the providers' stay bad for ten minutes")
    mutating func otherwise() throws {
        try controlled()
        for text in ["private.com", "same.com"] { try here(text, "10.0.0.1") }
        try elsewhere("private.com", "20.0.0.1")
        try elsewhere("same.com", kind: .noData)
        for text in ["edge.com", "moved.com", "down.com", "forged.com"] {
            try here(text, "30.0.0.1")
            try elsewhere(text, "20.0.0.1")
        }
        for minute in [0, 10] {
            now = .testStart + .seconds(60 * minute)
            for text in ["edge.com", "moved.com", "down.com"] { try found(text, "30.0.0.1", .verified) }
            try found("forged.com", "30.0.0.1", .nameMismatch)
            try found("edge.com", "20.0.0.1", .verified)
            try found("moved.com", "20.0.0.1", .timeout)
            if minute == 10 { try found("down.com", "20.0.0.1", .timeout) }
        }
        #expect(kinds()["private.com"] == .privateHere)
        #expect(kinds()["moved.com"] == .verifiedHere)
        #expect(kinds().keys.filter { ["edge.com", "down.com", "forged.com"].contains($0) } == [])
    }

    @Test("one address for three unrelated domains is no host's, and names below one top level are related")
    mutating func shared() throws {
        try controlled()
        for text in ["a.one.com", "a.two.com", "git.corp", "wiki.corp", "ci.corp"] {
            try elsewhere(text)
            try here(text, text.hasSuffix("corp") ? "10.0.0.1" : "10.0.0.2")
        }
        #expect(kinds().count == 5)
        try elsewhere("a.three.com")
        try here("a.three.com", "10.0.0.2")
        #expect(Set(kinds().keys) == ["git.corp", "wiki.corp", "ci.corp"])
    }

    @Test("where names that do not exist get addresses, a public one must be verified, and none may be near those")
    mutating func inventions() throws {
        try controlled("20.66.0.1")
        for step in [0, 1, 2] {
            now = .testStart + .seconds(3600 * step)
            for text in ["a.com", "b.com", "c.com", "d.com"] { try elsewhere(text) }
            try here("a.com", "20.66.7.7")
            try here("b.com", "30.0.0.1")
            try here("c.com", "10.0.0.1")
            try here("d.com", "40.0.0.1")
        }
        try found("d.com", "40.0.0.1", .verified)
        #expect(Set(kinds().keys) == ["c.com", "d.com"])
        try controlled("10.66.0.1")
        #expect(Set(kinds().keys) == ["d.com"])
    }

    @Test("a suffix has three labels with names of the network, no name of the providers, and is no public suffix")
    mutating func suffixesOfNames() throws {
        try controlled()
        func add(_ texts: String...) throws {
            for (number, text) in texts.enumerated() {
                try elsewhere(text)
                try here(text, "10.0.\(number).\(text.count)")
            }
        }
        try add("a.corp.site.com", "b.corp.site.com")
        #expect(try suffixes() == [])
        #expect(try suffixes(announced: ["corp.site.com", "com", "none.com"]) == ["corp.site.com"])
        try add("x.c.corp.site.com")
        #expect(try suffixes() == ["corp.site.com"])
        try elsewhere("www.site.com", "20.0.0.1")
        try add("d.site.com", "e.site.com")
        #expect(try suffixes() == ["corp.site.com"])
        try elsewhere("b.c.corp.site.com", "20.0.0.1")
        #expect(try suffixes() == [])
        try add("one.co.uk", "two.co.uk", "three.co.uk", "one.plant", "two.plant", "three.plant")
        #expect(try suffixes() == ["plant"])
    }

    @Test("a suspected portal's answers are forgotten, as are those of removed providers")
    mutating func portal() throws {
        try controlled()
        try elsewhere("a.com")
        try here("a.com", "10.0.0.1")
        now += .seconds(100)
        try elsewhere("b.com")
        try here("b.com", "10.0.0.2")
        try controlled()
        compared.forgetLocal(since: now - .seconds(30))
        try controlled()
        #expect(Set(kinds().keys) == ["a.com"])
        compared.keep([])
        #expect(kinds().isEmpty)
    }

    @Test("the table keeps names of the network when others fill it, and a network that was left remembers them")
    mutating func bound() throws {
        try controlled()
        try elsewhere("git.corp")
        try here("git.corp", "10.0.0.1")
        for number in 0..<(2 * Bounds.maxComparedNames) {
            now += .milliseconds(1)
            try elsewhere("www.site\(number).com")
        }
        #expect(compared.entries.count == Bounds.maxComparedNames)
        #expect(kinds() == ["git.corp": .onlyHere])
        compared = compared.remembered
        #expect(compared.entries.count == 1)
        #expect(kinds() == ["git.corp": .onlyHere])
        // The table of the network that is in use again finds its entries.
        try elsewhere("git.corp", "20.0.0.1")
        #expect(kinds() == ["git.corp": .privateHere])
    }

    @Test("a name that providers have takes no place, also if they have no address of one family or deny it later")
    mutating func ordinary() throws {
        try elsewhere("www.site.com", "20.0.0.1")
        try elsewhere("www.site.com", kind: .noData, type: .aaaa)
        #expect(compared.entries.isEmpty)
        try elsewhere("www.site.com")
        #expect(compared.entries.map(\.isPublic) == [true])
        let question = Question(try name("www.site.com"), .a)
        for _ in 0..<4 {
            now += .seconds(2)
            try elsewhere("www.site.com")
        }
        #expect(!compared.isComparisonDue(question, includesPublic: false, now: now))
    }

    @Test("a name is compared from the third client's query on, and no more than once in the pause")
    mutating func due() throws {
        let question = Question(try name("git.corp"), .a)
        for ask in 1...3 {
            now += .seconds(2)
            try elsewhere("git.corp")
            // The other family at the same time.
            try elsewhere("git.corp", type: .aaaa)
            #expect(compared.isComparisonDue(question, includesPublic: false, now: now) == (ask == 3))
        }
        #expect(!compared.isComparisonDue(question.with(.aaaa), includesPublic: false, now: now))
        compared.compared(question, now: now)
        #expect(!compared.isComparisonDue(question, includesPublic: false, now: now + .seconds(599)))
        #expect(compared.isComparisonDue(question, includesPublic: false, now: now + .seconds(600)))
        try here("git.corp")
        compared.scheduleComparison(question, now: now)
        #expect(!compared.isComparisonDue(question, includesPublic: false, now: now + .seconds(6 * 3600 - 1)))
        #expect(compared.isComparisonDue(question, includesPublic: false, now: now + .seconds(6 * 3600)))
        #expect(compared.isComparisonDue(question.with(.aaaa), includesPublic: false, now: now))
    }
}
