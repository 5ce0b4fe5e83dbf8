// Finds out whether a Redis server is of use while another one is used: it takes a write, in time.

import DNSWire
import LinuxIO
import Redis

final class RedisTrial {
    private let account: RedisLink.Account
    /// The connection to the server; nil: the trial has ended.
    private var connection: RedisConnection?
    /// Number of awaited replies to the login and the first write, which waits for the connection.
    private var repliesDue: Int
    /// When the second write was sent.
    private var sentAt: Instant?
    private let succeeded: (Instant) -> Void

    /// - Parameters:
    ///   - number: number of the server in the account.
    ///   - succeeded: called at most once, and never during `init`.
    init(of number: Int, _ account: RedisLink.Account, _ loop: EventLoop, _ succeeded: @escaping (Instant) -> Void) {
        (self.account, self.succeeded) = (account, succeeded)
        let commands = [account.login, account.testWrite].compactMap(\.self)
        repliesDue = commands.count
        connection = try? RedisConnection(to: account.servers[number], loop) { [unowned self] _, news in hear(news) }
        for command in commands { _ = connection?.send(command) }
    }

    private func hear(_ news: RedisConnection.News) {
        guard case .reply(.status) = news else { return close() }
        let now = Clock.now()
        if let sentAt {
            close()
            if sentAt.duration(to: now) <= account.readTimeout { succeeded(now) }
            return
        }
        repliesDue -= 1
        guard repliesDue == 0 else { return }
        sentAt = now
        _ = connection?.send(account.testWrite)
    }

    func close() {
        connection?.close()
        connection = nil
    }
}
