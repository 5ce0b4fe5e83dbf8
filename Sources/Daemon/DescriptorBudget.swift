// Shares of the descriptors that the process may have: one kind of socket must not use up what the others need.

import LinuxIO

struct DescriptorBudget: Equatable {
    /// For files, listeners, serving threads, commands and the store. HTTP transfers (256) and probes (64) have bounds
    /// of their own, which fit beside the other two shares from 1,024 descriptors on.
    static let reserved = 128
    /// Open to nameservers, with the default limit of most systems raised. One lookup holds up to four.
    static let maxExchanges = 4096

    let clientConnections: Int
    let nameserverExchanges: Int

    /// Of this process, as its limit is now.
    static var current: DescriptorBudget { DescriptorBudget(limit: Machine.descriptorLimit) }

    /// - Parameter limit: RLIMIT_NOFILE; 0: unknown, and taken as 1,024.
    init(limit: Int) {
        let available = max((limit == 0 ? 1024 : limit) - DescriptorBudget.reserved, DescriptorBudget.reserved)
        clientConnections = min(ConnectionQuota.maxConnections, available / 4)
        nameserverExchanges = min(DescriptorBudget.maxExchanges, available * 3 / 8)
    }
}
