// Log events about the fleet: changes of state only.

import Control

enum FleetNews: Equatable {
    case redisLost(server: String, reason: String)
    case redisWorks(server: String)

    var word: String {
        switch self {
        case .redisLost: "fleet-redis-lost"
        case .redisWorks: "fleet-redis-works"
        }
    }

    var text: String {
        switch self {
        case .redisLost(let server, let reason):
            "no answers are shared with the fleet, and names are resolved alone: Redis at \(server): \(reason); check "
                + "it with: redis-cli ping"
        case .redisWorks(let server): "answers are shared with the fleet by Redis at \(server)"
        }
    }

    var fields: [String: LogField] {
        switch self {
        case .redisLost(let server, let reason): ["server": .text(server), "reason": .text(reason)]
        case .redisWorks(let server): ["server": .text(server)]
        }
    }
}
