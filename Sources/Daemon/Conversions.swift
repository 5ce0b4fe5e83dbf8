// Between the words of the modules: addresses with and without ports.

import DNSWire
import LinuxIO

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
