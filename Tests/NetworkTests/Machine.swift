// A machine's interfaces, addresses, routes and neighbours, changed by commands that read like those of `ip`.

import DNSWire
import Testing

@testable import Network

struct Machine {
    private(set) var tables = NetworkTables()

    private struct UnknownCommand: Error {
        let text: String
    }

    /// The kernel's attributes of an interface, by the name of its sort.
    private static let sorts: [String: (hardwareType: Int, kind: String, isWireless: Bool)] = [
        "ethernet": (1, "", false), "wifi": (1, "", true), "veth": (1, "veth", false), "bridge": (1, "bridge", false),
        "wireguard": (0xFFFE, "wireguard", false), "tun": (0xFFFE, "tun", false), "tap": (1, "tun", false),
        "ppp": (512, "ppp", false), "modem": (519, "", false), "infiniband": (32, "", false),
    ]

    /// - Parameter text: one of
    ///   - "link IF SORT", "up IF", "down IF" (routes and neighbours are gone), "unlink IF"
    ///   - "address ADDR/LEN IF", "no address ADDR/LEN IF"
    ///   - "route PREFIX|default|default6 IF [via ADDR] [metric N] [table N]", "no route PREFIX IF"
    ///   - "neighbour ADDR MAC IF", "no neighbour ADDR IF"
    ///   - "join IF SORT ADDR/LEN via ADDR [MAC]": all of these for an interface with a default route
    ///   - "leave IF": its link stays, and is down
    mutating func run(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("no", 3...): try remove(Array(words.dropFirst()))
        case ("link", 3): try link(words[1], words[2])
        case ("up", 2): try set(words[1], isUp: true)
        case ("down", 2):
            try set(words[1], isUp: false)
            try flush(words[1])
        case ("unlink", 2):
            try run("leave \(words[1])")
            tables.links.removeAll { $0.name == words[1] }
        case ("address", 3):
            let new = try address(words[1], words[2])
            if !tables.addresses.contains(new) { tables.addresses.append(new) }
        case ("route", 3...):
            let new = try route(Array(words.dropFirst()))
            if !tables.routes.contains(new) { tables.routes.append(new) }
        case ("neighbour", 4): try neighbour(words[1], words[2], words[3])
        case ("join", 6...7): try join(words)
        case ("leave", 2):
            let index = try index(words[1])
            tables.addresses.removeAll { $0.link == index }
            try run("down \(words[1])")
        default: throw UnknownCommand(text: text)
        }
    }

    private mutating func link(_ name: String, _ sort: String) throws {
        let sort = try #require(Machine.sorts[sort])
        let index = (tables.links.map(\.index).max() ?? 1) + 1
        tables.links.append(
            NetworkTables.Link(
                index: index, name: name, hardwareType: sort.hardwareType, kind: sort.kind,
                isWireless: sort.isWireless, isUp: true))
    }

    private mutating func set(_ name: String, isUp: Bool) throws {
        let position = try #require(tables.links.firstIndex { $0.name == name })
        let old = tables.links[position]
        tables.links[position] = NetworkTables.Link(
            index: old.index, name: old.name, hardwareType: old.hardwareType, kind: old.kind,
            isWireless: old.isWireless, isUp: isUp)
    }

    private mutating func flush(_ name: String) throws {
        let index = try index(name)
        tables.routes.removeAll { $0.link == index }
        tables.neighbours.removeAll { $0.link == index }
    }

    private mutating func join(_ words: [String]) throws {
        let name = words[1]
        if tables.links.contains(where: { $0.name == name }) {
            try run("up \(name)")
        } else {
            try run("link \(name) \(words[2])")
        }
        try run("address \(words[3]) \(name)")
        if words.count == 7 { try run("neighbour \(words[5]) \(words[6]) \(name)") }
        try run("route \(words[5].contains(":") ? "default6" : "default") \(name) via \(words[5])")
    }

    private mutating func neighbour(_ address: String, _ hardware: String, _ name: String) throws {
        let index = try index(name)
        let address = try #require(Address(address))
        tables.neighbours.removeAll { $0.link == index && $0.address == address }
        tables.neighbours.append(
            NetworkTables.Neighbour(
                link: index, address: address,
                hardwareAddress: hardware.split(separator: ":").compactMap { UInt8($0, radix: 16) }))
    }

    private mutating func remove(_ words: [String]) throws {
        let index = try index(words[words.count - 1])
        switch words[0] {
        case "address":
            let gone = try address(words[1], words[2])
            tables.addresses.removeAll { $0 == gone }
        case "route":
            let gone = try prefix(words[1])
            tables.routes.removeAll { $0.destination == gone && $0.link == index }
        case "neighbour":
            let gone = try #require(Address(words[1]))
            tables.neighbours.removeAll { $0.address == gone && $0.link == index }
        default: throw UnknownCommand(text: words.joined(separator: " "))
        }
    }

    private func address(_ text: String, _ name: String) throws -> NetworkTables.InterfaceAddress {
        let parts = text.split(separator: "/").map(String.init)
        return NetworkTables.InterfaceAddress(
            link: try index(name), address: try #require(Address(parts[0])),
            prefixLength: try #require(Int(parts[1])))
    }

    private func route(_ words: [String]) throws -> NetworkTables.Route {
        var options: [String: String] = [:]
        for index in stride(from: 2, to: words.count - 1, by: 2) { options[words[index]] = words[index + 1] }
        return NetworkTables.Route(
            destination: try prefix(words[0]), gateway: options["via"].flatMap { Address($0) },
            link: try index(words[1]), metric: options["metric"].flatMap { UInt32($0) } ?? 0,
            table: options["table"].flatMap { UInt32($0) } ?? 254)
    }

    private func prefix(_ text: String) throws -> Prefix {
        let everywhere = ["default": "0.0.0.0/0", "default6": "::/0"]
        return try #require(Prefix(everywhere[text] ?? text))
    }

    private func index(_ name: String) throws -> Int {
        try #require(tables.links.first { $0.name == name }).index
    }
}

extension Machine {
    /// The identity that the current tables show, without remembered state.
    func identity(searchDomains: [String]) -> NetworkIdentity {
        let routed = RoutedLinks(tables)
        guard let wayOut = routed.wayOut else { return .isolated }
        return NetworkIdentity(routed, wayOut, searchDomains: SearchDomains.normal(searchDomains))
    }
}
