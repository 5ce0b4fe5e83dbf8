// A second reading of an upstream's reply, for tests only: which records a client must get, or why the reply is
// refused. Written from RFC 1035, 2181, 2308, 4035, 6672, 6891, 8767 and 8914; shares no code with the one under test.

package enum ReplyOracle {
    /// The question that the reply must repeat.
    package struct Asked: Sendable {
        /// The name in wire form.
        let name: [UInt8]
        let type: UInt16
        let id: UInt16
        /// DO: the answer keeps signatures and proofs.
        let wantsSignatures: Bool

        package init(name: [UInt8], type: UInt16, id: UInt16, wantsSignatures: Bool) {
            self.name = name
            self.type = type
            self.id = id
            self.wantsSignatures = wantsSignatures
        }

        /// ANY (255) asks for every type.
        func asks(for type: UInt16) -> Bool { self.type == type || self.type == 255 }
    }

    package struct Content: Equatable, Sendable {
        package var isNoSuchName = false
        /// True if a record of the query type ends the chain.
        package var hasFinalRecord = false
        package var answers: [DecodedMessage.Record] = []
        package var authorities: [DecodedMessage.Record] = []
        package var ttl: UInt32 = 60
        /// The AD flag of the message.
        package var isAuthentic = false
    }

    package enum Reading: Equatable, Sendable {
        case answer(Content)
        /// The refusal in words: "foreign id", "malformed cut", "serverFailure 2".
        case refusal(String)
    }

    struct Refusal: Error {
        let words: String
    }

    package static func read(_ message: [UInt8], _ asked: Asked) -> Reading {
        do {
            return .answer(try content(message, asked))
        } catch let refusal as Refusal {
            return .refusal(refusal.words)
        } catch {
            return .refusal("\(error)")
        }
    }

    /// Returns the extended error of the first OPT record that clients get, code and text: the first one about DNSSEC
    /// or a filter, else the first. Nil: none, or the message cannot be read.
    package static func extendedError(_ message: [UInt8]) -> (code: UInt16, text: [UInt8])? {
        guard let sections = try? ReplySectionsOracle(message, Asked(name: [0], type: 0, id: 0, wantsSignatures: false))
        else { return nil }
        var errors: [(code: UInt16, text: [UInt8])] = []
        var rest = (sections.options ?? [])[...]
        while rest.count >= 4 {
            let numbers = rest.prefix(4).map { Int($0) }
            let (option, length) = (numbers[0] * 256 + numbers[1], numbers[2] * 256 + numbers[3])
            let data = Array(rest.dropFirst(4).prefix(length))
            guard data.count == length else { break }
            if option == 15, length >= 2 {
                errors.append((UInt16(data[0]) * 256 + UInt16(data[1]), Array(data.dropFirst(2))))
            }
            rest = rest.dropFirst(4 + length)
        }
        return errors.first { [6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18].contains($0.code) } ?? errors.first
    }

    /// Returns the question of a message; nil if it cannot be read, or if no client may ask it.
    package static func question(of message: [UInt8]) -> (name: [UInt8], type: UInt16)? {
        guard message.count > 12 else { return nil }
        var reader = ReplyReader(message)
        guard let name = try? reader.name(), let type = try? reader.number16() else { return nil }
        return type == 255 || type > 255 || (1..<128).contains(type) && type != 41 ? (name, type) : nil
    }

    private static func content(_ message: [UInt8], _ asked: Asked) throws -> Content {
        guard message.count >= 12 else { throw Refusal(words: "foreign short") }
        let flags = UInt16(message[2]) * 256 + UInt16(message[3])
        guard flags & 0x8000 != 0 else { throw Refusal(words: "foreign notReply") }
        guard UInt16(message[0]) * 256 + UInt16(message[1]) == asked.id else { throw Refusal(words: "foreign id") }
        guard flags & 0x7800 == 0 else { throw Refusal(words: "foreign opcode") }
        let questions = Int(message[4]) * 256 + Int(message[5])
        // A server without EDNS may return its header only (RFC 6891 section 7).
        if questions == 0, [1, 4].contains(flags & 15) { throw Refusal(words: "serverFailure \(flags & 15)") }
        guard questions == 1, repeats(message, asked) else { throw Refusal(words: "foreign question") }
        guard flags & 0x0200 == 0 else { throw Refusal(words: "truncated") }
        let sections = try ReplySectionsOracle(message, asked)
        let chain = try ReplyChainOracle(sections.answers, asked)
        let code = sections.extendedCode * 16 + flags & 15
        guard code == 0 || code == 3 else { throw Refusal(words: "serverFailure \(code)") }
        var content = try plain(sections, chain, isNoSuchName: code == 3)
        if asked.wantsSignatures { content = signed(content, sections, chain, asked) }
        content.isAuthentic = flags & 0x0020 != 0
        return content
    }

    private static func repeats(_ message: [UInt8], _ asked: Asked) -> Bool {
        var reader = ReplyReader(message)
        guard let name = try? reader.name(), let type = try? reader.number16(), let recordClass = try? reader.number16()
        else { return false }
        return name.isSameName(as: asked.name) && type == asked.type && recordClass == 1
    }

    private static func plain(
        _ sections: ReplySectionsOracle, _ chain: ReplyChainOracle, isNoSuchName: Bool
    ) throws -> Content {
        var content = Content(isNoSuchName: isNoSuchName)
        content.answers = chain.links + chain.final
        content.hasFinalRecord = !chain.final.isEmpty
        guard chain.final.isEmpty else {
            guard !isNoSuchName else { throw Refusal(words: "malformed contradiction") }
            content.ttl = content.answers.map(\.ttl).min() ?? 0
            return content
        }
        guard !chain.links.isEmpty || !sections.saysAnything else { throw Refusal(words: "malformed unrelatedRecords") }
        if let found = sections.authorities.first(where: { $0.type == 6 && chain.end.isBelowOrAt($0.owner) }) {
            // RFC 2308 section 5: the smaller of the TTL and MINIMUM, the last field.
            let minimum = found.data.suffix(4).reduce(UInt32(0)) { $0 * 256 + UInt32($1) }
            content.authorities = [found.with(ttl: min(found.ttl, minimum))]
            content.ttl = content.authorities[0].ttl
        } else if sections.isReferral, !isNoSuchName {
            throw Refusal(words: "lame")
        }
        content.ttl = (content.answers.map(\.ttl) + [content.ttl]).min() ?? 0
        return content
    }

    /// Returns the content for a client with DO: the records of the message as they are, reduced to those that concern
    /// the chain, and the proofs. A CNAME record that only a DNAME record implies is left to the client.
    private static func signed(
        _ plain: Content, _ sections: ReplySectionsOracle, _ chain: ReplyChainOracle, _ asked: Asked
    ) -> Content {
        var content = plain
        content.answers = sections.answers.filter { chain.has($0, asked) }
        let authority = plain.authorities.first
        let proofs = sections.authorities.filter { record in
            let proofTypes: [UInt16] = [43, 46, 47, 50]
            guard record.type == 46 else { return proofTypes.contains(record.type) }
            guard let covered = record.coveredType else { return false }
            if covered == 6 { return authority?.owner.isSameName(as: record.owner) ?? false }
            return proofTypes.contains(covered)
        }
        content.authorities += proofs
        content.ttl = ((content.answers + proofs).map(\.ttl) + [plain.ttl]).min() ?? 0
        return content
    }
}

