// A model of the fleet's Redis on the virtual clock: it implements the descriptions of the scripts in Swift, with
// faults. It shares no code with the scripts.

import DNSWire
import Fleet
import TestSupport

struct ModelRedis {
    enum Lie: CaseIterable {
        /// Every value belongs to another entry.
        case exchangedValues
        /// Old values are stored again, for a day.
        case oldValues
        /// Other members have every lease, for an hour.
        case foreignLeases
        /// Every member gets every lease.
        case freeLeases
        /// All budgets are used up for an hour.
        case deferred
        case garbage
    }

    struct Message {
        let channel: String
        let bytes: [UInt8]
    }

    private struct Value {
        let bytes: [UInt8]
        let putAt: Instant
        let endsAt: Instant
    }

    /// Redis's clock at the beginning of the virtual time.
    private static let beginMilliseconds: Int64 = 1_700_000_000_000

    var lie: Lie?
    private(set) var calls = 0
    private var values: [String: Value] = [:]
    private var former: [String: [UInt8]] = [:]
    private var leases: [String: (token: [UInt8], endsAt: Instant)] = [:]
    private var waiters: [String: [String]] = [:]
    private var demands: [String: (asks: Double, seconds: Double, at: Instant)] = [:]
    private var paces: [String: (next: Instant, free: [Instant])] = [:]
    private var flushes: [FlushElement] = []
    private var members: [String: (record: [UInt8], seenAt: Instant)] = [:]
    private var bills: [String: [UInt8]] = [:]

    /// Restarts Redis without persistence.
    mutating func lose() { self = ModelRedis(lie: lie, calls: calls) }

    init(lie: Lie? = nil, calls: Int = 0) { (self.lie, self.calls) = (lie, calls) }

    /// The bytes of all keys and values of shared answers.
    func bytes(now: Instant) -> Int {
        values.filter { $0.value.endsAt > now }.reduce(0) { $0 + $1.key.utf8.count + $1.value.bytes.count }
    }

    private func time(_ now: Instant) -> RedisTime {
        RedisTime(ModelRedis.beginMilliseconds + Int64(Instant.testStart.duration(to: now).wholeMilliseconds))
    }

    mutating func run(_ call: FleetCall, now: Instant) -> (reply: FleetReply, messages: [Message]) {
        calls += 1
        let (keys, words) = (call.keys, call.arguments.map { String(decoding: $0, as: UTF8.self) })
        switch call.script {
        case .lease: return (changed(lease(keys, call.arguments, words, now), now), [])
        case .pace: return (changed(pace(keys[0], words[0], words[1], now) ?? .invalid(""), now), [])
        case .turnBack:
            turnBack(keys[0], words[0], words[1], now)
            return (.done, [])
        case .publication: return (.done, publish(keys, call.arguments, words, now))
        case .release: return (.done, release(keys, call.arguments[0], words[1], now))
        case .flush:
            let number = FlushNumber(Array("\(time(now).milliseconds)-\(flushes.count)".utf8))
            if let number { flushes.append(FlushElement(number, call.arguments[0])) }
            return (.done, [Message(channel: keys[0], bytes: [])])
        case .flushes:
            let after = words[0].hasPrefix("(") ? FlushNumber(Array(words[0].dropFirst().utf8)) : nil
            return (.flushes(time(now), flushes.filter { element in after.map { $0 < element.number } ?? true }), [])
        case .evidence: return (.done, [Message(channel: keys[0], bytes: call.arguments[0])])
        case .presence:
            members[words[0]] = (call.arguments[2], now)
            members = members.filter { now - $0.value.seenAt < .seconds(30) }
            return (.presence(time(now), count: members.count), [])
        case .members:
            let all = members.map { (token: Array($0.key.utf8), record: $0.value.record) }
            return (.members(time(now), FleetMembers(count: all.count, records: all)), [])
        case .billing:
            let stored = bills[keys[0]] ?? []
            guard stored == call.arguments[0] else {
                return (.billing(time(now), isTaken: false, stored: stored), [])
            }
            bills[keys[0]] = call.arguments[2]
            return (.billing(time(now), isTaken: true, stored: []), [])
        }
    }

    private mutating func lease(
        _ keys: [String], _ arguments: [[UInt8]], _ words: [String], _ now: Instant
    ) -> FleetReply {
        let demand = demand(keys[2], Double(words[5]) ?? 0, now)
        let milliseconds = words.map { Int($0) ?? 0 }
        for (number, key) in keys.dropFirst(4).enumerated() {
            guard let value = values[key], value.endsAt > now, now - value.putAt <= .milliseconds(milliseconds[3]),
                value.endsAt - now >= .milliseconds(milliseconds[2])
            else { continue }
            return .value(time(now), demand: demand, key: number + 1, value.bytes, left: value.endsAt - now)
        }
        let lost = words[8].split(separator: " ").map { Array($0.utf8) }
        if let lease = leases[keys[0]], lease.endsAt > now, !lost.contains(lease.token) {
            waiters[keys[1], default: []].append(words[4])
            return .theirs(time(now), demand: demand, left: lease.endsAt - now, owner: lease.token)
        }
        if words[6] != "0", let reply = pace(keys[3], words[6], words[7], now, demand: demand) {
            guard case .ours(_, _, let wait) = reply else { return reply }
            leases[keys[0]] = (arguments[0], now + .milliseconds(milliseconds[1]) + wait)
            return reply
        }
        leases[keys[0]] = (arguments[0], now + .milliseconds(milliseconds[1]))
        return .ours(time(now), demand: demand, after: .zero)
    }

