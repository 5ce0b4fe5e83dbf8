// The choice of a provider's address.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Upstreams

@Suite("Choice among addresses")
struct ProviderAddressChoiceTests {
    private let start = Instant.testStart

    private func choose(_ choice: inout ProviderAddressChoice, _ count: Int, after: Duration = .zero) -> [Int] {
        (0..<count).map { _ in choice.choose(now: start + after) }
    }

    @Test("it stays with the address that works, and begins with one of the seed's choice")
    func stays() {
        for seed in UInt64(0)..<6 {
            var choice = ProviderAddressChoice(count: 3, seed: seed)
            #expect(choose(&choice, 40) == Array(repeating: Int(seed % 3), count: 40))
        }
        var none = ProviderAddressChoice(count: 0, seed: 5)
        #expect(none.choose(now: start) == 0)
        none.failed(3, now: start)
        none.answered(-1, after: .zero, now: start)
    }

    @Test("one that fails makes room for the next, which is kept, and is looked at again when others have been tried")
    func failure() {
        var choice = ProviderAddressChoice(count: 3, seed: 1)
        #expect(choose(&choice, 1) == [1])
        choice.failed(1, now: start)
        #expect(choose(&choice, 2) == [2, 2])
        choice.failed(2, now: start)
        #expect(choose(&choice, 1) == [0])
        choice.answered(0, after: .milliseconds(10), now: start)
        #expect(choose(&choice, 20, after: .seconds(60)) == Array(repeating: 0, count: 20))
    }

    @Test("an address that is out of reach is left out while another is not, and is back with its route")
    func unreachable() {
        var choice = ProviderAddressChoice(count: 3, seed: 0)
        #expect(choice.choose(now: start) == 0)
        #expect(choice.choose(where: { $0 != 0 }, now: start) == 1)
        choice.failed(1, now: start)
        #expect((0..<100).allSatisfy { _ in choice.choose(where: { $0 != 0 }, now: start) == 2 })
        choice.failed(2, now: start)
        #expect(choice.choose(where: { $0 == 1 }, now: start) == 1)
        #expect(choose(&choice, 1) == [0])
        #expect(choice.choose(where: { _ in false }, now: start) == 0)
    }

    @Test("when all have failed, the one is dialled that was dialled longest ago")
    func allFailed() {
        var choice = ProviderAddressChoice(count: 3, seed: 0)
        for index in [0, 1, 2] {
            #expect(choice.choose(now: start) == index)
            choice.failed(index, now: start)
        }
        #expect(choose(&choice, 7) == [0, 1, 2, 0, 1, 2, 0])
    }

    @Test("after the one that was chosen come those that work, the quickest first, and then those that failed")
    func others() {
        var choice = ProviderAddressChoice(count: 4, seed: 0)
        for (index, milliseconds) in [(1, 90), (2, 30), (3, 60)] {
            choice.answered(index, after: .milliseconds(milliseconds), now: start)
        }
        #expect(choice.others(than: 2, now: start) == [3, 1])
        choice.failed(3, now: start)
        #expect(choice.others(than: 2, now: start) == [1, 0])
        choice.failed(1, now: start)
        choice.failed(0, now: start)
        #expect(choice.others(than: 2, now: start).count == 2)
        #expect(ProviderAddressChoice(count: 1, seed: 0).others(than: 0, now: start).isEmpty)
        #expect(ProviderAddressChoice(count: 4, seed: 0).others(than: 0, where: { $0 == 3 }, now: start) == [3])
    }

    @Test("silence is several times what an address usually takes, and within its limits")
    func silence() {
        var choice = ProviderAddressChoice(count: 4, seed: 0)
        #expect(choice.silence(of: 0) == .milliseconds(500))
        for _ in 0..<64 {
            for (index, milliseconds) in [(1, 5), (2, 100), (3, 900)] {
                choice.answered(index, after: .milliseconds(milliseconds), now: start)
            }
        }
        #expect(choice.silence(of: 1) == .milliseconds(250))
        #expect(abs(choice.silence(of: 2).milliseconds - 309) < 1)
        #expect(choice.silence(of: 3) == .milliseconds(1500))
    }

    @Test("a reserve is dialled when all others have failed, and only until one of them is back")
    func reserve() {
        var choice = ProviderAddressChoice(count: 3, fallbacks: 1, seed: 2)
        choice.answered(0, after: .milliseconds(900), now: start)
        for turn in 0..<200 {
            #expect(choice.choose(now: start + .milliseconds(200 * turn)) < 2)
        }
        let later = Duration.seconds(40)
        choice.failed(0, now: start + later)
        choice.failed(1, now: start + later)
        #expect(choose(&choice, 3, after: later) == [2, 2, 2])
        choice.answered(2, after: .milliseconds(1), now: start + later)
        // The choice tries failed addresses again, and one of them works.
        let chosen = (0..<200).map { choice.choose(now: start + .seconds(42) + .milliseconds(200 * $0)) }
        #expect(Set(chosen) == [0, 1, 2] && chosen.filter { $0 == 2 }.count > 190)
        choice.answered(0, after: .milliseconds(900), now: start + .seconds(90))
        #expect(choose(&choice, 50, after: .seconds(90)).allSatisfy { $0 < 2 })
        var alone = ProviderAddressChoice(count: 2, fallbacks: 2, seed: 1)
        #expect(choose(&alone, 1) == [1])
    }

    @Test("a reset forgets failures and speed, and not which addresses are a reserve")
    func reset() {
        var choice = ProviderAddressChoice(count: 3, fallbacks: 2, seed: 7)
        choice.failed(0, now: start)
        #expect(choose(&choice, 1) != [0])
        choice.reset()
        #expect(Set(choose(&choice, 200)) == [0])
    }

    @Test("a failed address backs off for 1 s, doubling to 30 s, and an answer ends that")
    func backOff() {
        var choice = ProviderAddressChoice(count: 2, seed: 0)
        var now = Duration.zero
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            choice.failed(0, now: start + now)
            choice.failed(1, now: start + now)
            #expect(choose(&choice, 4, after: now).sorted() == [0, 0, 1, 1], "all have failed")
            now += .seconds(seconds)
            let chosen = choose(&choice, 2, after: now)
            #expect(chosen[0] == chosen[1], "back")
        }
        choice.answered(1, after: .milliseconds(10), now: start + now)
        #expect(choose(&choice, 3, after: now) == [1, 1, 1])
    }

    @Test("others are looked at once in 64 times, and the better one is kept: not for 5 ms or half as much again")
    func exploration() {
        var choice = ProviderAddressChoice(count: 2, seed: 0)
        var chosen = 0
        for turn in 1...640 {
            let index = choice.choose(now: start + .milliseconds(200 * turn))
            chosen += index
            choice.answered(index, after: .milliseconds(index == 0 ? 40 : 30), now: start)
        }
        #expect(chosen == 9 || chosen == 10)
        for turn in 1...200 {
            let index = choice.choose(now: start + .milliseconds(128_000 + 200 * turn))
            choice.answered(index, after: .milliseconds(index == 0 ? 40 : 20), now: start + .seconds(128))
        }
        #expect(choice.choose(now: start + .seconds(300)) == 1)
    }
}