/// The records of a message that may matter to the question.
struct ReplySectionsOracle {
    private(set) var answers: [DecodedMessage.Record] = []
    private(set) var authorities: [DecodedMessage.Record] = []
    /// True if the answer section has any record.
    private(set) var saysAnything = false
    /// True if the authority section has NS records.
    private(set) var isReferral = false
    private(set) var extendedCode: UInt16 = 0
    /// The data of the OPT record.
    private(set) var options: [UInt8]?

    init(_ message: [UInt8], _ asked: ReplyOracle.Asked) throws {
        var reader = ReplyReader(message)
        _ = try reader.name()
        _ = try reader.take(4)
        let counts = [6, 8, 10].map { Int(message[$0]) * 256 + Int(message[$0 + 1]) }
        guard counts.reduce(0, +) <= 1024 else { throw ReplyOracle.Refusal(words: "malformed tooManyRecords") }
        for _ in 0..<counts[0] {
            let found = try reader.record { type in
                asked.asks(for: type) || type == 5 || type == 39 || asked.wantsSignatures
            }
            saysAnything = saysAnything || found.type != 41
            if let record = found.record { answers.append(record) }
        }
        for _ in 0..<counts[1] {
            let found = try reader.record { $0 == 6 || asked.wantsSignatures && [43, 46, 47, 50].contains($0) }
            isReferral = isReferral || found.type == 2 && found.recordClass == 1
            if let record = found.record { authorities.append(record) }
        }
        for _ in 0..<counts[2] {
            let hasOptions = options != nil
            let found = try reader.record { type in
                guard type != 41 || !hasOptions else {
                    throw ReplyOracle.Refusal(words: "malformed secondOptionRecord")
                }
                return false
            }
            guard found.type == 41 else { continue }
            options = found.bytes
            extendedCode = UInt16(found.ttl >> 24)
        }
    }
}

