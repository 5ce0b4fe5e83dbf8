// What the log says about the upstreams.

import Resolver
import Upstreams

extension UpstreamOutput {
    /// The event of the log; nil: the log says nothing about it.
    var logEvent: LogEvent? {
        switch self {
        case .event, .fleet, .exits, .provider, .billedSums, .note: nil
        case .requestFailed(let provider, let reason): .requestFailed(provider: provider, reason: reason)
        case .providerUnresolved(let name, let host): .providerUnresolved(name: name, host: host)
        case .providerResolved(let name, let host, let addresses):
            .providerResolved(name: name, host: host, addresses)
        case .quota(let warning): .quota(warning)
        case .loops(let server): .nameserver(.loops(server.description))
        case .askedAgain(let server): .nameserver(.askedAgain(server.description))
        case .standing(let news): .nameserver(NameserverNews(news))
        case .redisLost(let server, let reason): .fleet(.redisLost(server: server, reason: reason))
        case .redisWorks(let server): .fleet(.redisWorks(server: server))
        }
    }
}
