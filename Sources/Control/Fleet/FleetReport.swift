// `fleet`: how this member shares answers by Redis, and the members that Redis lists.

package struct FleetReport: Report, Codable, Equatable {
    /// The server of Redis that is used or tried, as the settings write it.
    package let server: String
    package let site: String
    /// Why Redis is not used; nil: Redis is used, or was not tried yet.
    package let fault: String?
    /// How often Redis was switched off.
    package let trips: Int
    /// The times of calls; nil before the first reply of Redis.
    package let callMilliseconds: CallTimes?

    // The counters of `StatsReport.Fleet`.
    package let answers: Int
    package let awaited: Int
    package let made: Int
    package let leases: Int
    package let endedLeases: Int
    package let alone: Int
    package let timeouts: Int
    package let deferred: Int
    package let published: Int
    package let refused: [String: Int]

    /// Requests to providers that were not made: `answers` and `awaited`.
    package let saved: Int
    /// Share of `saved` in the requests that were saved or made; nil if there were none.
    package let hitShare: Double?

    /// This member, and the other members that were seen last.
    package let members: [Member]
    /// The number of members; nil: unknown.
    package var membersInAll: Int?
    /// Members of the same site whose settings differ from this member's. Members of different sites share nothing.
    package let drift: Int
    /// Why the members could not be read; in this case `members` has this one only.
    package let membersFault: String?

    /// maxmemory-policy of Redis; nil: unknown.
    package var evictionPolicy: String? {
        didSet { evictionPolicy = evictionPolicy?.shown(maxBytes: FleetReport.maxWordBytes) }
    }
    /// maxmemory of Redis in bytes, 0 without a limit; nil: unknown.
    package var maxMemoryBytes: Int?
    /// Commands that the daemon's user of Redis may run and does not need.
    package var excessRights: [String] = [] {
        didSet { excessRights = excessRights.map { $0.shown(maxBytes: FleetReport.maxWordBytes) } }
    }

    /// Time after which a member counts as late. A member gives a sign of life every 10 s.
    package static let lateSeconds = 20
    fileprivate static let maxWordBytes = 64
    private static let maxFaultBytes = 300

    /// - Parameters:
    ///   - members: the members, which must include this one, with `isThis`.
    ///   - membersFault: the reason why the other members are missing.
    package init(
        _ state: StatusReport.Fleet, _ counts: StatsReport.Fleet, callMilliseconds: CallTimes?, members: [Member],
        membersFault: String?
    ) {
        (server, site) = (state.server, state.site)
        fault = state.fault?.shown(maxBytes: FleetReport.maxFaultBytes)
        (trips, self.callMilliseconds) = (counts.trips, callMilliseconds)
        (answers, awaited, made) = (counts.answers, counts.awaited, counts.made)
        (leases, endedLeases) = (counts.leases, counts.endedLeases)
        (alone, timeouts, deferred) = (counts.alone, counts.timeouts, counts.deferred)
        (published, refused) = (counts.published, counts.refused)
        saved = counts.saved
        hitShare = counts.requests == 0 ? nil : Double(counts.saved) / Double(counts.requests)
        self.members = members
        let own = members.first(where: \.isThis)
        drift = self.members.count { $0.differs(from: own) }
        self.membersFault = membersFault?.shown(maxBytes: FleetReport.maxFaultBytes)
    }

    package enum CodingKeys: String, CodingKey {
        case server, site, fault, trips, answers, awaited, made, leases, alone, timeouts, deferred, published, refused,
            saved, members, drift
        case membersInAll = "members_in_all"
        case callMilliseconds = "call_ms"
        case endedLeases = "ended_leases"
        case hitShare = "hit_share"
        case membersFault = "members_fault"
        case evictionPolicy = "eviction_policy"
        case maxMemoryBytes = "max_memory"
        case excessRights = "excess_rights"
    }

    /// Durations of this member's calls to Redis, in milliseconds.
    package struct CallTimes: Codable, Equatable, Sendable {
        package var p50: Double
        package var p95: Double

        package init(p50: Double, p95: Double) { (self.p50, self.p95) = (p50, p95) }
    }

    package struct Member: Codable, Equatable, Sendable {
        /// The host name.
        package let member: String
        package let site: String
        /// The version of httpdnsd.
        package let version: String
        /// Fingerprint of `Settings.commonInFleet`, 8 hexadecimal digits; nil: unknown.
        package let settings: String?
        /// The member that was asked.
        package let isThis: Bool
        /// Seconds since the member's last sign of life.
        package var seenSeconds = 0
        /// The uptime; nil: the member does not report it.
        package var uptimeSeconds: Int?
        package var saved = 0
        package var leases = 0
        package var alone = 0
        package var callMillisecondsP95: Double?
        /// Entries in the member's cache; nil: the member does not report them.
        package var entriesInCache: Int?

        package init(_ member: String, site: String, version: String, settings: String?, isThis: Bool = false) {
            self.member = member.shown(maxBytes: FleetReport.maxWordBytes)
            self.site = site.shown(maxBytes: FleetReport.maxWordBytes)
            self.version = version.shown(maxBytes: FleetReport.maxWordBytes)
            self.settings = settings?.shown(maxBytes: FleetReport.maxWordBytes)
            self.isThis = isThis
        }

        package enum CodingKeys: String, CodingKey {
            case member, site, version, settings, saved, leases, alone
            case isThis = "is_this"
            case seenSeconds = "seen_s"
            case uptimeSeconds = "uptime_s"
            case callMillisecondsP95 = "call_ms_p95"
            case entriesInCache = "in_cache"
        }

        /// The record for other members, as JSON.
        package var record: [UInt8] { Array(json(self).utf8) }

        /// Parses another member's `record`; nil for any other text.
        package init?(record: [UInt8]) {
            guard let member: Member = decoded(String(decoding: record, as: UTF8.self)) else { return nil }
            self.init(member.member, site: member.site, version: member.version, settings: member.settings)
            (uptimeSeconds, saved, leases) = (member.uptimeSeconds, member.saved, member.leases)
            (alone, callMillisecondsP95) = (member.alone, member.callMillisecondsP95)
            entriesInCache = member.entriesInCache
        }

        package var isLate: Bool { !isThis && seenSeconds > FleetReport.lateSeconds }

        /// Whether the settings of two members that could share answers are known, and differ.
        package func differs(from own: Member?) -> Bool {
            guard let own, own.site == site, let settings, let others = own.settings else { return false }
            return settings != others
        }
    }

    package var own: Member? { members.first(where: \.isThis) }
    /// The members that `drift` counts, by name.
    package var drifting: [Member] {
        members.filter { $0.differs(from: own) }.sorted { $0.member < $1.member }
    }
}

extension StatsReport.Fleet {
    /// Requests to providers that were not made.
    fileprivate var saved: Int { answers + awaited }
    /// Requests to providers whose answer may be shared, made or saved.
    fileprivate var requests: Int { saved + made }
}
