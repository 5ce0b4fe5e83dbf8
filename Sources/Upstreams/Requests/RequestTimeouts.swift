// The time limits of one request to a provider, as parts of the provider's timeout.

import DNSWire

/// The resolver abandons a request at the provider's timeout, 3 s by default.
struct RequestTimeouts {
    private let timeout: Duration

    init(_ timeout: Duration) {
        self.timeout = timeout
    }

    /// Ends requests that the resolver missed. 2 s after the timeout.
    var transfer: Duration { timeout + .seconds(2) }
    /// Time limit for TCP and TLS; 2 s of 3 s.
    var connect: Duration { timeout * 2 / 3 }
    /// If requests for two domains are stuck on a connection for this long, it counts as dead even if the peer's kernel
    /// still responds. Longer than a slow provider takes; a new connection then has the other half. 1.5 s of 3 s.
    var stall: Duration { timeout / 2 }
    /// Time without an acknowledgement after which a path counts as dead. Shorter than the time at which the resolver
    /// counts a slow name, but only slightly: a path with an interruption of two seconds is not dead, and a repeated
    /// SYN still brings the answer in time. 2.7 s of 3 s.
    var deadPath: Duration { timeout * 9 / 10 }
}
