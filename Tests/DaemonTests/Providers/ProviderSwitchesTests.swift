// The operator's switch: its effect on the cache, and its end.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Store
import TestSupport
import Testing

@testable import Daemon

struct ProviderSwitchesTests {
    private let stand: ResolvingStand
    private let switches: ProviderSwitches
    private let now = Clock.now()
    private let note = "providers switched off"

    init() throws {
        stand = try ResolvingStand()
        switches = ProviderSwitches(stand.outbox, hasStore: stand.resolving.store != nil)
    }

    private func keep(_ name: String, from sourceClass: SourceClass) throws {
        stand.keep(Question(try #require(Name(name)), .a), from: sourceClass, now: now)
    }

    @Test("what the cache has of a name goes when it is switched off, and again when it is switched on")
    func both() throws {
        let name = try #require(Name("example"))
        try keep("www.example", from: .provider)
        try keep("www.other", from: .provider)
        _ = try #require(switches.switchOff(name, seconds: nil, now: now))
        #expect(stand.kept == ["www.other provider"])
        try keep("www.example", from: .system)
        #expect(switches.switchOn(name, now: now))
        #expect(stand.kept == ["www.other provider"])
    }

    @Test("after a restart a switch that stands leaves what was learned under it, and one that has ended takes it")
    func restored() throws {
        try keep("a.off", from: .system)
        try keep("a.over", from: .system)
        try keep("a.other", from: .provider)
        switches.restore([note: "off -\nover 1000"], now: now)
        #expect(stand.kept == ["a.off system", "a.other provider"])
        #expect(switches.reports.map(\.scope) == ["off"])
        for (text, isOff) in [("x.off", true), ("off", true), ("over", false), ("other", false), ("xoff", false)] {
            #expect(switches.isOff(try #require(Name(text))) == isOff, "\(text)")
        }
    }

    @Test(
        "a store that is read late, or in the next life, keeps its switches and takes those of the operator",
        arguments: [false, true])
    func lateStore(isInNextLife: Bool) throws {
        let folder = TemporaryFolder()
        let path = folder("cache.db")
        let other = try ResolvingStand(storeAt: path)
        other.resolving.store?.note(note, "a.example -\nb.example -", now: now)
        other.resolving.store?.stop()

        let end = Clock.wallMilliseconds() + 3_600_000
        var stand = try ResolvingStand(storeAt: path)
        var switches = ProviderSwitches(stand.outbox, hasStore: stand.resolving.store != nil)
        _ = switches.switchOff(Name("b.example"), seconds: 3600, now: now)
        _ = switches.switchOff(Name("c.example"), seconds: nil, now: now)
        stand.carryOut(now: now)
        if isInNextLife {
            stand.resolving.store?.stop()
            stand = try ResolvingStand(storeAt: path)
            switches = ProviderSwitches(stand.outbox, hasStore: stand.resolving.store != nil)
        }
        _ = switches.switchOff(Name("d.example"), seconds: nil, now: now)
        stand.carryOut(now: now)
        try restore(switches, stand)
        stand.carryOut(now: now)
        #expect(switches.reports.map(\.scope) == ["a.example", "b.example", "c.example", "d.example"])
        stand.resolving.store?.stop()
        var file = EntryStore(path: path)
        let notes = try file.notes()
        let stored = ProviderSwitch(text: notes[note] ?? "")
        #expect(stored.endOfName.count == 4 && (stored.nextEndMilliseconds ?? 0) >= end && notes.count == 1)
    }

    /// Restores the switches as the daemon does after it has read the store.
    private func restore(_ switches: ProviderSwitches, _ stand: ResolvingStand) throws {
        let deadline = Clock.now() + .seconds(20)
        while Clock.now() < deadline {
            try stand.resolving.loop.turn(until: deadline)
            for event in stand.resolving.store?.takeEvents() ?? [] {
                guard case .notes(let notes) = event else { continue }
                return switches.restore(notes, now: now)
            }
        }
        Issue.record("the store was not read")
    }

    @Test("all that can be switched off finds room in a note")
    func room() {
        #expect(ProviderSwitch.maxTextBytes <= NoteRow.maxValueBytes)
    }

    @Test("an end in wall time is looked at now and then, because that time may be set meanwhile")
    func clock() throws {
        _ = try #require(switches.switchOff(nil, seconds: 3600, now: now))
        #expect(switches.nextDeadline == now + ProviderSwitches.longestWait)
        let later = now + ProviderSwitches.longestWait
        switches.timePassed(now: later)
        #expect(stand.logged().isEmpty)
        #expect(switches.nextDeadline == later + ProviderSwitches.longestWait)
    }
}