    private mutating func demand(_ key: String, _ thousandths: Double, _ now: Instant) -> Int64 {
        var (asks, seconds, at) = demands[key] ?? (0, 0, now)
        var (decay, passed) = (1.0, (now - at).seconds)
        seconds += passed
        // The demand halves in ten minutes; the steps are one second.
        while passed > 0 {
            let step = min(passed, 1)
            decay *= 1 - step * 0.001_154_578
            passed -= step
        }
        asks = asks * decay + thousandths / 1000
        seconds *= decay
        at = now
        demands[key] = (asks, seconds, at)
        return Int64(asks / (seconds + 20) * 1_000_000)
    }

    private mutating func pace(
        _ key: String, _ interval: String, _ patience: String, _ now: Instant, demand: Int64 = 0
    ) -> FleetReply? {
        guard let interval = Int(interval), let patience = Int(patience) else { return nil }
        var (next, free) = paces[key] ?? (now, [])
        free = free.filter { $0 >= now }.sorted()
        if let turn = free.first, turn - now <= .microseconds(patience) {
            paces[key] = (next, Array(free.dropFirst()))
            return .ours(time(now), demand: demand, after: turn - now)
        }
        let at = min(max(next, now), now + .seconds(5))
        let wait = now.duration(to: at)
        if wait > .microseconds(patience) {
            return .deferred(time(now), demand: demand, for: wait - .microseconds(patience))
        }
        next = at + .microseconds(interval)
        paces[key] = (next, free)
        return .ours(time(now), demand: demand, after: wait)
    }

    private mutating func turnBack(_ key: String, _ interval: String, _ turn: String, _ now: Instant) {
        guard let interval = Int(interval), let micros = Int64(turn), let pace = paces[key] else { return }
        let turn = now + .microseconds(micros - time(now).milliseconds * 1000)
        guard turn >= now, turn < pace.next else { return }
        let isLast = abs((turn + .microseconds(interval) - pace.next).seconds) <= 0.001
        paces[key] = isLast ? (turn, pace.free) : (pace.next, pace.free + [turn])
    }

    private mutating func publish(
        _ keys: [String], _ arguments: [[UInt8]], _ words: [String], _ now: Instant
    ) -> [Message] {
        let life = Int(words[1]) ?? 0
        values[keys[2]] = Value(bytes: arguments[0], putAt: now, endsAt: now + .milliseconds(life))
        if former[keys[2]] == nil { former[keys[2]] = arguments[0] }
        if leases[keys[0]]?.token == arguments[2] { leases[keys[0]] = nil }
        let text = Array("\(keys[2]) \(life) ".utf8)
        return (waiters.removeValue(forKey: keys[1]) ?? []).map { Message(channel: $0, bytes: text + arguments[0]) }
    }

    private mutating func release(_ keys: [String], _ token: [UInt8], _ word: String, _ now: Instant) -> [Message] {
        if let lease = leases[keys[0]], lease.endsAt > now, lease.token != token { return [] }
        leases[keys[0]] = nil
        var channels = waiters.removeValue(forKey: keys[1]) ?? []
        if word == "one", channels.count > 1 {
            waiters[keys[1]] = Array(channels.dropFirst())
            channels = [channels[0]]
        }
        return channels.map { Message(channel: $0, bytes: Array("\(keys[2]) \(word)".utf8)) }
    }

    private func changed(_ reply: FleetReply, _ now: Instant) -> FleetReply {
        switch (lie, reply) {
        case (.exchangedValues, .value(let time, let demand, let key, let bytes, let left)):
            let other = values.first { $0.value.bytes != bytes }?.value.bytes ?? []
            return .value(time, demand: demand, key: key, other, left: left)
        case (.oldValues, .value), (.oldValues, .ours):
            guard let old = former.values.first else { return reply }
            return .value(time(now), demand: 0, key: 1, old, left: .seconds(86_400))
        case (.foreignLeases, _):
            return .theirs(time(now), demand: 0, left: .seconds(3600), owner: Array("nobody".utf8))
        case (.freeLeases, _): return .ours(time(now), demand: .max, after: .zero)
        case (.deferred, _): return .deferred(time(now), demand: -5, for: .seconds(3600))
        case (.garbage, _): return .invalid("")
        default: return reply
        }
    }
}
