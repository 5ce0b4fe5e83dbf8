// Answers that depend on the client: each is served only for the subnet that it is for.

import DNSWire
import Serving
import TestSupport
import Testing

@Suite("The part of the cache that is served")
struct ServingStateTests {
    private let near = Address.v4(0xC633_6401)
    private let far = Address.v4(0xCB00_7101)

    private func answer(_ question: Question, _ address: UInt32) -> Answer {
        Answer(records: [ResourceRecord(owner: question.name, address: .v4(address), ttlSeconds: 60)])
    }

    private func asked(_ name: Name) -> [UInt8] { UpstreamQuery.message(for: Question(name, .a), id: 7) }

    @Test("a client gets what is for its subnet, and nothing that is for another or for all")
    func apart() throws {
        let name = try #require(Name("www.example"))
        var stand = ServingStand()
        stand.serving.set(stand.partition, dependsOnClient: true)
        let question = Question(name, .a, from: ClientGroup(of: near))
        stand.keep(answer(question, 1), for: question)
        let query = asked(name)
        let nearby = Address.v4(0xC633_64FF)
        for client in [near, nearby] {
            let outcome = stand.ask(query, from: client).outcome
            #expect(outcome == .answered(.noError), "\(client)")
        }
        for client in [far, ServingStand.loopback] {
            guard case .miss = stand.ask(query, from: client).outcome else {
                Issue.record("an answer for another subnet went to \(client)")
                continue
            }
        }
    }

    @Test("without providers that are told of clients all of them share")
    func shared() throws {
        let name = try #require(Name("www.example"))
        var stand = ServingStand()
        stand.keep(answer(Question(name, .a), 1), for: Question(name, .a))
        for client in [near, far, ServingStand.loopback] {
            let outcome = stand.ask(asked(name), from: client).outcome
            #expect(outcome == .answered(.noError), "\(client)")
        }
        let group = stand.group(of: near)
        #expect(group == .all)
    }

    @Test("clients that hide their subnet have answers of their own if providers get one", arguments: [true, false])
    func hidden(isAuto: Bool) {
        var stand = ServingStand()
        let before = stand.group(of: near, hidesSubnet: true)
        #expect(before == .all)
        stand.serving.set(stand.partition, dependsOnClient: isAuto, sendsSubnet: true)
        var groups: [ClientGroup] = []
        for client in [near, far, ServingStand.loopback] {
            groups.append(stand.group(of: client, hidesSubnet: true))
        }
        #expect(Set(groups) == [ClientGroup(view: 0, hidesSubnet: true)] && groups[0].subnet == nil)
        #expect(groups[0].hidesSubnet && !ClientGroup.all.hidesSubnet && !ClientGroup(of: near).hidesSubnet)
        let partitions = [groups[0], .all, ClientGroup(of: near)].map { stand.serving.partition(for: $0) }
        #expect(Set(partitions).count == 3)
        let open = stand.group(of: near)
        #expect(open == (isAuto ? ClientGroup(of: near) : .all))
    }

    @Test("another partition is another cache, at once")
    func switched() throws {
        let name = try #require(Name("www.example"))
        var stand = ServingStand()
        stand.keep(answer(Question(name, .a), 1), for: Question(name, .a))
        stand.serving.set(Partition(rawValue: 99), dependsOnClient: false)
        guard case .miss = stand.ask(asked(name)).outcome else {
            Issue.record("an answer of another partition was given")
            return
        }
    }

    @Test("a due answer is refreshed for the subnet that it is for")
    func due() throws {
        let name = try #require(Name("www.example"))
        var stand = ServingStand()
        stand.serving.set(stand.partition, dependsOnClient: true)
        let question = Question(name, .a, from: ClientGroup(of: far))
        stand.keep(answer(question, 1), for: question)
        let outcome = stand.ask(asked(name), from: far, atSeconds: 59.9).outcome
        #expect(outcome == .answeredAndDue(.noError, question))
    }

    @Test("a client of a view gets what is for the view, whatever its subnet, and this machine is in no view")
    func views() throws {
        let name = try #require(Name("www.example"))
        var stand = ServingStand()
        let networks = [UInt32(1): ["203.0.113.0/24", "2001:db8::/32"], 2: ["203.0.113.128/25"]]
            .mapValues { $0.map { Prefix($0)! } }
        stand.serving.set(stand.partition, dependsOnClient: false, views: ClientViews(networks))
        let clients = ["203.0.113.1", "203.0.113.129", "2001:db8::1", "::ffff:203.0.113.1", "198.51.100.1", "::1"]
        func numbers(_ stand: inout ServingStand) -> [UInt32] {
            var numbers: [UInt32] = []
            for client in clients { numbers.append(stand.group(of: Address(client)!).view) }
            return numbers
        }
        let first = numbers(&stand)
        #expect(first == [1, 2, 1, 1, 0, 0], "the longest prefix decides")
        stand.serving.set(
            stand.partition, dependsOnClient: false,
            views: ClientViews([3: [Prefix("::1/128")!, Prefix("198.51.100.0/24")!]]))
        let changed = numbers(&stand)
        #expect(changed == [0, 0, 0, 0, 3, 0], "a reader follows a change")
        stand.serving.set(stand.partition, dependsOnClient: false, views: ClientViews(networks))
        let question = Question(name, .a, from: ClientGroup(view: 1))
        stand.keep(answer(question, 1), for: question)
        for (client, isOfView) in [(far, true), (near, false), (ServingStand.loopback, false)] {
            let outcome = stand.ask(asked(name), from: client).outcome
            #expect((outcome == .answered(.noError)) == isOfView, "\(client)")
        }
        stand.serving.set(stand.partition, dependsOnClient: true, views: ClientViews(networks))
        let (other, ours) = (stand.group(of: far), stand.group(of: ServingStand.loopback))
        #expect(other == ClientGroup(of: far, view: 1) && ours == .all)
    }

    @Test("sixteen views have sixteen partitions") func viewPartitions() {
        let serving = ServingState(Partition(rawValue: 1), seed: 0x9E37_79B9_7F4A_7C15)
        let partitions = (0...16).map { serving.partition(for: ClientGroup(view: $0)) }
        #expect(Set(partitions).count == 17)
    }

    @Test("a thousand subnets have a thousand partitions")
    func spread() {
        let serving = ServingState(Partition(rawValue: 1), seed: 0x9E37_79B9_7F4A_7C15)
        let partitions = (0..<1000).map { serving.partition(for: ClientGroup(of: .v4(0x0800_0000 + UInt32($0) << 8))) }
        #expect(Set(partitions).count == 1000 && serving.partition(for: .all) == Partition(rawValue: 1))
    }
}
