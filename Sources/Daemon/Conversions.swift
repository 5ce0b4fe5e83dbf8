// Between the words of the modules: addresses, ports, settings.

import DNSWire
import LinuxIO
import Resolver
import Settings

extension Address {
    init(_ socketAddress: SocketAddress) {
        self =
            socketAddress.isIPv6
            ? .v6(high: socketAddress.high, low: socketAddress.low)
            : .v4(UInt32(truncatingIfNeeded: socketAddress.low))
    }
}

extension SocketAddress {
    init(_ address: Address, port: UInt16) {
        switch address {
        case .v4(let value): self.init(high: 0, low: UInt64(value), isIPv6: false, port: port)
        case .v6(let high, let low): self.init(high: high, low: low, isIPv6: true, port: port)
        }
    }
}

extension SocketAddress {
    init(_ listen: Settings.Endpoint) {
        self.init(listen.address, port: listen.port)
    }
}

extension Nameserver {
    init(_ server: Settings.Endpoint) {
        self.init(server.address, port: server.port)
    }
}

extension CachePolicy {
    init(_ settings: Settings.Cache) {
        self.init(
            minTTLSeconds: UInt32(clamping: settings.minTTL.components.seconds),
            maxTTLSeconds: UInt32(clamping: settings.maxTTL.components.seconds),
            negativeMaxTTLSeconds: UInt32(clamping: settings.negativeMaxTTL.components.seconds))
    }
}
