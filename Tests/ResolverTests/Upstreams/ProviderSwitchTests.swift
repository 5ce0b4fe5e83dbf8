// The operator's switches: their scope, their length, and their text form.

import DNSWire
import Testing

@testable import Resolver

@Suite("The switch for providers")
struct ProviderSwitchTests {
    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test("what has an end is on again when its time is over; the rest waits for the operator")
    func ends() throws {
        var board = ProviderSwitch()
        let isTaken = [
            board.switchOff(.root, untilMilliseconds: 5000),
            board.switchOff(try name("a.example"), untilMilliseconds: nil),
            board.switchOff(try name("b.example"), untilMilliseconds: 3000),
        ]
        #expect(isTaken == [true, true, true] && board.nextEndMilliseconds == 3000)
        var over = board.expire(nowMilliseconds: 2999)
        #expect(over.isEmpty)
        over = board.expire(nowMilliseconds: 3000)
        #expect(over == [try name("b.example")] && board.nextEndMilliseconds == 5000)
        over = board.expire(nowMilliseconds: 99_999_999)
        #expect(over == [.root] && board.nextEndMilliseconds == nil && board.endOfName.count == 1)
    }

    @Test("switching on says what was off")
    func on() throws {
        var board = ProviderSwitch()
        _ = board.switchOff(try name("A.example"), untilMilliseconds: nil)
        var on = board.switchOn(.root)
        #expect(on.isEmpty)
        on = board.switchOn(try name("a.EXAMPLE"))
        #expect(on == [try name("a.example")] && board.endOfName.isEmpty)
        _ = board.switchOff(.root, untilMilliseconds: 1)
        on = board.switchOn(nil)
        #expect(on == [.root] && board == ProviderSwitch())
    }

    @Test("a switch without room for more still changes what it has")
    func bound() throws {
        var board = ProviderSwitch()
        for number in 0..<ProviderSwitch.maxNames {
            let isTaken = board.switchOff(try name("n\(number).example"), untilMilliseconds: nil)
            #expect(isTaken)
        }
        let isTaken = [
            board.switchOff(.root, untilMilliseconds: nil),
            board.switchOff(try name("n0.example"), untilMilliseconds: 7),
        ]
        #expect(isTaken == [false, true] && board.nextEndMilliseconds == 7)
    }

    @Test("names from before a restart are added, those that the operator named since keep their end")
    func earlier() throws {
        var (board, earlier) = (ProviderSwitch(), ProviderSwitch())
        for number in 0..<ProviderSwitch.maxNames {
            _ = board.switchOff(try name("n\(number).example"), untilMilliseconds: 5)
            _ = earlier.switchOff(try name("n\(number + 1).example"), untilMilliseconds: 7)
        }
        board.add(earlier)
        #expect(board.endOfName.count == ProviderSwitch.maxNames + 1 && ProviderSwitch(text: board.text) == board)
        let (own, other) = (try name("n1.example"), try name("n64.example"))
        #expect(board.endOfName[own] == 5 && board.endOfName[other] == 7)
        let isTaken = board.switchOff(try name("more.example"), untilMilliseconds: nil)
        #expect(!isTaken)
    }

    @Test("a name whose text the store would refuse is refused, and changes nothing")
    func room() throws {
        var board = ProviderSwitch()
        let label = String(repeating: "a", count: 60)
        var taken = 0
        for number in 0..<ProviderSwitch.maxNames {
            let name = try name("n\(number).\(label).\(label).\(label)")
            if board.switchOff(name, untilMilliseconds: nil) { taken += 1 }
        }
        #expect((20..<ProviderSwitch.maxNames).contains(taken) && board.endOfName.count == taken)
        #expect(ProviderSwitch(text: board.text) == board && board.text.utf8.count <= ProviderSwitch.maxTextBytes)
    }

    @Test("the text is read again as it was")
    func text() throws {
        var board = ProviderSwitch()
        _ = board.switchOff(.root, untilMilliseconds: 1_755_525_850_000)
        _ = board.switchOff(try name("xn--bcher-kva.example"), untilMilliseconds: nil)
        #expect(ProviderSwitch(text: board.text) == board)
        #expect(ProviderSwitch(text: "") == ProviderSwitch())
    }

    @Test(
        "damage in the text costs the line", arguments: ["a.example", "a.example x", "a..b 5", "a.example 5 6", " 5"])
    func damage(_ line: String) throws {
        let board = ProviderSwitch(text: "\(line)\nb.example 7\n")
        #expect(board.endOfName.count == 1 && board.nextEndMilliseconds == 7)
    }
}
