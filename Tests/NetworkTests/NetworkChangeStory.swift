// A story of a machine's network, line by line, with the actions that must follow. Times are in milliseconds of a
// virtual clock.
//
// Lines: "COMMAND; COMMAND" before "start [DOMAIN ...]"; then "TIME COMMAND; COMMAND", where all changes of a line are
// seen at once, "TIME search [DOMAIN ...]" and "TIME woke". "> TIME ACTION" is an action that must happen; the list is
// complete and ordered.

import DNSWire
import Network
import TestSupport
import Testing

struct NetworkChangeStory: CustomTestStringConvertible {
    let title: String
    let text: String

    init(_ title: String, _ text: String) {
        self.title = title
        self.text = text
    }

    var testDescription: String { title }

    func play() throws {
        var machine = Machine()
        var run: NetworkChangeRun?
        var expected: [String] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words[0] == ">" {
                expected.append(words.dropFirst().joined(separator: " "))
            } else if words[0] == "start" {
                run = NetworkChangeRun(tables: machine.tables, searchDomains: words.dropFirst().map(String.init))
            } else if let time = Int(words[0]) {
                try #require(run != nil)
                let rest = words.dropFirst().joined(separator: " ")
                run?.advance(to: time)
                run?.take(try NetworkChangeStory.event(rest, &machine))
            } else {
                try NetworkChangeStory.change(&machine, String(line))
            }
        }
        run?.finish()
        #expect(run?.log == expected)
    }

    private static func event(_ text: String, _ machine: inout Machine) throws -> NetworkChanges.Event {
        if text == "woke" { return .woke }
        if text.hasPrefix("search") { return .searchDomains(text.split(separator: " ").dropFirst().map(String.init)) }
        try change(&machine, text)
        return .tables(machine.tables)
    }

    private static func change(_ machine: inout Machine, _ commands: String) throws {
        for command in commands.split(separator: ";") { try machine.run(String(command)) }
    }
}

/// Network changes with a clock, and their actions as text.
struct NetworkChangeRun {
    private let start = Instant.testStart
    private var milliseconds = 0
    private(set) var changes: NetworkChanges
    private(set) var actions: [(milliseconds: Int, action: NetworkChanges.Action)] = []

    init(tables: NetworkTables, searchDomains: [String]) {
        changes = NetworkChanges(tables: tables, searchDomains: searchDomains, now: start)
    }

    var log: [String] { actions.map { "\($0.milliseconds) \(words($0.action))" } }

    /// Moves the clock forward, and handles each deadline on the way.
    mutating func advance(to time: Int) {
        while let deadline = changes.nextDeadline, deadline <= start + .milliseconds(time) {
            milliseconds = max(milliseconds, self.time(deadline))
            take(.timePassed)
        }
        milliseconds = time
    }

    /// Moves the clock forward until all changes have ended.
    mutating func finish() { advance(to: milliseconds + 10_000) }

    mutating func take(_ event: NetworkChanges.Event) {
        var new: [NetworkChanges.Action] = []
        changes.handle(event, now: start + .milliseconds(milliseconds), actions: &new)
        actions += new.map { (milliseconds, $0) }
    }

    private func time(_ instant: Instant) -> Int {
        Int((start.duration(to: instant) / .milliseconds(1)).rounded())
    }

    private func words(_ action: NetworkChanges.Action) -> String {
        switch action {
        case .reach(let reach):
            let families = [reach.hasWayOut(.a) ? "IPv4" : nil, reach.hasWayOut(.aaaa) ? "IPv6" : nil]
            let words = families.compactMap { $0 }.joined(separator: "+")
            return words.isEmpty ? "no way out" : "way out \(words)"
        case .solicit(let gateway, _): return "solicit \(gateway)"
        case .changing: return "changing"
        case .unchanged: return "unchanged"
        case .changed(let change):
            return "\(change.cause) since \(time(change.usableSince)): \(change.identity.words)"
        }
    }
}
