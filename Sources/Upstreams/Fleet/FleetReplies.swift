// Reads the replies of Redis to the scripts of the fleet.

import DNSWire
import Fleet
import Redis

extension FleetReply {
    init(_ reply: RedisReply, to script: FleetScript) {
        switch script {
        case .lease, .pace: self = FleetReply(ofFetch: reply) ?? .invalid(reply.fault)
        case .turnBack, .publication, .release, .flush, .evidence:
            if case .error = reply { self = .invalid(reply.fault) } else { self = .done }
        case .flushes: self = FleetReply(ofFlushes: reply) ?? .invalid(reply.fault)
        case .presence:
            self = reply.timedNumber.map { .presence($0, count: Int(clamping: $1)) } ?? .invalid(reply.fault)
        case .members: self = FleetReply(ofMembers: reply) ?? .invalid(reply.fault)
        case .billing: self = FleetReply(ofBilling: reply) ?? .invalid(reply.fault)
        }
    }

    private init?(ofFetch reply: RedisReply) {
        guard let elements = reply.elements, elements.count > 3, let kind = elements[0].number,
            let time = elements[1].number.flatMap({ RedisTime(told: $0) }), let demand = elements[2].number,
            let number = elements[3].number
        else { return nil }
        switch (kind, elements.count) {
        case (1, 6):
            guard let value = elements[4].bytes, let left = elements[5].number else { return nil }
            self = .value(time, demand: demand, key: Int(clamping: number), value, left: .milliseconds(left))
        case (2, 4): self = .ours(time, demand: demand, after: .microseconds(number))
        case (3, 5):
            let owner = elements[4].bytes ?? []
            self = .theirs(time, demand: demand, left: .milliseconds(number), owner: owner)
        case (4, 4): self = .deferred(time, demand: demand, for: .microseconds(number))
        default: return nil
        }
    }

    private init?(ofBilling reply: RedisReply) {
        guard let (time, rest) = reply.timed(2), let isTaken = rest[0].number, let stored = rest[1].bytes else {
            return nil
        }
        self = .billing(time, isTaken: isTaken == 1, stored: stored)
    }

    private init?(ofFlushes reply: RedisReply) {
        guard let (time, rest) = reply.timed(1), let elements = rest[0].elements else { return nil }
        self = .flushes(
            time,
            elements.compactMap { element in
                guard let parts = element.elements, parts.count == 2, let number = FlushNumber(parts[0].bytes ?? []),
                    let fields = parts[1].elements, fields.count == 2, let order = fields[1].bytes
                else { return nil }
                return FlushElement(number, order)
            })
    }

    private init?(ofMembers reply: RedisReply) {
        guard let (time, rest) = reply.timed(5), let count = rest[0].number, let tokens = rest[1].elements,
            let records = rest[2].elements, let memory = rest[3].bytes, let excess = rest[4].elements
        else { return nil }
        let members = zip(tokens, records).compactMap { token, record in
            token.bytes.flatMap { token in record.bytes.map { (token: token, record: $0) } }
        }
        let rights = excess.compactMap(\.bytes).map { String(decoding: $0, as: UTF8.self) }
        self = .members(
            time,
            FleetMembers(
                count: Int(clamping: count), records: members, memory: String(decoding: memory, as: UTF8.self),
                excessRights: rights))
    }
}

extension RedisReply {
    /// Why the reply is of no use.
    fileprivate var fault: String {
        if case .error(let text) = self { text } else { "it sends another type of reply than the script does" }
    }

    /// Returns Redis's time and `count` other elements of an array; nil for any other reply.
    fileprivate func timed(_ count: Int) -> (time: RedisTime, rest: [RedisReply])? {
        guard let elements, elements.count == count + 1, let time = elements[0].number.flatMap({ RedisTime(told: $0) })
        else { return nil }
        return (time, Array(elements.dropFirst()))
    }

    fileprivate var timedNumber: (RedisTime, Int64)? {
        timed(1).flatMap { timed in timed.rest[0].number.map { (timed.time, $0) } }
    }
}
