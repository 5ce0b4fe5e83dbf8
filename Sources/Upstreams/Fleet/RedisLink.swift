// A connection to one of the fleet's Redis servers for commands, and one for channels. `RedisBreaker` decides whether
// Redis is used.

import DNSWire
import Fleet
import LinuxIO
import Redis

final class RedisLink {
    struct Account: Equatable {
        /// The servers, tried in this order.
        let servers: [RedisConnection.Server]
        /// The servers' names as the settings write them.
        let names: [String]
        /// The user to log in as; nil: the default user.
        let user: String?
        let password: Secret?
        /// The scripts that are loaded on each connection.
        let scripts: [String]
        /// The channels that are subscribed to.
        let channels: [String]
        /// The key that is written to find out whether Redis is of use.
        let testKey: String
        /// The time limit of a reply. A server that takes longer is not used.
        let readTimeout: Duration

        /// The login command; nil: no login is needed.
        var login: RedisCommand? {
            password.map { password in
                RedisCommand((["AUTH"] + (user.map { [$0] } ?? []) + [password.text]).map { Array($0.utf8) })
            }
        }

        var testWrite: RedisCommand { RedisCommand("SET", testKey, "", "PX", "1") }
    }

    /// The changes that the owner has to act on.
    enum News {
        /// Calls to this server are of use from now on. What was published before may have been missed.
        case switchedOn(server: String)
        /// No question may wait for Redis.
        case switchedOff
        case message(channel: String, [UInt8])
    }

    private struct Command {
        let sentAt: Instant
        let done: (RedisReply) -> Void
    }

    /// While a server other than the first one is used, the servers before it are tried in turn, one in each interval.
    /// The interval is doubled when a trial succeeds, because the server may be of no use all the same.
    private static let (firstTrialInterval, longestTrialInterval): (Duration, Duration) = (.seconds(10), .seconds(600))
    /// After this time without a reply, the connection is closed.
    private static let replyTimeout: Duration = .seconds(3)
    /// The beginning of the reply if Redis does not have the script any more.
    private static let unknownScript = "NOSCRIPT"
    /// A part of the reply if another program has stored a value of another type under a key. Other keys are still of
    /// use.
    private static let wrongType = "WRONGTYPE"

    private let timer: PartTimer
    private let loop: EventLoop
    private let outbox: any UpstreamOutbox
    private var account: Account? { didSet { timer.changed() } }
    private var breaker = RedisBreaker(now: Instant(nanoseconds: 0)) { didSet { timer.changed() } }
    private var commands: RedisConnection?
    private var channels: RedisConnection?
    /// The commands that wait for a reply, in the order of sending.
    private var open: [Command] = [] { didSet { timer.changed() } }
    /// The digests of the scripts; nil for a script that is not loaded.
    private var digests: [String?] = []
    /// Why a script was not loaded.
    private var scriptFault: String?
    private var isSubscribed = false
    /// Number of the server that is used or tried.
    private(set) var server = 0
    private var trial: RedisTrial?
    private var trialAt: Instant? { didSet { timer.changed() } }
    private var trialInterval = RedisLink.firstTrialInterval
    /// Number of the server that was tried last.
    private var lastTried = -1
    private var news: [News] = [] { didSet { timer.changed() } }
    /// Why Redis is not used; nil if it is used, or was not tried yet.
    private(set) var fault: String?
    /// Why Redis is not used; without a known fault, that it has not answered yet.
    var whyNotUsed: String { fault ?? "it has not answered yet" }
    /// The fault that was logged last.
    private var loggedFault: String?
    private var hasLogged = false

    /// - Parameter timer: the owner's.
    init(loop: EventLoop, outbox: any UpstreamOutbox, _ timer: PartTimer) {
        (self.loop, self.outbox, self.timer) = (loop, outbox, timer)
    }

    /// Whether the replies of Redis are used.
    var isInUse: Bool { breaker.isInUse }
    var trips: UInt64 { breaker.trips }

    /// - Parameter account: nil if Redis is not used.
    func configure(_ account: Account?, now: Instant) {
        guard account != self.account else { return }
        disconnect()
        if isInUse { news.append(.switchedOff) }
        (self.account, server, fault, hasLogged) = (account, 0, nil, false)
        (trialInterval, lastTried) = (RedisLink.firstTrialInterval, -1)
        breaker = RedisBreaker(now: now)
    }

