// Faults of replies: cut, with counts or lengths that lie, with bad pointers and labels, for another question, and
// random ones.

import TestSupport

enum ReplyDamage {
    private enum Fault: CaseIterable {
        case cut, trailingBytes, bit, byte, inserted, removed, count, length, topBit, pointer, pointerIn, label,
            longName
        case id, question
    }

    /// - Parameter writer: knows where the fields of the undamaged message are.
    static func damage(_ message: [UInt8], _ writer: inout MessageWriter, _ random: inout SeededRandom) -> [UInt8] {
        guard !message.isEmpty else { return random.bytes(Int.random(in: 0...30, using: &random)) }
        let any = Int.random(in: 0..<message.count, using: &random)
        switch random.pick(Fault.allCases) {
        case .cut: return Array(message.prefix(any))
        case .trailingBytes: return message + random.bytes(Int.random(in: 1...20, using: &random))
        case .bit: return replacing(message, at: any, [message[any] ^ 1 << UInt8.random(in: 0...7, using: &random)])
        case .byte: return replacing(message, at: any, random.bytes(1))
        case .inserted: return message.prefix(any) + random.bytes(1) + message.dropFirst(any)
        case .removed: return Array(message.prefix(any) + message.dropFirst(any + 1))
        case .count:
            let at = random.pick([6, 8, 10])
            return replacing(message, at: at, random.pick([[0, 0], [0, 1], [0, 2], [0, 9], [4, 0], [255, 255]]))
        case .length:
            guard let at = writer.lengths.randomElement(using: &random), at + 1 < message.count else { return message }
            let length = message[at + 1]
            return replacing(
                message, at: at, random.pick([[0, length &+ 1], [0, length &- 1], [0, 0], [255, 255]]))
        case .topBit:
            guard let at = writer.ttls.randomElement(using: &random) else { return message }
            return replacing(message, at: at, random.pick([[0x80], [0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0]]))
        case .pointer:
            return replacing(message, at: writer.pointers.randomElement(using: &random), pointer(near: any, &random))
        case .pointerIn:
            return replacing(message, at: writer.names.randomElement(using: &random), pointer(near: any, &random))
        case .label:
            let kinds: [UInt8] = [0, 1, 63, 64, 0x7F, 0x80, 0xBF]
            return replacing(message, at: writer.names.randomElement(using: &random), [random.pick(kinds)])
        case .longName:
            guard let at = writer.names.randomElement(using: &random), at <= message.count else { return message }
            let labels = (0..<3).flatMap { _ in [63] + random.bytes(63) } + Array(repeating: 1, count: 60)
            return Array(message[..<at]) + labels + message[at...]
        case .id: return replacing(message, at: 0, random.bytes(2))
        case .question:
            return replacing(message, at: Int.random(in: 12...40, using: &random), random.bytes(1))
        }
    }

    /// A pointer forward, back, into the header, behind the message, or to itself.
    private static func pointer(near place: Int, _ random: inout SeededRandom) -> [UInt8] {
        let target = random.pick([place, place, 0, 11, 12, 0x3FFF, Int.random(in: 12...60, using: &random)])
        return [0xC0 | UInt8(target >> 8 & 0x3F), UInt8(target & 0xFF)]
    }

    /// Returns the message with these bytes in place of its own, as far as it goes.
    private static func replacing(_ message: [UInt8], at place: Int?, _ bytes: [UInt8]) -> [UInt8] {
        guard let place else { return message }
        var message = message
        for (index, byte) in bytes.enumerated() where place + index < message.count { message[place + index] = byte }
        return message
    }
}
