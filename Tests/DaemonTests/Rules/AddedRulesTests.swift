// Rules that were added at run time: their end, their notes in the store, and their fate under other settings.

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings
import Store
import Testing

@testable import Daemon
@testable import Upstreams

struct AddedRulesTests {
    private let now = Clock.now()

    private func rule(
        _ name: String, _ words: [String] = ["answer=nodata"], until end: Int64? = nil
    ) throws -> AddedRule {
        let name = try #require(Name(name))
        let rule = try Settings.Rule(for: name, words: words, providers: [], nameservers: [], beside: [])
        return AddedRule(name: name, words: words, endMilliseconds: end, rule: rule)
    }

    @Test("a rule ends when its time has passed, not before, and one without an end stays")
    func end() throws {
        var rules = AddedRules()
        for rule in [try rule("a.example", until: 2000), try rule("b.example", until: 1000), try rule("c.example")] {
            _ = rules.add(rule)
        }
        #expect(rules.nextEndMilliseconds == 1000)
        #expect(rules.expire(nowMilliseconds: 999).isEmpty)
        #expect(rules.expire(nowMilliseconds: 1000).map { "\($0.name)" } == ["b.example"])
        #expect(rules.nextEndMilliseconds == 2000)
        #expect(rules.expire(nowMilliseconds: 5000).map { "\($0.name)" } == ["a.example"])
        #expect(rules.nextEndMilliseconds == nil && rules.all.map { "\($0.name)" } == ["c.example"])
    }

    @Test("a rule for the same name takes the place of the former, whatever its letter case")
    func replaced() throws {
        var rules = AddedRules()
        for rule in [try rule("a.example"), try rule("A.Example", ["answer=refused"])] { _ = rules.add(rule) }
        #expect(rules.all.map(\.words) == [["answer=refused"]])
        let name = try #require(Name("a.EXAMPLE"))
        let removals = [rules.remove(name), rules.remove(name)]
        #expect(removals == [true, false] && rules.all.isEmpty)
    }

    @Test("notes hold every rule, within their bounds; a rule beyond the bounds is not taken")
    func notes() throws {
        var rules = AddedRules()
        let text = "txt=" + String(repeating: "x", count: 1900)
        var count = 0
        while rules.add(try rule("n\(count).example", [text], until: Int64(count))) { count += 1 }
        #expect(count > AddedRules.maxNotes && rules.notes.count <= AddedRules.maxNotes)
        #expect(rules.notes.allSatisfy { NoteRow.fits(name: AddedRules.noteNames[0], value: $0) })
        let read = AddedRules.lines(of: rules.notes)
        #expect(
            Set(read.map { "\($0.name) \($0.endMilliseconds ?? -1)" })
                == Set((0..<count).map { "n\($0).example \($0)" }))
        #expect(read.allSatisfy { $0.words == [text] })
        var many = AddedRules()
        for number in 0..<AddedRules.maxRules { _ = many.add(try rule("n\(number).example")) }
        let beyond = many.add(try rule("other.example"))
        let again = many.add(try rule("n1.example", ["answer=refused"]))
        #expect(!beyond && again && many.all.count == AddedRules.maxRules)
        #expect(AddedRules.noteNames.allSatisfy { $0.utf8.count <= NoteRow.maxNameBytes })
    }

    @Test("malformed lines are skipped")
    func malformed() {
        let text = "-\ta.example\tanswer=nodata\nx\tb.example\tstale=true\n5\tc..d\tstale=true\n7\te.example\n\n-\n"
        #expect(AddedRules.lines(of: [text]).map { "\($0.name)" } == ["a.example"])
    }

    @Test("after a restart rules that stand are in force; names whose rule has ended or is refused are reported")
    func restored() throws {
        let stand = try ResolvingStand()
        let rules = RuntimeRules(stand.outbox, nil)
        let text = """
            -\ta.example\tanswer=nodata
            1000\tover.example\tanswer=nodata
            -\tgone.example\tresolver=vanished
            - vanished\tclosed.example\tresolver=vanished

            """
        let lost = rules.restore([AddedRules.noteNames[0]: text], .defaults, now: now)
        #expect(lost.map(\.description) == ["over.example", "gone.example"])
        #expect(rules.reports.map(\.name) == ["a.example", "closed.example"], "no other user may see the second one")
        let isReported = stand.outbox.take(.addedRules)
        #expect(isReported)
        #expect(stand.logged().map(\.line.text).count == 2)
        let policy = Policy(.defaults, [], added: rules.rules)
        #expect(policy.upstreams(for: try #require(Name("www.closed.example"))) == .nothing(.removed))
        rules.settingsChanged(to: .defaults, now: now)
        #expect(rules.reports.map(\.name) == ["a.example", "closed.example"])
    }

    @Test("a reload removes a rule whose provider is gone; an added rule is in force at once and ends by time")
    func settings() throws {
        let stand = try ResolvingStand()
        let rules = RuntimeRules(stand.outbox, nil)
        let provider = try #require(Settings.defaults.providers.first?.name)
        let (one, two) = (try #require(Name("a.example")), try #require(Name("b.example")))
        _ = try rules.add(one, ["resolver=\(provider)"], seconds: nil, .defaults, now: now)
        let report = try rules.add(two, ["answer=nodata"], seconds: 60, .defaults, now: now)
        let isAddedReported = stand.outbox.take(.addedRules)
        #expect(report.secondsLeft == 60 && isAddedReported)
        #expect(throws: Settings.Rule.WordsError.self) {
            try rules.add(two, ["resolver=vanished"], seconds: nil, .defaults, now: now)
        }
        #expect(rules.nextDeadline.map { $0 > now && $0 <= now + .seconds(60) } == true)
        rules.timePassed(now: now + .seconds(59))
        #expect(rules.reports.count == 2)
        var others = Settings.defaults
        others.providers.removeAll { $0.name == provider }
        rules.settingsChanged(to: others, now: now)
        #expect(rules.reports.map(\.name) == ["b.example"])
        let isEarlyReported = stand.outbox.take(.addedRules)
        #expect(!isEarlyReported, "who sets other settings renews the policy")
        #expect(rules.remove(two, now: now) && !rules.remove(two, now: now))
        let isRemovalReported = stand.outbox.take(.addedRules)
        #expect(rules.nextDeadline == nil && isRemovalReported)
    }
}