/// The CNAME and DNAME records from the query name to the records of the query type.
struct ReplyChainOracle {
    private(set) var links: [DecodedMessage.Record] = []
    private(set) var end: [UInt8]
    private(set) var final: [DecodedMessage.Record] = []

    init(_ records: [DecodedMessage.Record], _ asked: ReplyOracle.Asked) throws {
        end = asked.name
        let follows = asked.type != 5 && asked.type != 255
        let redirections = asked.type == 255 ? [] : records.filter { $0.type == 39 }
        var visited: [[UInt8]] = []
        while true {
            final = []
            for record in records where asked.asks(for: record.type) && record.owner.isSameName(as: end) {
                // RFC 2181 section 5: an RRset has no duplicates.
                if !final.contains(where: { $0.type == record.type && $0.data == record.data }) { final.append(record) }
            }
            if asked.type == 5, let first = final.first { links += redirections.making(first) }
            guard final.isEmpty, follows else { return }
            let alias = records.first { $0.type == 5 && $0.owner.isSameName(as: end) }
            guard let link = alias ?? redirections.longestAbove(end)?.alias(of: end) else { return }
            visited.append(end)
            guard !visited.contains(where: { $0.isSameName(as: link.data) }) else {
                throw ReplyOracle.Refusal(words: "malformed aliasLoop")
            }
            guard visited.count <= 32 else { throw ReplyOracle.Refusal(words: "malformed aliasChainTooLong") }
            links += redirections.making(link).filter { !links.contains($0) } + [link]
            end = link.data
        }
    }

    /// Whether a record of the answer section concerns the chain: of the query type or a CNAME record at one of its
    /// names, or a DNAME record that makes a link. Signatures do if the records that they cover do.
    func has(_ record: DecodedMessage.Record, _ asked: ReplyOracle.Asked) -> Bool {
        let isSignature = record.type == 46 && asked.type != 46
        guard let type = isSignature ? record.coveredType : record.type else { return false }
        let names = links.filter { $0.type == 5 }.map(\.owner) + [end]
        if type == 39, links.contains(where: { $0.type == 39 && $0.owner.isSameName(as: record.owner) }) { return true }
        return (asked.asks(for: type) || type == 5) && names.contains { $0.isSameName(as: record.owner) }
    }
}

/// Reads names and records from the byte after the header on.
struct ReplyReader {
    struct Found {
        let type: UInt16
        let recordClass: UInt16
        let ttl: UInt32
        /// The data as it is in the message.
        let bytes: [UInt8]
        /// The record with uncompressed data; nil if it is not wanted, not of class IN, or of a meta type.
        let record: DecodedMessage.Record?
    }

    private let bytes: [UInt8]
    private var at: Int
    private let end: Int

    init(_ bytes: [UInt8], from start: Int = 12, to end: Int? = nil) {
        self.bytes = bytes
        at = start
        self.end = end ?? bytes.count
    }

    private static func malformed(_ reason: String) -> ReplyOracle.Refusal {
        ReplyOracle.Refusal(words: "malformed " + reason)
    }

    mutating func take(_ count: Int) throws -> [UInt8] {
        guard at + count <= end else { throw ReplyReader.malformed("cut") }
        defer { at += count }
        return Array(bytes[at..<(at + count)])
    }

    mutating func number16() throws -> UInt16 { try take(2).reduce(0) { $0 * 256 + UInt16($1) } }

    /// Reads a name (RFC 1035 section 4.1.4). Each pointer leads to a byte behind the header and before the part of the
    /// name that it ends; a name has at most 32 of them.
    mutating func name() throws -> [UInt8] {
        var name: [UInt8] = []
        var part = ReplyReader(bytes, from: at, to: end)
        var start = at
        var next: Int?
        for _ in 0...32 {
            while true {
                let length = Int(try part.take(1)[0])
                if length >= 0xC0 {
                    let target = (length - 0xC0) * 256 + Int(try part.take(1)[0])
                    next = next ?? part.at
                    guard target >= 12, target < start else { throw ReplyReader.malformed("pointer") }
                    start = target
                    part = ReplyReader(bytes, from: target)
                    break
                }
                guard length < 64 else { throw ReplyReader.malformed("labelKind") }
                let label = try part.take(length)
                name += [UInt8(length)] + label
                guard length > 0 else {
                    at = next ?? part.at
                    return name
                }
                // The root label needs the last of the 255 bytes.
                guard name.count < 255 else { throw ReplyReader.malformed("nameLength") }
            }
        }
        throw ReplyReader.malformed("pointer")
    }

