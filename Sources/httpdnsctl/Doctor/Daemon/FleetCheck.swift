// Checks that the daemon shares answers with its fleet, that the members have the same settings, and the limits and
// rights in Redis.

import Control

struct FleetCheck: Sendable {
    /// The fleet in the daemon's `status`; nil without [fleet].
    let state: StatusReport.Fleet?
    /// The daemon's report of the fleet; nil if the daemon gave none.
    let report: FleetReport?

    /// Bound on shown names.
    private static let maxNames = 5
    private static let examples = "/usr/share/doc/httpdnsd/examples"

    var findings: [Finding] {
        guard let state else { return [] }
        if let fault = state.fault {
            return [
                Finding(
                    .warning, .fleet, "no answers are shared with the fleet: Redis at \(state.server): \(fault)",
                    remedy: """
                        redis-cli with the same server, user and password should answer GET h1:t; see A FLEET in \
                        httpdnsd(8) for the rights that the user needs
                        """)
            ]
        }
        guard let report else { return [] }
        return [drift(report), unread(report), memory(report), eviction(report), rights(report)].compactMap(\.self)
    }

    private func drift(_ report: FleetReport) -> Finding? {
        guard report.drift > 0 else { return nil }
        let names = LocalizedText(names: report.drifting.map(\.member), maxShown: FleetCheck.maxNames)
        return Finding(
            .warning, .fleet,
            "other settings than this machine, in site \(report.site): \(names); they may not share its answers",
            remedy: "compare httpdnsd --print-effective and httpdnsctl rule ls there and here")
    }

    private func unread(_ report: FleetReport) -> Finding? {
        report.membersFault.map {
            Finding(
                .note, .fleet, "the members could not be read from Redis at \(report.server): \($0)",
                remedy: "httpdnsctl fleet reads them again; see A FLEET in httpdnsd(8) for the rights that it needs")
        }
    }

    private func memory(_ report: FleetReport) -> Finding? {
        guard report.maxMemoryBytes == 0 else { return nil }
        return Finding(
            .warning, .fleet, "Redis at \(report.server) has no memory limit and may use all memory of its machine",
            remedy: """
                redis-cli CONFIG SET maxmemory 256mb, and the same in the file of its settings; an entry takes about \
                460 bytes
                """)
    }

    private func eviction(_ report: FleetReport) -> Finding? {
        let consequence: LocalizedText
        switch report.evictionPolicy {
        case "noeviction": consequence = "it refuses answers when its memory is full"
        // The list of flushes has no end of its own.
        case let policy? where policy.hasPrefix("allkeys-"):
            consequence = "it may remove the list of flushes, which members that were away need"
        default: return nil
        }
        return Finding(
            .warning, .fleet,
            "Redis at \(report.server) has maxmemory-policy \(report.evictionPolicy ?? ""): \(consequence)",
            remedy: "redis-cli CONFIG SET maxmemory-policy volatile-ttl, and the same in the file of its settings")
    }

    private func rights(_ report: FleetReport) -> Finding? {
        guard !report.excessRights.isEmpty else { return nil }
        let names = LocalizedText(names: report.excessRights, maxShown: FleetCheck.maxNames)
        return Finding(
            .warning, .fleet,
            "the daemon's user of Redis at \(report.server) may do more than it needs: \(names)",
            remedy: """
                give it the rights in \(FleetCheck.examples)/httpdnsd.acl only, after ACL SETUSER httpdnsd reset; \
                see A FLEET in httpdnsd(8)
                """)
    }
}
