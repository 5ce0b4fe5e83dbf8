// Divides the process's descriptors among kinds of sockets, so that no kind exhausts those of another.

import LinuxIO
import Serving

struct DescriptorBudget: Equatable {
    /// Reserved for files, listeners, serving threads, commands and the store. HTTP/1.1 connections (32 per address)
    /// and probes (64) have their own bounds, which fit beside the other two shares from a limit of 1,024 descriptors.
    static let reserved = 128
    /// Bound of sockets open to nameservers, reached only if RLIMIT_NOFILE is raised above most systems' default. A
    /// lookup holds up to four.
    static let maxExchanges = 4096

    let clientConnections: Int
    let nameserverExchanges: Int

    /// The budget for the process's current limit.
    static var current: DescriptorBudget { DescriptorBudget(limit: Machine.descriptorLimit) }

    /// - Parameter limit: RLIMIT_NOFILE; 0 if unknown, which counts as 1,024.
    init(limit: Int) {
        let available = max((limit == 0 ? 1024 : limit) - DescriptorBudget.reserved, DescriptorBudget.reserved)
        clientConnections = min(ConnectionQuota.maxConnections, available / 4)
        nameserverExchanges = min(DescriptorBudget.maxExchanges, available * 3 / 8)
    }
}
