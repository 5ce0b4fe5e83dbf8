// The signs of life for the service manager, and their throttling.

import DNSWire
import LinuxIO
import Testing

@testable import Daemon

@Suite("Signs of life")
struct SupervisionTests {
    private let start = Clock.now()

    @Test("one is given twice within the interval, and no look is needed before")
    func pace() {
        var watchdog = Watchdog(interval: .seconds(30), now: start)
        var (given, looked) = (0, 0)
        func isServing() -> Bool {
            looked += 1
            return true
        }
        for second in 0...60 {
            if watchdog.timePassed(isServing: isServing(), now: start + .seconds(second)) { given += 1 }
        }
        #expect(given == 4 && looked == 4)
        #expect(watchdog.nextDeadline == start + .seconds(75))
    }

    @Test("none is given while a thread does not answer, and one as soon as it does again")
    func silence() {
        var watchdog = Watchdog(interval: .seconds(32), now: start)
        var given: [Bool] = []
        for (second, isServing) in [(16, false), (19, true), (20, false), (24, true), (39, true)] {
            given.append(watchdog.timePassed(isServing: isServing, now: start + .seconds(second)))
        }
        #expect(given == [false, false, false, true, false])
        #expect(watchdog.nextDeadline == start + .seconds(40))
    }
}

@Suite("Ports that are handed over")
struct HandedOverPortsTests {
    private func halves(udp: [String], tcp: [String]) -> [String] {
        PortBinding.halves(
            datagrams: udp.compactMap { SocketAddress($0) }, listeners: tcp.compactMap { SocketAddress($0) })
    }

    @Test("an address with both transports is whole")
    func whole() {
        #expect(halves(udp: ["127.0.0.1:53", "[::1]:53"], tcp: ["[::1]:53", "127.0.0.1:53"]).isEmpty)
    }

    @Test("what is missing is said with the line to add")
    func missing() {
        let said = halves(udp: ["127.0.0.1:53", "[::1]:53"], tcp: ["127.0.0.1:53", "192.0.2.1:53"])
        #expect(
            said == [
                "the service manager passed [::1]:53 for UDP only; add ListenStream=[::1]:53 to the .socket unit",
                "the service manager passed 192.0.2.1:53 for TCP only; add ListenDatagram=192.0.2.1:53 to the "
                    + ".socket unit",
            ])
    }
}