    func takeNews() -> [News] { exchange(&news, with: []) }

    // MARK: commands

    /// - Parameters:
    ///   - script: its number in the account.
    ///   - done: not called if the connection ends before the reply.
    /// - Returns: false if Redis does not read, so that the command is not sent.
    func run(
        _ script: Int, keys: [String], _ arguments: [[UInt8]], now: Instant,
        _ done: @escaping (RedisReply, _ end: Instant) -> Void
    ) -> Bool {
        guard digests.indices.contains(script), let digest = digests[script] else { return false }
        let words = ["EVALSHA", digest, String(keys.count)] + keys
        return send(RedisCommand(words.map { Array($0.utf8) } + arguments), now: now) { [unowned self] reply in
            let end = Clock.now()
            if case .error(let text) = reply {
                // Redis has restarted behind a proxy, or an operator has flushed its scripts.
                if text.hasPrefix(RedisLink.unknownScript) { loadScripts(now: end) }
                if !text.contains(RedisLink.wrongType) { refused(text, now: end) }
            } else if isInUse, let account, now.duration(to: end) <= account.readTimeout {
                breaker.answered()
            }
            done(reply, end)
        }
    }

    /// A call had no reply in time.
    func callTimedOut(now: Instant) {
        guard isInUse else { return }
        breaker.timedOut(now: now)
        if !isInUse { switchedOff("it does not answer in time") }
    }

    @discardableResult
    private func send(_ command: RedisCommand, now: Instant, _ done: @escaping (RedisReply) -> Void) -> Bool {
        guard let commands else { return false }
        // The command is noted before it is sent: sending may find that the connection is lost, which ends all
        // commands.
        open.append(Command(sentAt: now, done: done))
        if commands.send(command) { return true }
        open.removeLast()
        return false
    }

    /// Counts an error as a time-out, so that a Redis that refuses every call is switched off.
    private func refused(_ text: String, now: Instant) {
        guard isInUse else { return }
        breaker.timedOut(now: now)
        if !isInUse { lost(text, now: now) }
    }

    // MARK: connections

    var nextDeadline: Instant? {
        if !news.isEmpty { return .atOnce }
        guard account != nil else { return nil }
        let replyDueAt = open.first.map { $0.sentAt + RedisLink.replyTimeout }
        return Instant.earliest(Instant.earliest(breaker.testAt, replyDueAt), trialAt)
    }

    func timePassed(now: Instant) {
        guard account != nil else { return }
        if let first = open.first, first.sentAt + RedisLink.replyTimeout <= now {
            lost("it does not answer", now: now)
        }
        if let testAt = breaker.testAt, testAt <= now { test(now: now) }
        if let trialAt, trialAt <= now { tryEarlierServer(now: now) }
    }

    private func test(now: Instant) {
        breaker.testBegan()
        guard commands == nil else { return write(now: now) }
        connect(now: now)
    }

    /// Tests Redis: it is of use if it takes a write in time.
    ///
    /// - Parameter isSecond: the reply to the first write was late: Redis was paused, or it is slow. A second reply in
    ///   time shows that it was paused.
    private func write(isSecond: Bool = false, now: Instant) {
        guard let account else { return }
        send(account.testWrite, now: now) { [unowned self] reply in
            let end = Clock.now()
            guard case .status = reply, digests.allSatisfy({ $0 != nil }) else {
                return lost(fault(of: reply), now: end)
            }
            if !isSubscribed {
                breaker.timedOut(now: end)
            } else if now.duration(to: end) <= account.readTimeout {
                if !isInUse {
                    news.append(.switchedOn(server: account.names[server]))
                    trialAt = server > 0 ? end + trialInterval : nil
                }
                breaker.answered()
                setFault(nil)
            } else if isSecond {
                tooSlow(now: end)
            } else {
                write(isSecond: true, now: end)
            }
        }
    }

    private func tooSlow(now: Instant) {
        let reason = "it takes longer than fleet.read-timeout"
        // The next server may be quicker.
        if let account, account.servers.count > 1 { return lost(reason, now: now) }
        setFault(reason)
        breaker.timedOut(now: now)
    }

