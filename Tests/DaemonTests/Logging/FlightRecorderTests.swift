// The main thread's records: each event holds its own facts and nothing of an earlier event.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Telemetry
import TestSupport
import Testing

@testable import Daemon

@Suite("Flight recorder")
struct FlightRecorderTests {
    private let now = Clock.now()

    @Test("a fetch is for a refresh if its lookup is one, also when it is the second that time brings about")
    func refreshes() throws {
        let stand = try ResolvingStand()
        try stand.setProviders(Array(Settings.Provider.builtIn.prefix(2)), now: now)
        let name = try #require(Name("www.example.com"))
        stand.resolving.handle(.prefetch([name]), now: now)
        var later = now
        for _ in 0..<20 {
            later += .milliseconds(100)
            stand.resolving.handle(.timePassed, now: later)
        }
        let kinds = stand.resolving.recorder.records.latest(99, about: name).map(\.kind)
        let begun = kinds.filter { $0 == .refreshBegun || $0 == .fetchBegun }
        #expect(begun.count > 2 && begun.allSatisfy { $0 == .refreshBegun })
    }

    @Test("networks without end leave room for other words, and are known by their numbers")
    func networks() {
        let records = FlightRecords(servingThreads: 0)
        let recorder = FlightRecorder(records)
        for number in 1...2000 {
            recorder.note(.network(.changed(NetworkID(rawValue: UInt32(number)))), now: now)
        }
        recorder.changed("late", to: .down, now: now)
        let latest = records.latest(2)
        #expect(latest.first?.network == 2000 && latest.last.map { records.words[$0.upstream] } == "late")
    }
}
