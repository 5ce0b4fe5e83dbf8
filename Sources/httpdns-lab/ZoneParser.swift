// Parses a zone file: a subset of RFC 1035 section 5, one record per line. Every error states position, finding and
// remedy.

import DNSWire
import HTTPDNS

package struct ZoneError: Error, Equatable, CustomStringConvertible {
    package let file: String
    /// The number of the faulty line, from 1; 0 for the whole file.
    package let line: Int
    package let finding: String
    package let remedy: String

    package var description: String {
        (line == 0 ? "\(file): " : "\(file):\(line): ") + "\(finding); \(remedy)"
    }
}

package struct ZoneParser {
    /// Bound on a zone file: enough for tests; larger zones belong on a nameserver.
    package static let maxFileBytes = 4 << 20
    private static let maxTTLSeconds: UInt32 = 0x7FFF_FFFF

    private let file: String
    private var line = 0
    private var origin: Name?
    private var defaultTTLSeconds: UInt32?
    private var owner: Name?
    private var records: [(record: ResourceRecord, line: Int)] = []

    package static func zone(from text: String, file: String) throws(ZoneError) -> Zone {
        var parser = ZoneParser(file: file)
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            parser.line += 1
            try parser.read(ZoneParser.withoutComment(line))
        }
        return try parser.assembled()
    }

    private init(file: String) {
        self.file = file
    }

    private mutating func read(_ line: Substring) throws(ZoneError) {
        var rest = line
        let startsWithBlank = line.first?.isWhitespace ?? true
        guard let first = ZoneParser.nextToken(&rest) else { return }
        if first.hasPrefix("$") {
            try readDirective(first, rest)
        } else if startsWithBlank {
            guard let owner else { throw error("no name before this line", "start the line with a name") }
            rest = line
            try readRecord(of: owner, &rest)
        } else {
            let owner = try name(first)
            self.owner = owner
            try readRecord(of: owner, &rest)
        }
    }

    private mutating func readDirective(_ directive: Substring, _ arguments: Substring) throws(ZoneError) {
        var rest = arguments
        let value = ZoneParser.nextToken(&rest)
        switch (directive.uppercased(), value) {
        case ("$ORIGIN", .some(let value)): origin = try name(value)
        case ("$TTL", .some(let value)):
            guard let ttl = ttlSeconds(value) else { throw error("\"\(value)\" is no TTL", "write seconds, as in 300") }
            defaultTTLSeconds = ttl
        case ("$ORIGIN", nil), ("$TTL", nil): throw error("\(directive) without a value", "write one behind it")
        default: throw error("unknown directive \"\(directive)\"", "$ORIGIN and $TTL are known")
        }
    }

    private mutating func readRecord(of owner: Name, _ rest: inout Substring) throws(ZoneError) {
        var token = ZoneParser.nextToken(&rest)
        var ttl = defaultTTLSeconds
        if let text = token, text.first?.isNumber == true {
            guard let seconds = ttlSeconds(text) else {
                throw error("\"\(text)\" is no TTL", "write seconds, as in 300")
            }
            ttl = seconds
            token = ZoneParser.nextToken(&rest)
        }
        if token?.uppercased() == "IN" { token = ZoneParser.nextToken(&rest) }
        let known = PresentationForm.types.map(\.description).joined(separator: ", ")
        guard let token else { throw error("no type", "write one of \(known)") }
        guard let type = RecordType(String(token)), PresentationForm.types.contains(type) else {
            throw error("unknown type \"\(token)\"", "one of \(known) is allowed")
        }
        guard let ttl else { throw error("no TTL", "write seconds before the type, or $TTL at the top") }
        let text = String(ZoneParser.trimmed(rest))
        guard type != .txt || text.hasPrefix("\"") else { throw error("TXT data without quotes", "write \"\(text)\"") }
        guard let data = PresentationForm.bytes(of: text, as: type, origin: origin) else {
            throw error("\"\(text)\" is no data of type \(type)", ZoneParser.example(of: type))
        }
        records.append((ResourceRecord(owner: owner, type: type, ttlSeconds: ttl, data: data), line))
    }

    /// Makes the zone, and checks what needs all records.
    private func assembled() throws(ZoneError) -> Zone {
        var zone = Zone()
        for (record, _) in records { zone.add(record) }
        for (record, line) in records {
            let at = ZoneParser(file: file, line: line)
            guard zone.authority(of: record.owner) != nil else {
                throw at.error("\(record.owner) is in no zone", "write a SOA record for it or for a name above it")
            }
            let isAlias = !zone.records(record.owner, .cname).isEmpty
            let types = PresentationForm.types.filter { !zone.records(record.owner, $0).isEmpty }
            guard !isAlias || (types == [.cname] && zone.records(record.owner, .cname).count == 1) else {
                throw at.error("\(record.owner) has a CNAME record and others", "an alias has no other records")
            }
        }
        return zone
    }

    private init(file: String, line: Int) {
        self.file = file
        self.line = line
    }

    // MARK: words

    private func name(_ text: Substring) throws(ZoneError) -> Name {
        guard let name = PresentationForm.name(String(text), origin: origin) else {
            throw error("\"\(text)\" is no name", "labels are 1 to 63 ASCII characters, names 255 at most")
        }
        return name
    }

    private func ttlSeconds(_ text: Substring) -> UInt32? {
        guard let seconds = UInt32(text), seconds <= ZoneParser.maxTTLSeconds else { return nil }
        return seconds
    }

    private func error(_ finding: String, _ remedy: String) -> ZoneError {
        ZoneError(file: file, line: line, finding: finding, remedy: remedy)
    }

    private static func nextToken(_ rest: inout Substring) -> Substring? {
        rest = rest.drop(while: \.isWhitespace)
        guard !rest.isEmpty else { return nil }
        let token = rest.prefix { !$0.isWhitespace }
        rest = rest[token.endIndex...]
        return token
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    /// Returns the text up to the first ";" that is neither quoted nor escaped.
    private static func withoutComment(_ line: Substring) -> Substring {
        var isQuoted = false
        var isEscaped = false
        for index in line.indices {
            if isEscaped {
                isEscaped = false
                continue
            }
            switch line[index] {
            case "\\": isEscaped = true
            case "\"": isQuoted.toggle()
            case ";" where !isQuoted: return line[..<index]
            default: break
            }
        }
        return line
    }

    private static func example(of type: RecordType) -> String {
        switch type {
        case .a: "expected an IPv4 address, as in 192.0.2.1"
        case .aaaa: "expected an IPv6 address, as in 2001:db8::1"
        case .mx: "expected preference and name, as in 10 mail.lab.example."
        case .txt: "expected strings in quotes, each of at most 255 bytes"
        case .srv: "expected priority, weight, port and name, as in 0 5 443 www.lab.example."
        case .soa:
            "expected on one line: server, mailbox, serial, refresh, retry, expire, minimum"
        default: "expected a name, as in www.lab.example."
        }
    }
}
