// The kernel's tables as lines, for tests to compare and people to read.

@testable import Network

extension NetworkTables {
    var lines: [String] {
        links.map(\.line) + addresses.map(\.line) + routes.map(\.line) + neighbours.map(\.line)
    }
}

extension NetworkTables.Link {
    var line: String {
        "link \(index) \(name) \(kind.isEmpty ? "plain" : kind) type \(hardwareType) \(isUp ? "up" : "down")"
    }
}

extension NetworkTables.InterfaceAddress {
    var line: String { "address \(address)/\(prefixLength) on \(link)" }
}

extension NetworkTables.Route {
    var line: String {
        let way = gateway.map { " via \($0)" } ?? ""
        return "route \(destination)\(way) on \(link) metric \(metric) table \(table)"
    }
}

extension NetworkTables.Neighbour {
    var line: String {
        let digits = hardwareAddress.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "neighbour \(address) on \(link) is \(digits.joined(separator: ":"))"
    }
}
