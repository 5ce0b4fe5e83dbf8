// A file of the flight recorder from an untrusted source: read, and shown as by `recorder read`.

import Control
import Telemetry

extension FuzzEntry {
    /// An input is the difference to a file of one empty ring, so that it stays small: header and moment, the first two
    /// words, the first four slots, the first two tails.
    package static let flightFile = FuzzEntry(name: "FlightFile") { bytes in
        _ = try? FlightFile(bytes)
        var file = [UInt8](repeating: 0, count: firstTail + FlightRing.capacity * tailBytes)
        var rest = bytes[...]
        for (place, count) in [
            (0, headBytes), (headBytes, 2 * wordBytes), (firstSlot, 4 * slotBytes), (firstTail, 2 * tailBytes),
        ] {
            let piece = rest.prefix(count)
            file.replaceSubrange(place..<(place + piece.count), with: piece)
            rest = rest.dropFirst(count)
        }
        guard let read = try? FlightFile(file) else { return }
        for asJSON in [false, true] {
            let text = read.text(asJSON: asJSON, showsClients: true)
            precondition(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\n") }, "safe to print")
        }
    }

    private static let headBytes = 88
    private static let wordBytes = 64
    private static let slotBytes = 128
    private static let tailBytes = 184
    /// The offset of the first slot, after the ring's count, which has a cache line of its own.
    private static let firstSlot = headBytes + FlightStrings.capacity * wordBytes + 64
    private static let firstTail = firstSlot + FlightRing.capacity * slotBytes
}