    /// - Parameter isWanted: called with the type, before the data is read.
    mutating func record(_ isWanted: (UInt16) throws -> Bool) throws -> Found {
        let owner = try name()
        let type = try number16()
        let recordClass = try number16()
        let ttl = try take(4).reduce(UInt32(0)) { $0 * 256 + UInt32($1) }
        let length = Int(try number16())
        let isNeeded = try isWanted(type)
        let raw = try take(length)
        var record: DecodedMessage.Record?
        if isNeeded, recordClass == 1, type != 41, type < 128 || type > 255 {
            var reader = ReplyReader(bytes, from: at - length, to: at)
            // RFC 8767 section 4: a TTL with the top bit is a large one.
            record = DecodedMessage.Record(
                owner: owner, type: type, recordClass: 1, ttl: min(ttl, 0x7FFF_FFFF), data: try reader.data(type))
        }
        return Found(type: type, recordClass: recordClass, ttl: ttl, bytes: raw, record: record)
    }

    /// Reads record data to the end, with its names uncompressed (RFC 1035 section 3.3, RFC 3597 section 4). Some
    /// servers also compress DNAME, KX, SRV, NAPTR, SVCB and HTTPS.
    private mutating func data(_ type: UInt16) throws -> [UInt8] {
        var data: [UInt8] = []
        switch type {
        case 1: data = try take(4)
        case 28: data = try take(16)
        case 2, 3, 4, 5, 7, 8, 9, 12, 39: data = try name()
        case 6: data = try name() + name() + take(20)
        case 14, 17: data = try name() + name()
        case 15, 18, 21, 36: data = try take(2) + name()
        case 24: data = try take(18) + name() + take(end - at)
        case 26: data = try take(2) + name() + name()
        case 30: data = try name() + take(end - at)
        case 33: data = try take(6) + name()
        case 35:
            data = try take(4)
            for _ in 0..<3 {
                let length = try take(1)
                data += try length + take(Int(length[0]))
            }
            data += try name()
        case 64, 65: data = try take(2) + name() + take(end - at)
        default: data = try take(end - at)
        }
        guard at == end else { throw ReplyReader.malformed("dataLength") }
        return data
    }
}

extension [UInt8] {
    /// Compares names in wire form without regard to ASCII case (RFC 4343). A length byte is no letter.
    func isSameName(as other: [UInt8]) -> Bool {
        self == other || count == other.count && folded == other.folded
    }

    private var folded: [UInt8] { map { (65...90).contains($0) ? $0 + 32 : $0 } }

    /// Whether this name in wire form is the other one or below it.
    func isBelowOrAt(_ other: [UInt8]) -> Bool {
        var name = self
        while name.count > other.count { name = Array(name.dropFirst(1 + Int(name[0]))) }
        return name.isSameName(as: other)
    }
}

extension DecodedMessage.Record {
    func with(ttl: UInt32) -> DecodedMessage.Record {
        DecodedMessage.Record(owner: owner, type: type, recordClass: recordClass, ttl: ttl, data: data)
    }

    /// The type that a signature covers (RFC 4034 section 3.1.1).
    var coveredType: UInt16? { data.count < 2 ? nil : UInt16(data[0]) * 256 + UInt16(data[1]) }

    /// The CNAME record that a DNAME record makes for a name below it (RFC 6672 section 2.2).
    func alias(of name: [UInt8]) -> DecodedMessage.Record? {
        guard name.count > owner.count, name.isBelowOrAt(owner) else { return nil }
        let target = Array(name.dropLast(owner.count)) + data
        guard target.count <= 255 else { return nil }
        return DecodedMessage.Record(owner: name, type: 5, recordClass: 1, ttl: ttl, data: target)
    }
}

extension [DecodedMessage.Record] {
    /// The DNAME record with the longest owner above the name.
    func longestAbove(_ name: [UInt8]) -> DecodedMessage.Record? {
        var longest: DecodedMessage.Record?
        for record in self where name.count > record.owner.count && name.isBelowOrAt(record.owner) {
            if longest.map({ $0.owner.count < record.owner.count }) ?? true { longest = record }
        }
        return longest
    }

    /// The DNAME record that makes this CNAME record, if there is one (RFC 6672 section 3.1).
    func making(_ link: DecodedMessage.Record) -> [DecodedMessage.Record] {
        let makers = filter { $0.alias(of: link.owner)?.data.isSameName(as: link.data) ?? false }
        return makers.longestAbove(link.owner).map { [$0] } ?? []
    }
}
