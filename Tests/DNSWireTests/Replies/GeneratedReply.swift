// A reply from a seed: valid ones of all shapes, and half of them damaged. The same seed gives the same bytes.

import DNSWire
import TestSupport

struct GeneratedReply {
    let question: Question
    let id: UInt16
    private(set) var message: [UInt8] = []
    private var random: SeededRandom
    private let name: [UInt8]
    private var answers: [MessageWriter.Record] = []
    private var authorities: [MessageWriter.Record] = []
    private var additionals: [MessageWriter.Record] = []
    /// The name at the end of the chain.
    private var end: [UInt8]

    private static let types: [UInt16] = [
        1, 1, 1, 1, 28, 28, 28, 65, 65, 5, 2, 6, 12, 15, 16, 17, 24, 26, 30, 33, 35, 36, 39, 43, 46, 48, 64, 255, 257,
        65_280,
    ]
    private static let otherTypes: [UInt16] = types + [41, 47, 50, 128, 249, 250, 252]

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        name = GeneratedReply.name(&random)
        end = name
        let bits: DNSSECBits =
            random.chance(30) ? (random.chance(20) ? [.dnssecOK, .checkingDisabled] : .dnssecOK) : []
        guard let asked = Name(wire: name) else { preconditionFailure("a generated name is valid") }
        question = Question(asked, RecordType(rawValue: random.pick(GeneratedReply.types)), dnssec: bits)
        id = random.chance(50) ? 0 : UInt16.random(in: 0...0xFFFF, using: &random)
        self.random = random
        addChain()
        let isPositive = self.random.chance(70)
        if isPositive { addFinalRecords() }
        addOthers()
        addAuthorities(isPositive: isPositive)
        addOptions()
        if self.random.chance(15) { answers.shuffle(using: &self.random) }
        var writer = written(isPositive: isPositive)
        message = writer.bytes
        while self.random.chance(40) {
            message = ReplyDamage.damage(message, &writer, &self.random)
        }
    }

    // MARK: names and data

    private static let labels = ["www", "a", "b", "mail", "cdn", "example", "com", "net", "xn--p1ai", "_443", "_tcp"]

    private static func name(_ random: inout SeededRandom) -> [UInt8] {
        if random.chance(3) { return [0] }
        if random.chance(4) {
            // Up to the longest name, in long or in short labels.
            let length = random.pick([1, 2, 61, 62, 63])
            var name: [UInt8] = []
            while name.count + length + 1 < Int.random(in: 200...255, using: &random) {
                name += [UInt8(length)] + (0..<length).map { _ in UInt8.random(in: 97...122, using: &random) }
            }
            return name + [0]
        }
        return (0..<Int.random(in: 1...4, using: &random)).flatMap { _ in
            let label =
                random.chance(4) ? random.bytes(Int.random(in: 1...8, using: &random)) : Array(random.pick(labels).utf8)
            return [UInt8(label.count)] + label
        } + [0]
    }

    private mutating func otherName() -> [UInt8] { GeneratedReply.name(&random) }

    /// The name, or one above it.
    private mutating func ancestor(of name: [UInt8], strictly: Bool = false) -> [UInt8] {
        var name = name
        while name.count > 1, strictly || random.chance(50) {
            name = Array(name.dropFirst(1 + Int(name[0])))
            if strictly { return ancestor(of: name) }
        }
        return name
    }

    private mutating func ttl() -> UInt32 {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: 0
        case 1: random.pick([0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x8000_0001])
        case 2: UInt32.random(in: 0...UInt32.max, using: &random)
        default: random.pick([1, 30, 60, 300, 3600, 86_400])
        }
    }

    private mutating func data(_ type: UInt16) -> [MessageWriter.Piece] {
        switch type {
        case 1: return [.bytes(random.bytes(4))]
        case 28: return [.bytes(random.bytes(16))]
        case 2, 5, 12, 39: return [.name(otherName())]
        case 6: return [.name(otherName()), .name(otherName()), .bytes(random.bytes(16) + bigEndian(ttl()))]
        case 17: return [.name(otherName()), .name(otherName())]
        case 15, 36: return [.bytes(random.bytes(2)), .name(otherName())]
        case 24: return [.bytes(random.bytes(18)), .name(otherName()), .bytes(random.bytes(9))]
        case 26: return [.bytes(random.bytes(2)), .name(otherName()), .name(otherName())]
        case 30: return [.name(otherName()), .bytes(random.bytes(4))]
        case 33: return [.bytes(random.bytes(6)), .name(otherName())]
        case 35: return [.bytes(random.bytes(4) + [1, 83, 0, 2, 33, 33]), .name(otherName())]
        case 46: return [.bytes(bigEndian16(random.pick([1, 28, 6, 5, 39, 47, 50, 43, 2, 46, 16])) + random.bytes(30))]
        case 64, 65:
            return [
                .bytes([0, UInt8.random(in: 0...1, using: &random)]), .name(otherName()),
                .bytes([0, 1, 0, 3, 2, 104, 50]),
            ]
        default: return [.bytes(random.bytes(Int.random(in: 0...40, using: &random)))]
        }
    }

    private func bigEndian(_ number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(number >> $0 & 0xFF) }
    }

    private func bigEndian16(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    private func signature(_ owner: [UInt8], over type: UInt16, ttl: UInt32) -> MessageWriter.Record {
        MessageWriter.Record(
            owner: owner, type: 46, ttl: ttl, data: [.bytes(bigEndian16(type) + Array(repeating: 9, count: 40))])
    }

    // MARK: sections

    private mutating func addChain() {
        let count = random.pick([0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 5])
        let signs = question.dnssec.contains(.dnssecOK) || random.chance(10)
        var visited = [name]
        for _ in 0..<(random.chance(3) ? Int.random(in: 30...34, using: &random) : count) {
            let lifetime = ttl()
            let zone = ancestor(of: end, strictly: true)
            var target = random.chance(4) ? random.pick(visited) : otherName()
            if random.chance(20), zone.count < end.count {
                answers.append(MessageWriter.Record(owner: zone, type: 39, ttl: lifetime, data: [.name(target)]))
                if signs { answers.append(signature(zone, over: 39, ttl: lifetime)) }
                target = Array(end.dropLast(zone.count)) + target
                guard target.count <= 255 else { return }
                if random.chance(30) {
                    end = target
                    continue
                }
            }
            answers.append(MessageWriter.Record(owner: end, type: 5, ttl: lifetime, data: [.name(target)]))
            if signs { answers.append(signature(end, over: 5, ttl: lifetime)) }
            end = target
            visited.append(end)
        }
    }

    private mutating func addFinalRecords() {
        let type = question.type == .any ? random.pick(GeneratedReply.types) : question.type.rawValue
        let count = random.chance(2) ? Int.random(in: 20...120, using: &random) : Int.random(in: 1...4, using: &random)
        for _ in 0..<count {
            answers.append(
                MessageWriter.Record(owner: end, type: type == 255 ? 1 : type, ttl: ttl(), data: data(type)))
        }
        if let last = answers.last, random.chance(10) {
            answers.append(last)
            answers[answers.count - 1].ttl = ttl()
        }
        if question.dnssec.contains(.dnssecOK) || random.chance(10) {
            answers.append(signature(end, over: type, ttl: ttl()))
        }
    }

    /// Adds records that do not belong to the answer, mostly.
    private mutating func addOthers() {
        guard random.chance(25) else { return }
        for _ in 0..<(random.chance(1) ? 1020 : Int.random(in: 1...3, using: &random)) {
            let type = random.pick(GeneratedReply.otherTypes)
            let owner = random.pick([name, end, ancestor(of: end), otherName()])
            let recordClass: UInt16 = random.chance(80) ? 1 : random.pick([0, 3, 254, 255, 1232])
            answers.append(
                MessageWriter.Record(owner: owner, type: type, recordClass: recordClass, ttl: ttl(), data: data(type)))
        }
    }

    private mutating func addAuthorities(isPositive: Bool) {
        let zone = random.chance(85) ? ancestor(of: end) : otherName()
        let signs = question.dnssec.contains(.dnssecOK) || random.chance(10)
        if random.chance(isPositive ? 10 : 75) {
            authorities.append(MessageWriter.Record(owner: zone, type: 6, ttl: ttl(), data: data(6)))
            if signs { authorities.append(signature(zone, over: 6, ttl: ttl())) }
        }
        if random.chance(20) {
            authorities.append(
                MessageWriter.Record(
                    owner: zone, type: 2, recordClass: random.chance(90) ? 1 : 3, ttl: ttl(), data: data(2)))
            if signs { authorities.append(signature(zone, over: 2, ttl: ttl())) }
        }
        guard signs else { return }
        for type: UInt16 in [47, 50, 43] where random.chance(40) {
            let owner = random.chance(50) ? zone : otherName()
            authorities.append(MessageWriter.Record(owner: owner, type: type, ttl: ttl(), data: data(type)))
            authorities.append(signature(owner, over: type, ttl: ttl()))
        }
    }

    private mutating func addOptions() {
        if random.chance(20) {
            additionals.append(MessageWriter.Record(owner: otherName(), type: 1, ttl: ttl(), data: data(1)))
        }
        guard random.chance(60) else { return }
        for _ in 0..<(random.chance(2) ? 2 : 1) {
            var options: [UInt8] = []
            if random.chance(30) { options += [0, 10, 0, 8] + random.bytes(8) }
            while random.chance(30) {
                let text = Array(random.pick(["", "blocked by a filter", "signature expired"]).utf8)
                options +=
                    [0, 15] + bigEndian16(UInt16(text.count + 2)) + [0, UInt8.random(in: 0...30, using: &random)] + text
            }
            if random.chance(30) { options += [0, 12, 0, 20] + Array(repeating: 0, count: 20) }
            let code: UInt32 = random.chance(3) ? random.pick([1, 2, 255]) << 24 : 0
            additionals.append(
                MessageWriter.Record(
                    owner: [0], type: 41, recordClass: 1232, ttl: code | (random.chance(50) ? 0x8000 : 0),
                    data: [.bytes(options)]))
        }
    }

    private mutating func written(isPositive: Bool) -> MessageWriter {
        var writer = MessageWriter(compressed: random.pick([0, 50, 100, 100]), mixed: random.pick([0, 0, 30, 100]))
        writer.append(id)
        var code: UInt16 = isPositive || random.chance(50) ? 0 : 3
        if random.chance(7) { code = random.pick([1, 2, 3, 4, 5, 9, 15]) }
        let free = UInt16.random(in: 0...0xFFFF, using: &random) & 0x05F0
        writer.append(0x8000 | code | free | (random.chance(2) ? 0x0200 : 0) | (random.chance(1) ? 0x2000 : 0))
        writer.append(random.chance(1) ? random.pick([0, 2, 0xFFFF]) : 1)
        for count in [answers.count, authorities.count, additionals.count] { writer.append(UInt16(count)) }
        writer.append(name: name, &random)
        writer.append(question.type.rawValue)
        writer.append(1)
        for record in answers + authorities + additionals { writer.append(record, &random) }
        return writer
    }
}
