// An upstream of the simulated day: its latency, its troubles, and its own cache, if it has one. The fate of a request
// is known at its start.

import DNSWire
import Glibc
import Resolver
import TestSupport

struct DayUpstream {
    enum Trouble {
        /// The upstream does not reply.
        case silent
        case failing(FetchFailure)
        /// Replies take so many times as long.
        case slow(Double)
    }

    struct Spell {
        /// The start in milliseconds of the virtual clock.
        let from: Int64
        let to: Int64
        let trouble: Trouble
    }

    struct Fate {
        let at: Int64
        let result: FetchResult

        var isSuccess: Bool {
            if case .success = result { true } else { false }
        }
    }

    struct Manners {
        let medianMilliseconds: Double
        /// Whether it answers with the remaining TTL of its own cache, as a resolver does, or with the owner's TTL.
        let countsDown: Bool
        /// The questions per second that it accepts; nil: all.
        let perSecond: Int?
        /// Whether its latency varies, and some packets are lost or late.
        var isNoisy = true
    }

    private let manners: Manners
    /// The spells of trouble by time; they do not overlap.
    private var spells: [Spell]
    private var nextSpell = 0
    private var secondOfIssue: [Subject: Int64] = [:]
    private var taken = (second: Int64(0), count: 0)

    private static let memoryMilliseconds: Int64 = 10_000
    private static let oneLostIn = 100
    /// The frequency of answers that take two seconds more, as after a lost packet or at a busy server.
    private static let oneSlowIn = 200

    init(_ manners: Manners, spells: [Spell]) {
        self.manners = manners
        self.spells = spells
    }

    /// Whether it works all the time from `start` to `end`, both within the last ten seconds.
    func works(from start: Int64, to end: Int64) -> Bool {
        !spells[nextSpell...].prefix { $0.from <= end }.contains { $0.to > start }
    }

    /// Drops the spells that ended before any lookup in flight began.
    mutating func timePassed(_ now: Int64) {
        while nextSpell < spells.count, spells[nextSpell].to < now - DayUpstream.memoryMilliseconds { nextSpell += 1 }
    }

    /// Moves later troubles behind the sleep; otherwise a short day would sleep through them.
    mutating func sleeps(from now: Int64, milliseconds: Int64) {
        spells = spells.map {
            guard $0.from > now else { return $0 }
            return Spell(from: $0.from + milliseconds, to: $0.to + milliseconds, trouble: $0.trouble)
        }
    }

    /// The result of a request and its time; nil: no reply.
    mutating func fate(of subject: Subject, at now: Int64, in world: World, random: inout SeededRandom) -> Fate? {
        var latency = Int64(manners.isNoisy ? latencyMilliseconds(random: &random) : manners.medianMilliseconds)
        if let spell = spells[nextSpell...].first(where: { $0.to > now }), spell.from <= now + latency {
            switch spell.trouble {
            case .failing(let failure) where spell.from <= now:
                return Fate(at: now + max(1, latency / 4), result: .failure(failure))
            case .failing, .silent: return nil
            case .slow(let factor): latency = Int64(Double(latency) * factor)
            }
        }
        if manners.isNoisy, Int.random(in: 0..<DayUpstream.oneLostIn, using: &random) == 0 { return nil }
        if isOverrun(now) { return Fate(at: now + latency, result: .failure(.throttled)) }
        return Fate(at: now + latency, result: .success(answer(subject, at: now + latency, in: world)))
    }

    private func latencyMilliseconds(random: inout SeededRandom) -> Double {
        // The sum of four uniform numbers approximates a normal distribution.
        let normal = (0..<4).reduce(-2.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) } * sqrt(3)
        let isSlow = Int.random(in: 0..<DayUpstream.oneSlowIn, using: &random) == 0
        return manners.medianMilliseconds * exp(0.4 * normal) + (isSlow ? 2000 : 0)
    }

    private mutating func isOverrun(_ now: Int64) -> Bool {
        guard let perSecond = manners.perSecond else { return false }
        if taken.second != now / 1000 { taken = (now / 1000, 0) }
        taken.count += 1
        return taken.count > perSecond
    }

    private mutating func answer(_ subject: Subject, at now: Int64, in world: World) -> Answer {
        let lifetime = world.lifetime(of: subject)
        guard manners.countsDown, subject.kind == .site else {
            return world.answer(subject, secondOfIssue: now / 1000, lifetime: lifetime)
        }
        let kept = secondOfIssue[subject] ?? .min
        let issued = kept + Int64(lifetime) >= now / 1000 && kept <= now / 1000 ? kept : now / 1000
        secondOfIssue[subject] = issued
        return world.answer(
            subject, secondOfIssue: issued, lifetime: lifetime - World.Lifetime(now / 1000 - issued))
    }
}

/// The troubles of one day, from one seed: those of each upstream, those of all together, and flaps.
struct DayTroubles {
    private var ofUpstream: [[DayUpstream.Spell]] = [[], [], []]

    /// - Parameters:
    ///   - length: the length of the day in milliseconds; a shorter day has shorter troubles.
    init(length: Int64, random: inout SeededRandom) {
        let longest = min(600_000, length / 40)
        let shared = (0..<6).map { _ in DayTroubles.span(length, longest, &random) }
        for upstream in ofUpstream.indices {
            var spells = shared.map { DayUpstream.Spell(from: $0.from, to: $0.to, trouble: .silent) }
            for _ in 0..<8 {
                let span = DayTroubles.span(length, longest, &random)
                let kinds: [DayUpstream.Trouble] = [.silent, .failing(.refused), .failing(.status), .failing(.server)]
                let trouble = kinds.randomElement(using: &random) ?? .silent
                spells.append(DayUpstream.Spell(from: span.from, to: span.to, trouble: trouble))
            }
            for _ in 0..<4 {
                let span = DayTroubles.span(length, longest, &random)
                for start in stride(from: span.from, to: span.to, by: 10_000) {
                    spells.append(DayUpstream.Spell(from: start, to: start + 5000, trouble: .failing(.reset)))
                }
            }
            ofUpstream[upstream] = DayTroubles.withoutOverlaps(spells)
        }
    }

    func spells(of upstream: Int) -> [DayUpstream.Spell] { ofUpstream[upstream] }

    private static func span(
        _ length: Int64, _ longest: Int64, _ random: inout SeededRandom
    ) -> (from: Int64, to: Int64) {
        let from = Int64.random(in: length / 20..<length, using: &random)
        return (from, from + Int64.random(in: min(10_000, longest / 2)...longest, using: &random))
    }

    private static func withoutOverlaps(_ spells: [DayUpstream.Spell]) -> [DayUpstream.Spell] {
        var result: [DayUpstream.Spell] = []
        for spell in spells.sorted(by: { ($0.from, $0.to) < ($1.from, $1.to) }) {
            let from = max(spell.from, result.last?.to ?? 0)
            if from < spell.to { result.append(DayUpstream.Spell(from: from, to: spell.to, trouble: spell.trouble)) }
        }
        return result
    }
}