    private func connect(now: Instant) {
        guard let account else { return }
        do throws(SystemError) {
            let endpoint = account.servers[server]
            let commands = try RedisConnection(to: endpoint, loop) { [unowned self] in hear($1, from: $0) }
            self.commands = commands
            channels = try RedisConnection(to: endpoint, isSubscriber: true, loop) { [unowned self] in
                hear($1, from: $0)
            }
        } catch {
            return lost("\(error)", now: now)
        }
        if let login = account.login {
            _ = channels?.send(login)
            send(login, now: now) { [unowned self] reply in
                if case .error(let text) = reply { lost(text, now: Clock.now()) }
            }
        }
        _ = channels?.send(RedisCommand((["SUBSCRIBE"] + account.channels).map { Array($0.utf8) }))
        loadScripts(now: now)
        write(now: now)
    }

    private func loadScripts(now: Instant) {
        guard let account else { return }
        (digests, scriptFault) = (Array(repeating: nil, count: account.scripts.count), nil)
        for (number, script) in account.scripts.enumerated() {
            send(RedisCommand("SCRIPT", "LOAD", script), now: now) { [unowned self] reply in
                if case .string(let digest) = reply, digests.indices.contains(number) {
                    digests[number] = String(decoding: digest, as: UTF8.self)
                } else {
                    scriptFault = fault(of: reply)
                }
            }
        }
    }

    private func hear(_ heard: RedisConnection.News, from connection: RedisConnection) {
        switch heard {
        case .ended(let reason):
            if connection === commands || connection === channels { lost(reason, now: Clock.now()) }
        case .message(let channel, let bytes): news.append(.message(channel: channel, bytes))
        case .reply(let reply) where connection === commands:
            guard !open.isEmpty else { return lost("it sends more replies than there are commands", now: Clock.now()) }
            open.removeFirst().done(reply)
        case .reply(let reply): hearChannel(reply)
        }
    }

    private func hearChannel(_ reply: RedisReply) {
        if case .error(let text) = reply { return lost(text, now: Clock.now()) }
        guard reply.elements?.first?.bytes == Array("subscribe".utf8), !isSubscribed else { return }
        isSubscribed = true
        breaker.testBegan()
        write(now: Clock.now())
    }

    /// All members are to use the same server.
    private func tryEarlierServer(now: Instant) {
        // The former trial has not succeeded.
        if trial != nil { trialInterval = RedisLink.firstTrialInterval }
        trial?.close()
        trialAt = now + trialInterval
        guard let account, isInUse, server > 0 else { return }
        lastTried = (lastTried + 1) % server
        trial = RedisTrial(of: lastTried, account, loop) { [unowned self] in useLastTried(now: $0) }
    }

    private func useLastTried(now: Instant) {
        disconnect()
        server = lastTried
        breaker.moved(now: now)
        trialInterval = min(trialInterval * 2, RedisLink.longestTrialInterval)
        // The log names the server.
        hasLogged = false
        news.append(.switchedOff)
    }

    private func lost(_ reason: String, now: Instant) {
        disconnect()
        let wasInUse = isInUse
        breaker.lost(now: now)
        if wasInUse { switchedOff(reason) } else { setFault(reason) }
        if let account { server = (server + 1) % account.servers.count }
    }

    private func switchedOff(_ reason: String) {
        setFault(reason)
        news.append(.switchedOff)
    }

    private func setFault(_ fault: String?) {
        self.fault = fault
        guard let account, !hasLogged || (fault == nil) != (loggedFault == nil) else { return }
        (hasLogged, loggedFault) = (true, fault)
        let name = account.names[server]
        outbox.report(fault.map { .redisLost(server: name, reason: $0) } ?? .redisWorks(server: name))
    }

    private func disconnect() {
        commands?.close()
        channels?.close()
        trial?.close()
        (commands, channels, open, digests, isSubscribed) = (nil, nil, [], [], false)
        (trial, trialAt) = (nil, nil)
    }

    /// Returns why Redis is of no use: an error in this reply, or a script that was not loaded before.
    private func fault(of reply: RedisReply) -> String {
        if case .error(let text) = reply { return text }
        return scriptFault ?? "it sends another type of reply than Redis does"
    }
}
