// What a lookup has under way.

import DNSWire

extension Lookup {
    struct Attempt {
        let id: FetchID
        let upstream: Upstream
        let startedAt: Instant
        let until: Instant

        var source: Source {
            switch upstream {
            case .provider(let provider): .provider(provider)
            case .system: .system
            }
        }
    }

    enum SystemStep {
        case absent
        case waiting(until: Instant)
        case running
        case answered(Answer, at: Instant)
        case settled(Answer, at: Instant)
        case failed
    }
}
