// `fleet` commands that wait for Redis.

import Control
import DNSWire
import LinuxIO
import Testing

@testable import Daemon

struct PendingFleetReportsTests {
    /// A Redis that replies when the test says so.
    private final class Source {
        var isOn = true
        var repliesAtOnce = false
        private(set) var open: [(FleetReport) -> Void] = []
        private(set) var readings = 0

        func own(_ fault: String?) -> FleetReport? {
            guard isOn else { return nil }
            let own = FleetReport.Member("one", site: "here", version: "0.1.0", settings: nil, isThis: true)
            return FleetReport(
                StatusReport.Fleet(server: "unix:/r", site: "here", fault: nil), StatsReport.Fleet(),
                callMilliseconds: nil, members: [own], membersFault: fault)
        }

        func read(_ done: @escaping (FleetReport) -> Void) {
            readings += 1
            if repliesAtOnce, let report = own(nil) { done(report) } else { open.append(done) }
        }
    }

    private let source = Source()
    private let pending: PendingFleetReports
    private let now = Clock.now()

    init() {
        pending = PendingFleetReports(
            own: { [source] in source.own($0) }, read: { [source] _, done in source.read(done) })
    }

    private func text(_ stream: ControlStream) -> String { String(decoding: stream.unsent, as: UTF8.self) }

    @Test("a report that is there at once ends the command, and is kept for a moment")
    func atOnce() throws {
        source.repliesAtOnce = true
        let (first, second) = (
            try pending.begin(wantsJSON: false, now: now), try pending.begin(wantsJSON: true, now: now)
        )
        #expect(first.isFinished && text(first).hasPrefix("fleet      site here | unix:/r used\n"))
        #expect(second.isFinished && text(second).hasPrefix(#"{"alone":0,"#))
        #expect(source.readings == 1 && pending.nextDeadline == nil)
        let later = Clock.now() + .seconds(1)
        _ = try pending.begin(wantsJSON: false, now: later)
        #expect(source.readings == 2)
    }

    @Test("commands that wait share one reading")
    func shared() throws {
        let streams = [
            try pending.begin(wantsJSON: false, now: now), try pending.begin(wantsJSON: false, now: now),
        ]
        #expect(source.readings == 1 && streams.allSatisfy { !$0.isFinished && $0.unsent.isEmpty })
        source.open[0](try #require(source.own(nil)))
        #expect(streams.allSatisfy { $0.isFinished && text($0).contains("unix:/r used") })
    }

    @Test("without a reply the command ends with this member alone, and a late reply changes nothing")
    func silence() throws {
        let stream = try pending.begin(wantsJSON: false, now: now)
        let end = try #require(pending.nextDeadline)
        #expect(now.duration(to: end) == .seconds(1))
        pending.timePassed(now: end)
        #expect(stream.isFinished && text(stream).contains("only this one is known: Redis gave no reply in 1 s\n"))
        #expect(pending.nextDeadline == nil)
        let next = try pending.begin(wantsJSON: false, now: end)
        source.open[0](try #require(source.own(nil)))
        #expect(!next.isFinished, "the reply was to the command before")
        source.open[1](try #require(source.own(nil)))
        #expect(next.isFinished)
    }

    @Test("without [fleet] there is an error, also if it is removed meanwhile")
    func none() throws {
        let stream = try pending.begin(wantsJSON: true, now: now)
        source.isOn = false
        pending.timePassed(now: now + .seconds(1))
        let refusal = #"{"error":"there is no fleet; add [fleet] to the settings"}"# + "\n"
        #expect(stream.isFinished && text(stream) == refusal)
        #expect(throws: Refusal.self) { try pending.begin(wantsJSON: true, now: now) }
    }

    @Test("the number of waiting clients is bounded, and a disconnected one makes room")
    func bound() throws {
        let streams = try (0..<PendingFleetReports.maxWaiting).map { _ in try pending.begin(wantsJSON: false, now: now)
        }
        #expect(throws: Refusal.self) { try pending.begin(wantsJSON: false, now: now) }
        streams[0].connectionClosed()
        #expect(throws: Never.self) { try pending.begin(wantsJSON: false, now: now) }
    }
}
