// A call to Redis, and what its reply means.

package import DNSWire

/// A script to run.
package struct FleetCall: Equatable, Sendable {
    /// The purpose of the reply.
    package enum Purpose: Equatable, Sendable {
        /// A request waits for the reply.
        case fetch(SharedFetches.ID)
        case flushes(isWhole: Bool)
        case presence
        case members
        /// - Parameter account: the account in `SharedBills`.
        case billing(account: String)
        /// The reply is counted in `published` or `unpublished`.
        case publication
        case flushOrder(FlushOrder.ID)
        /// The reply says nothing.
        case order
    }

    package let script: FleetScript
    package let keys: [String]
    package let arguments: [[UInt8]]
    package let purpose: Purpose

    init(_ script: FleetScript, keys: [String], _ arguments: [[UInt8]], _ purpose: Purpose) {
        (self.script, self.keys, self.arguments, self.purpose) = (script, keys, arguments, purpose)
    }

    static func number(_ value: some BinaryInteger) -> [UInt8] { Array("\(value)".utf8) }
}

/// The reply of Redis to a script. The time is that of Redis's clock.
package enum FleetReply: Sendable {
    /// - Parameters:
    ///   - demand: millionths of the queries per second that the fleet has for the question.
    ///   - key: number of the entry among the call's entries, from 1.
    ///   - left: the remaining life of the value.
    case value(RedisTime, demand: Int64, key: Int, [UInt8], left: Duration)
    /// - Parameter after: the wait before the request.
    case ours(RedisTime, demand: Int64, after: Duration)
    /// - Parameters:
    ///   - left: the remaining life of the other member's lease.
    ///   - owner: the other member's token.
    case theirs(RedisTime, demand: Int64, left: Duration, owner: [UInt8])
    /// - Parameter for: the time until the budget allows the request.
    case deferred(RedisTime, demand: Int64, for: Duration)
    case flushes(RedisTime, [FlushElement])
    /// - Parameter count: the number of members.
    case presence(RedisTime, count: Int)
    case members(RedisTime, FleetMembers)
    /// - Parameters:
    ///   - isTaken: Redis has the value of the call.
    ///   - stored: the value that Redis has otherwise.
    case billing(RedisTime, isTaken: Bool, stored: [UInt8])
    case done
    /// Redis replied with an error, or with something that the script does not return.
    case invalid(String)

    var time: RedisTime? {
        switch self {
        case .value(let time, _, _, _, _), .ours(let time, _, _), .theirs(let time, _, _, _),
            .deferred(let time, _, _), .flushes(let time, _), .presence(let time, _), .members(let time, _),
            .billing(let time, _, _):
            time
        case .done, .invalid: nil
        }
    }

    var demand: Int64? {
        switch self {
        case .value(_, let demand, _, _, _), .ours(_, let demand, _), .theirs(_, let demand, _, _),
            .deferred(_, let demand, _):
            demand
        case .flushes, .presence, .members, .billing, .done, .invalid: nil
        }
    }
}

/// The members that Redis lists, and its own properties.
package struct FleetMembers: Sendable {
    /// The number of members, also of those that are not in `records`.
    package let count: Int
    /// The members that were seen last, each with its token and its sealed record.
    package let records: [(token: [UInt8], record: [UInt8])]
    /// The memory part of INFO; empty: unknown.
    package let memory: String
    /// Commands that the user may run and does not need.
    package let excessRights: [String]

    package init(
        count: Int, records: [(token: [UInt8], record: [UInt8])], memory: String = "", excessRights: [String] = []
    ) {
        (self.count, self.records, self.memory, self.excessRights) = (count, records, memory, excessRights)
    }

    /// The limit in bytes, 0 without a limit; nil: unknown.
    package var maxMemoryBytes: Int? { value("maxmemory").flatMap { Int($0) } }
    package var evictionPolicy: String? { value("maxmemory_policy") }

    private func value(_ key: String) -> String? {
        let lines = memory.split(whereSeparator: \.isNewline)
        return lines.first { $0.hasPrefix("\(key):") }.map { String($0.dropFirst(key.count + 1)) }
    }
}
