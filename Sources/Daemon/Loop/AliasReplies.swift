// Aliases by rules: the question about the target is resolved like a client's, so that all names with this target share
// its cache entry, and the client gets the CNAME records before the target's answer.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Telemetry

extension ResolvingLoop {
    /// Answers a client's question about an alias.
    ///
    /// - Parameter waiter: of the client, which stays in the table of clients until it is answered.
    func follow(_ alias: Question, for waiter: Waiter, _ client: Client, now: Instant) {
        ask(alias, skipsCache: false, for: client, now: now) { [unowned self] reply in
            answer(waiter, with: reply, now: Clock.now())
        }
    }

    private func answer(_ waiter: Waiter, with ownReply: OwnReply, now: Instant) {
        guard let client = clients.take(waiter) else { return }
        switch ownReply {
        case .answer(let answer, let source): reply(client, answer, from: source, now: now)
        case .cached(let answer): reply(client, answer, from: .cache, now: now)
        case .expired(let expired, let cause): reply(client, expired, cause, now: now)
        case .failure(let extendedError, let code): fail(client, extendedError, code, now: now)
        case .unreadable: fail(client, .networkError, now: now)
        case .local(.noError, let records, let extendedError):
            let isAnswered = records.contains { !$0.type.isRedirection }
            let end = records.last?.aliasTarget ?? .root
            let authority = ResourceRecord.startOfAuthority(of: end, ttlSeconds: LocalPolicy.filteredTTLSeconds)
            let answer =
                isAnswered
                ? Answer(records: records) : Answer(negative: .noData, chain: records, authority: authority)
            reply(client, answer.remarked(extendedError), from: .local, now: now)
        case .local(let code, _, let extendedError): fail(client, extendedError ?? .prohibited, code, now: now)
        }
    }
}

extension OwnReply {
    /// Returns the reply about the target as the reply about its alias.
    func behind(_ links: [ResourceRecord], from alias: Question, to target: Question) -> OwnReply {
        switch self {
        case .cached(let answer): return .cached(answer.behind(links))
        case .local(let code, let records, let extendedError): return .local(code, links + records, extendedError)
        case .answer(let answer, let source): return .answer(answer.behind(links), source)
        case .expired(let expired, let cause):
            do throws(MalformedMessage) {
                return .expired(try expired.behind(links, from: alias, to: target), cause)
            } catch {
                return .failure(.networkError)
            }
        case .unreadable, .failure: return self
        }
    }
}
