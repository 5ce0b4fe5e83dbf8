// The latest events of all upstreams together.

import DNSWire

struct UpstreamActivity {
    /// When an upstream was asked last.
    var askedAt: Instant?
    /// When one of their answers was cached last.
    var learnedAt: Instant?
    var outage = ProviderOutage()
}
