// Rules at run time: adds them by the parser of the settings, removes them in time, and stores them across restarts.

import Control
import DNSWire
import LinuxIO
import Settings

final class RuntimeRules: TimedPart {
    let timer = PartTimer()
    private let outbox: Outbox
    private let store: StoreThread?
    private var added = AddedRules()
    /// The next time at which a rule runs out.
    private(set) var nextDeadline: Instant? { didSet { timer.changed() } }
    /// False until the stored rules were read: a rule that is added earlier would replace them.
    private(set) var isReady: Bool
    /// The notes in the store.
    private var stored: [String: String] = [:]

    init(_ outbox: Outbox, _ store: StoreThread?) {
        (self.outbox, self.store) = (outbox, store)
        isReady = store == nil
    }

    /// The store cannot be read.
    func storeFailed() { isReady = true }

    var rules: [Settings.Rule] { added.all.map(\.rule) }

    /// - Returns: the rule as `rule ls` shows it.
    func add(
        _ name: Name, _ words: [String], seconds: Int?, _ settings: Settings, now: Instant
    ) throws(Settings.Rule.WordsError) -> AddedRuleReport {
        guard isReady else { throw Settings.Rule.WordsError(text: "the daemon is still reading its store; try again") }
        let wall = Clock.wallMilliseconds()
        let end = seconds.map { wall + Int64($0) * 1000 }
        let rule = try rule(name, words, endMilliseconds: end, settings)
        guard added.add(rule) else {
            throw Settings.Rule.WordsError(
                text: "too many rules were added; allowed: \(AddedRules.maxRules), or "
                    + "\(AddedRules.maxBytes / 1024) KiB of them; remove some, or write them into the settings file")
        }
        changed(now: now)
        return report(rule, wall)
    }

    /// - Returns: false if there is no added rule for the name.
    func remove(_ name: Name, now: Instant) -> Bool {
        guard added.remove(name) else { return false }
        changed(now: now)
        return true
    }

    var reports: [AddedRuleReport] {
        let wall = Clock.wallMilliseconds()
        return added.all.map { report($0, wall) }
    }

    /// Restores the stored rules, without those that have run out or that the settings no longer allow. Stored answers
    /// for the names of the rules were learned under them. A rule whose nameserver has gone stays: no other nameserver
    /// may see its names.
    ///
    /// - Returns: the names whose rules were not restored.
    func restore(_ notes: [String: String], _ settings: Settings, now: Instant) -> [Name] {
        let wall = Clock.wallMilliseconds()
        var lost: [Name] = []
        isReady = true
        stored = notes.filter { AddedRules.noteNames.contains($0.key) }
        for line in AddedRules.lines(of: AddedRules.noteNames.compactMap { stored[$0] }) {
            do throws(Settings.Rule.WordsError) {
                let rule = try rule(
                    line.name, line.words, endMilliseconds: line.endMilliseconds, settings,
                    nameserver: line.nameserver)
                if rule.isOver(wall) || !added.add(rule) { lost.append(line.name) }
            } catch {
                lost.append(line.name)
                outbox.log(.addedRuleRemoved(line.name, reason: error.text))
            }
        }
        if !stored.isEmpty { changed(now: now) }
        return lost
    }

    /// Removes rules that other settings no longer allow: their provider is gone, or an alias leads back. A rule whose
    /// nameserver has gone stays.
    func settingsChanged(to settings: Settings, now: Instant) {
        let checked = added.all.filter(\.dependsOnSettings)
        for rule in checked {
            do throws(Settings.Rule.WordsError) {
                _ = try self.rule(
                    rule.name, rule.words, endMilliseconds: rule.endMilliseconds, settings,
                    nameserver: rule.nameserver)
            } catch {
                _ = added.remove(rule.name)
                outbox.log(.addedRuleRemoved(rule.name, reason: error.text))
            }
        }
        if !checked.isEmpty { keep(now: now) }
    }

    func timePassed(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        let over = added.expire(nowMilliseconds: Clock.wallMilliseconds())
        for rule in over { outbox.log(.addedRuleEnded(rule.name)) }
        if over.isEmpty { setDeadline(now: now) } else { changed(now: now) }
    }

    private func rule(
        _ name: Name, _ words: [String], endMilliseconds: Int64?, _ settings: Settings, nameserver: String? = nil
    ) throws(Settings.Rule.WordsError) -> AddedRule {
        let nameservers = settings.nameservers.map(\.name)
        let gone = nameserver.flatMap { nameservers.contains($0) ? nil : $0 }
        var rule = try Settings.Rule(
            for: name, words: words, providers: settings.providers.map(\.name),
            nameservers: nameservers + (gone.map { [$0] } ?? []),
            beside: added.all.filter { $0.name != name }.map(\.rule) + settings.rules)
        rule.place = .added(untilSecondsSince1970: endMilliseconds.map { $0 / 1000 })
        if let server = gone { outbox.log(.addedRule(name, lacksNameserver: server)) }
        return AddedRule(name: name, words: words, endMilliseconds: endMilliseconds, rule: rule)
    }

    private func report(_ rule: AddedRule, _ wallMilliseconds: Int64) -> AddedRuleReport {
        AddedRuleReport(
            name: rule.name.description, settings: rule.words,
            secondsLeft: rule.endMilliseconds.map { max(0, Int(($0 - wallMilliseconds + 999) / 1000)) },
            untilSeconds: rule.endMilliseconds.map { Int($0 / 1000) },
            endsWithDaemon: store == nil ? true : nil)
    }

    private func changed(now: Instant) {
        keep(now: now)
        outbox.changed(.addedRules)
    }

    private func keep(now: Instant) {
        setDeadline(now: now)
        let notes = Dictionary(uniqueKeysWithValues: zip(AddedRules.noteNames, added.notes))
        for name in AddedRules.noteNames where notes[name] != stored[name] {
            store?.note(name, notes[name], now: now)
        }
        stored = notes
    }

    private func setDeadline(now: Instant) {
        let wall = Clock.wallMilliseconds()
        nextDeadline = added.nextEndMilliseconds.map { end in
            min(now + .milliseconds(max(100, end - wall)), now + ProviderSwitches.longestWait)
        }
    }
}
