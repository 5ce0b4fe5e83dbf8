// The kernel's tables as lines, for tests to compare and people to read.

@testable import LinuxIO

extension KernelTables {
    var lines: [String] {
        links.map(\.line) + addresses.map(\.line) + routes.map(\.line) + neighbours.map(\.line)
    }
}

extension KernelTables.Link {
    var line: String {
        "link \(index) \(name) \(kind.isEmpty ? "plain" : kind) type \(hardwareType) \(isUp ? "up" : "down")"
    }
}

extension KernelTables.Address {
    var line: String { "address \(address.withoutPort)/\(prefixLength) on \(link)" }
}

extension KernelTables.Route {
    var line: String {
        let way = gateway.map { " via \($0.withoutPort)" } ?? ""
        return "route \(destination.withoutPort)/\(prefixLength)\(way) on \(link) metric \(metric) table \(table)"
    }
}

extension KernelTables.Neighbour {
    var line: String {
        let digits = hardwareAddress.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "neighbour \(address.withoutPort) on \(link) is \(digits.joined(separator: ":"))"
    }
}

extension SocketAddress {
    /// "10.1.0.1", "fe80::1%3".
    fileprivate var withoutPort: String {
        let text = "\(self)".dropLast(2)
        return String(isIPv6 ? text.dropFirst().dropLast() : text)
    }
}
