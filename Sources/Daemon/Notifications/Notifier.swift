// Sends events to the receivers of `[[notify]]` by POST. It has connections of its own, so a receiver that is slow or
// hangs takes no place from a provider. `NotificationQueue` decides what is sent when.

import Control
import Crypto
import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings
import Upstreams

final class Notifier: TimedPart {
    let timer = PartTimer()
    private let http: HTTPClient
    private let upstreams: Upstreams
    private let outbox: Outbox
    private let host = Machine.hostName
    /// A random number of this process, so that its batch numbers differ from those of another process.
    private let run = SystemEntropy().next()
    private var receivers: [Receiver] = [] { didSet { timer.changed() } }

    private static let timeout: Duration = .seconds(10)
    private static let connectTimeout: Duration = .seconds(5)
    private static let signatureHeader = "Httpdnsd-Signature"

    private struct Receiver {
        var account: ReceiverAccount {
            didSet { endpoints = account.endpoints }
        }
        private(set) var endpoints: [HTTPEndpoint]
        var queue = NotificationQueue()
        var transfer: TransferID?
        var posts: UInt64 = 0
        var failures: [String: UInt64] = [:]

        init(_ account: ReceiverAccount) {
            self.account = account
            endpoints = account.endpoints
        }
    }

    init(_ loop: EventLoop, _ upstreams: Upstreams, _ outbox: Outbox) {
        (self.upstreams, self.outbox) = (upstreams, outbox)
        http = HTTPClient(on: loop, timer)
    }

    /// Receivers whose URL is still configured keep their queues, also with another key or other addresses.
    func configure(_ accounts: [ReceiverAccount], now: Instant) {
        var old = receivers
        receivers = accounts.map { account in
            let index =
                old.firstIndex { $0.account == account }
                ?? old.firstIndex { $0.account.settings.url == account.settings.url }
            guard let index else { return Receiver(account) }
            var receiver = old.remove(at: index)
            guard receiver.account != account else { return receiver }
            receiver.account = account
            receiver.queue.hasten(now: now)
            return receiver
        }
        for receiver in old {
            if let transfer = receiver.transfer { http.cancel(transfer, now: now) }
        }
    }

    // MARK: events

    func take(_ evidence: [EvidenceReport], now: Instant) {
        for report in evidence { add(.evidence(report), now: now) }
    }

    /// Takes an event of the log if receivers may want it.
    func take(_ event: LogEvent, now: Instant) {
        var seconds: Int64 { Clock.wallMilliseconds() / 1000 }
        switch event.outage {
        case .begun(let failures, let hasSystemResolver):
            let counts = failures.map { ($0.key.rawValue, $0.value) }
            add(
                .outage(
                    Dictionary(counts, uniquingKeysWith: +), hasSystemResolver: hasSystemResolver, seconds: seconds),
                now: now)
        case .ended(let duration):
            for index in receivers.indices { receivers[index].queue.hasten(now: now) }
            add(.recovery(outageSeconds: Int(duration.wholeSeconds), seconds: seconds), now: now)
        case nil: break
        }
    }

    private func add(_ event: NotificationReport.Event, now: Instant) {
        for index in receivers.indices
        where receivers[index].account.settings.events.contains(where: { $0.rawValue == event.event.rawValue }) {
            receivers[index].queue.add(event, now: now)
        }
    }

    // MARK: time

    var nextDeadline: Instant? {
        if http.hasFinished { return .atOnce }
        return receivers.reduce(http.nextDeadline) { Instant.earliest($0, $1.queue.nextDeadline) }
    }

    func timePassed(now: Instant) {
        http.timePassed(now: now)
        for index in receivers.indices { sendDue(index, now: now) }
        http.flush(now: now)
        for ended in http.takeFinished() { take(ended, now: now) }
        // A post that goes to another address, or is not acknowledged yet, goes on.
        _ = (http.takeAttemptFailures(), http.takeUnacknowledged())
    }

    private func sendDue(_ index: Int, now: Instant) {
        guard let due = receivers[index].queue.nextDeadline, due <= now else { return }
        let receiver = receivers[index]
        let ways = receiver.endpoints.compactMap { upstreams.providers.reachability.way(to: $0) }
        guard !ways.isEmpty else { return receivers[index].queue.postpone(now: now) }
        guard let batch = receivers[index].queue.begin(now: now) else { return }
        // Each failure selects another address: the first one may accept connections and never answer.
        let turn = receiver.queue.failures % ways.count
        let body = NotificationReport(
            host: host, batch: "\(String(run, radix: 16))-\(batch.number)",
            sentSeconds: Clock.wallMilliseconds() / 1000, dropped: Int(receiver.queue.dropped), events: batch.events
        ).body
        receivers[index].posts += 1
        guard let headers = Notifier.headers(of: body, signedWith: receiver.account.key) else {
            return ended(index, failure: ("local", "HMAC-SHA256 is not available"), now: now)
        }
        receivers[index].transfer = http.start(
            TransferRequest(
                HTTPRequest(
                    method: .post, url: receiver.account.settings.url.target, headers: headers, body: body),
                to: ways[turn], timeout: Notifier.timeout, connectTimeout: Notifier.connectTimeout,
                needsOwnConnection: true, elsewhere: Array(ways[(turn + 1)...] + ways[..<turn])),
            now: now)
    }

    /// Returns the headers of a POST; nil if the system's policy forbids the algorithm.
    private static func headers(of body: [UInt8], signedWith key: Secret?) -> HTTPHeaders? {
        var headers = HTTPHeaders([
            .init("Content-Type", "application/json"), .init("User-Agent", "httpdnsd/\(programVersion)"),
        ])
        guard let key else { return headers }
        guard let code = try? Digest.hmacSHA256(key: Array(key.text.utf8), body) else { return nil }
        headers.add(signatureHeader, Hex.encode(code))
        return headers
    }

    private func take(_ finished: HTTPClient.Finished, now: Instant) {
        guard let index = receivers.firstIndex(where: { $0.transfer == finished.id }) else { return }
        receivers[index].transfer = nil
        switch finished.result {
        case .success(let reply) where 200..<300 ~= reply.status: ended(index, failure: nil, now: now)
        case .success(let reply) where 300..<400 ~= reply.status:
            ended(index, failure: ("redirected", "redirects (status \(reply.status)), which is not followed"), now: now)
        case .success(let reply): ended(index, failure: ("status", "status \(reply.status)"), now: now)
        case .failure(let failure): ended(index, failure: (failure.kind, failure.description), now: now)
        }
    }

    private func ended(_ index: Int, failure: (kind: String, reason: String)?, now: Instant) {
        let name = receivers[index].account.name
        if let failure { receivers[index].failures[failure.kind, default: 0] += 1 }
        switch receivers[index].queue.end(isAccepted: failure == nil, now: now) {
        case .fails: outbox.log(.receiverFails(name: name, reason: failure?.reason ?? ""))
        case .works(let duration): outbox.log(.receiverWorks(name: name, after: duration))
        case nil: break
        }
    }

    // MARK: statistics

    var statistics: [StatsReport.Receiver] {
        receivers.map { receiver in
            var report = StatsReport.Receiver(name: receiver.account.name)
            if receiver.queue.isFailing { report.state = "failing" }
            report.posts = Int(receiver.posts)
            report.failures = receiver.failures.mapValues { Int($0) }
            report.waiting = receiver.queue.count
            report.accepted = Int(receiver.queue.accepted)
            report.dropped = Int(receiver.queue.dropped)
            return report
        }
    }
}
