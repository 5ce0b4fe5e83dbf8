// The networks of the simulation: the one in use, whether it is known, and the reachable providers. Every address
// encodes the network of its answer, so that a stray one is detected.

import DNSWire
import TestSupport

@testable import Resolver

struct SimulatedNetworks {
    private(set) var present: UInt32 = 0
    private(set) var isStable = true
    private(set) var unreachable: Set<RankedID> = []
    private(set) var changes = 0

    /// The keys of the networks, as many as the resolver remembers, so that only `forgotten` removes one.
    private static let keys = 1...UInt32(Bounds.maxNetworks)

    /// The next event. The caller has to drop its state of a forgotten network.
    mutating func next(_ providers: [RankedID], _ random: inout SeededRandom) -> NetworkEvent {
        guard isStable else {
            isStable = true
            if Int.random(in: 0..<3, using: &random) == 0 { return .unchanged }
            return change(&random)
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0..<3:
            isStable = false
            return .changing
        case 3..<5: return change(&random)
        case 5:
            let key = UInt32.random(in: SimulatedNetworks.keys, using: &random)
            return key == present ? .unchanged : .forgotten(NetworkID(rawValue: key))
        case 6:
            let isAll = Int.random(in: 0..<3, using: &random) == 0
            unreachable = Set(providers.filter { _ in isAll || Bool.random(using: &random) })
            return .unreachable(unreachable)
        default:
            unreachable = []
            return .unreachable([])
        }
    }

    private mutating func change(_ random: inout SeededRandom) -> NetworkEvent {
        present = .random(in: SimulatedNetworks.keys, using: &random)
        changes += 1
        return .changed(NetworkID(rawValue: present))
    }

    /// The number with the network's key in bits 2 to 5; the two bits below decide the probe's verdict.
    func tagged(_ number: UInt32) -> UInt32 { number & ~0x3C | present << 2 }

    static func network(of address: Address) -> UInt32 { UInt32(address.bytes.last ?? 0) >> 2 & 0xF }

    /// Checks that a stored or fresh answer belongs to the network in use.
    func check(_ question: Question, _ answer: Answer) throws {
        for address in answer.addresses where SimulatedNetworks.network(of: address) != present {
            throw SimulationAccount.Broken(description: "\(question): \(address) is not of network \(present)")
        }
    }

    func checkStored(_ question: Question, _ answer: Answer) throws {
        guard isStable else {
            throw SimulationAccount.Broken(description: "\(question): stored without knowing the network")
        }
        try check(question, answer)
    }

    /// Checks that an expired answer belongs to the network in use, or is reported as another network's.
    func check(_ question: Question, _ expired: ExpiredAnswer, _ cause: StaleCause) throws {
        if cause == .otherNetwork, expired.answer.isNegative {
            throw SimulationAccount.Broken(description: "\(question): a \"no\" of another network")
        }
        guard cause != .otherNetwork, question.type.isAddress, !expired.answer.isNegative else { return }
        try check(question, Answer(records: try expired.answer.records(of: question)))
    }
}
