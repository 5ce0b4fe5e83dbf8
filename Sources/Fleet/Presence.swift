// Signs of life: what this member tells about itself, what other members have told, and how many members there are.

import Crypto
package import DNSWire

/// A member's record about itself.
package struct MemberRecord: Equatable, Sendable {
    package let record: [UInt8]
    package let age: Duration
    package let isThis: Bool
}

struct Presence: Sendable {
    /// The interval of the sign of life that a member gives, and how long others count the member after one.
    private static let (pause, life): (Duration, Duration) = (.seconds(10), .seconds(30))
    private static let firstPause: Duration = .milliseconds(100)
    /// The upper bound of the size, whatever Redis replies: with more, no member would have a share of a budget.
    private static let maxSize = 10_000
    /// The maximum number of members that are listed.
    private static let maxListed = 1000
    /// Ends of names in Redis: of the set of members, and of the text before a token in the name of its record.
    private static let (memberSet, recordKind) = ("n", "n:")

    /// When the next sign of life is due; nil: Redis is not used.
    private(set) var dueAt: Instant?
    /// The number of members that Redis has told, also before the start.
    private(set) var size = 1
    /// The size does not shrink before this time: a Redis that has lost its data gets to know the members one by one.
    private var shrinksAt: Instant?
    /// The size in the last note.
    private var notedSize = 1

    mutating func switchedOn(now: Instant) { (dueAt, shrinksAt) = (now, now + Presence.life) }

    mutating func switchedOff() { dueAt = nil }

    /// - Parameter note: the last note of `takeNote` before the start.
    mutating func restore(_ note: String?) {
        if let count = note.flatMap({ Int($0) }) { size = max(size, Presence.size(count)) }
    }

    /// Returns the size as a note; nil: the size has not changed.
    mutating func takeNote() -> String? {
        defer { notedSize = size }
        return size == notedSize ? nil : "\(size)"
    }

    /// Redis has told the number of members.
    mutating func told(_ told: Int, now: Instant) {
        let count = Presence.size(told)
        if count > size || shrinksAt.map({ $0 <= now }) ?? true { size = count }
    }

    private static func size(_ count: Int) -> Int { min(max(1, count), maxSize) }

    /// Returns the call that gives a sign of life.
    ///
    /// - Parameters:
    ///   - record: the record about this member, for `records`.
    ///   - time: nil before the first reply of Redis; the record is empty then.
    mutating func call(
        _ record: [UInt8], by token: [UInt8], at time: RedisTime?, _ keys: FleetKeys, now: Instant
    ) -> FleetCall {
        dueAt = now + (time == nil ? Presence.firstPause : Presence.pause)
        let places = keys.names(Presence.recordKind + String(decoding: token, as: UTF8.self))
        let sealed = places.map { place in
            time.flatMap { try? keys.seal(record, .member, place: place, at: $0) } ?? []
        }
        let life = FleetCall.number(Presence.life.wholeMilliseconds)
        return FleetCall(
            .presence, keys: keys.names(Presence.memberSet) + places, [token, life] + sealed, .presence)
    }

    /// Returns the call that asks for the members; `records` reads its reply.
    static func call(for keys: FleetKeys) -> FleetCall {
        let numbers = [maxListed, life.wholeMilliseconds].map { FleetCall.number($0) }
        return FleetCall(
            .members, keys: [keys.name(memberSet)], numbers + [Array(keys.name(recordKind).utf8)], .members)
    }

    /// Returns the authentic records of members, and why other records were refused.
    ///
    /// - Parameter token: the token of this member.
    static func records(
        of members: FleetMembers, token own: [UInt8], at now: RedisTime, _ keys: FleetKeys
    ) -> (records: [MemberRecord], refusals: [Refusal]) {
        var (records, refusals): ([MemberRecord], [Refusal]) = ([], [])
        for (token, record) in members.records.prefix(maxListed) {
            let place = keys.name(recordKind) + String(decoding: token, as: UTF8.self)
            do throws(Refusal) {
                let (plain, time) = try keys.open(record, .member, place: place)
                guard now - time <= life else { throw .outdated }
                records.append(MemberRecord(record: plain, age: max(.zero, now - time), isThis: token == own))
            } catch {
                // A member that has just started has sent an empty record: it does not know the time yet.
                if !record.isEmpty { refusals.append(error) }
            }
        }
        return (records, refusals)
    }
}
