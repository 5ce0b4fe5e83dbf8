// `fleet` commands: the members are read from Redis, once for all commands that wait. Without a reply of Redis, this
// member is reported alone.

import Control
import DNSWire
import Fleet
import LinuxIO
import Serving
import Upstreams

/// idle -> reading -> idle: when the report arrives, or after `patience`
final class PendingFleetReports: TimedPart {
    let timer = PartTimer()

    /// Reads the members; calls its second argument at most once, maybe at once.
    typealias Read = (Instant, @escaping (FleetReport) -> Void) -> Void
    /// Reports this member alone, with the reason. Nil without [fleet].
    typealias Own = (_ membersFault: String?) -> FleetReport?

    /// How long a command waits for Redis, which replies within milliseconds or does not work.
    static let patience: Duration = .seconds(1)
    /// Lifetime of a report, the same as in `KeptReplies`: a command that is repeated all the time must not keep Redis
    /// and the main thread busy.
    private static let lifetime: Duration = .milliseconds(250)
    /// Bound on waiting commands, the same as for `query`.
    static let maxWaiting = 16
    /// Bound on unread data: more than a report with 1,000 members.
    private static let maxReportBytes = 2 << 20

    private let read: Read
    private let own: Own
    private var waiting: [ControlStream] = []
    /// Numbers the readings, so that a late report is not taken for a new one.
    private var reading = 0
    /// When the reading ends; nil: none is in progress.
    private var readUntil: Instant? { didSet { timer.changed() } }
    private var kept: (report: FleetReport, until: Instant)?

    init(own: @escaping Own, read: @escaping Read) { (self.own, self.read) = (own, read) }

    /// - Parameter cache: the cache whose number of entries is reported.
    convenience init(_ resolving: ResolvingLoop, _ cache: AnswerCache) {
        self.init(
            own: { [unowned resolving] in
                resolving.upstreams.fleet.ownReport(membersFault: $0, cacheEntries: cache.counts().entries)
            },
            read: { [unowned resolving] in
                resolving.upstreams.fleet.report(cacheEntries: cache.counts().entries, now: $0, $1)
            })
    }

    var nextDeadline: Instant? { readUntil }

    func timePassed(now: Instant) {
        guard let readUntil, readUntil <= now else { return }
        end(own("Redis gave no reply in \(PendingFleetReports.patience.wholeSeconds) s"))
    }

    func begin(wantsJSON: Bool, now: Instant) throws(Control.Refusal) -> ControlStream {
        guard own(nil) != nil else { throw Control.Refusal(Membership.noFleet) }
        guard waiting.count < PendingFleetReports.maxWaiting else {
            throw Control.Refusal(
                "\(PendingFleetReports.maxWaiting) reports are in progress; wait for one to end")
        }
        let stream = ControlStream(wantsJSON: wantsJSON, maxUnsentBytes: PendingFleetReports.maxReportBytes)
        waiting.append(stream)
        stream.onGone = { [weak self, unowned stream] in self?.waiting.removeAll { $0 === stream } }
        if let kept, now < kept.until {
            end(kept.report)
        } else if readUntil == nil {
            begin(now: now)
        }
        return stream
    }

    private func begin(now: Instant) {
        reading += 1
        readUntil = now + PendingFleetReports.patience
        let number = reading
        read(now) { [weak self] report in
            guard let self, reading == number, readUntil != nil else { return }
            kept = (report, Clock.now() + PendingFleetReports.lifetime)
            end(report)
        }
    }

    /// - Parameter report: nil: [fleet] was removed meanwhile.
    private func end(_ report: FleetReport?) {
        readUntil = nil
        let ended = exchange(&waiting, with: [])
        for stream in ended {
            guard let report else {
                stream.refuse(Membership.noFleet)
                continue
            }
            stream.send(report)
            stream.finish()
        }
    }
}
