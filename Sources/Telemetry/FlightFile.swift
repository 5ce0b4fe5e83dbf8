// Reads a flight recorder file, without a daemon: a header with sizes, then the recorder's memory. The file is
// untrusted, so any deviation from the format is an error that names it.

// Header (64 bytes): "HTTPDNSF"; then 4 bytes each: format version, rings, slots per ring, words per slot, words per
// tail, table entries, words per entry; then the program version (28 bytes).
// Moment (24 bytes, 8 each): signal, nanoseconds since boot, microseconds since 1970.
// Then the word table and the rings. Numbers are little-endian.

package struct FlightFile: Sendable {
    /// The version of the daemon that wrote the file; printable ASCII.
    package let programVersion: String
    /// The signal that ended the daemon; nil if it kept running.
    package let signal: Int?
    /// When the machine booted, in microseconds since 1970.
    package let bootMicroseconds: Int64
    /// The events, the oldest first.
    package let events: [FlightEvent]
    private let words: [String]

    package static let headerBytes = 64
    private static let momentBytes = 24
    private static let maxSignal: Int64 = 64
    /// The latest wall time that is accepted: the end of the year 9999.
    private static let maxWallMicroseconds: Int64 = 253_402_300_799_999_999
    private static let mark: [UInt8] = Array("HTTPDNSF".utf8)
    private static let version: UInt32 = 1
    private static let versionTextBytes = 28
    /// Bound on rings: those of 256 serving threads and the main thread.
    package static let maxRings = 257
    /// The size of a file with `maxRings` rings.
    package static let maxBytes =
        headerBytes + momentBytes + 8
        * (FlightStrings.capacity * FlightStrings.wordsOfEntry + maxRings * FlightRing.wordCount)

    package subscript(_ word: FlightWord) -> String {
        Int(word.number) < words.count ? words[Int(word.number)] : ""
    }

    /// Returns the header for a file of these records.
    package static func header(of records: FlightRecords, programVersion: String) -> [UInt8] {
        let numbers = [version, UInt32(records.rings.count)] + sizes
        let text = Array(programVersion.utf8.prefix(versionTextBytes))
        return mark + numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) } }
            + text + [UInt8](repeating: 0, count: versionTextBytes - text.count)
    }

    private static let sizes: [UInt32] = [
        UInt32(FlightRing.capacity), UInt32(FlightRing.slotWords), UInt32(FlightRing.tailWords),
        UInt32(FlightStrings.capacity), UInt32(FlightStrings.wordsOfEntry),
    ]

    package init(_ bytes: [UInt8]) throws(FlightFileError) {
        guard bytes.count >= FlightFile.mark.count, bytes.starts(with: FlightFile.mark) else { throw .noRecorder }
        guard bytes.count >= FlightFile.headerBytes + FlightFile.momentBytes else {
            throw .wrongSize(found: bytes.count, expected: FlightFile.headerBytes + FlightFile.momentBytes)
        }
        let number = { (index: Int) in UInt32(truncatingIfNeeded: bytes.word(at: 8 + 4 * index)) }
        guard number(0) == FlightFile.version else { throw .otherVersion(number(0)) }
        let rings = Int(number(1))
        guard (1...FlightFile.maxRings).contains(rings), FlightFile.sizes == (2..<7).map(number) else {
            throw .otherSizes
        }
        let table = FlightFile.headerBytes + FlightFile.momentBytes
        let firstRing = table + 8 * FlightStrings.capacity * FlightStrings.wordsOfEntry
        let expected = firstRing + 8 * rings * FlightRing.wordCount
        guard bytes.count == expected else { throw .wrongSize(found: bytes.count, expected: expected) }

        let text = bytes[36..<FlightFile.headerBytes].prefix { (0x21...0x7E).contains($0) }
        programVersion = String(decoding: text, as: UTF8.self)
        let moment = (0..<3).map { Int64(bitPattern: bytes.word(at: FlightFile.headerBytes + 8 * $0)) }
        guard (0...FlightFile.maxSignal).contains(moment[0]), moment[1] >= 0,
            (0...FlightFile.maxWallMicroseconds).contains(moment[2])
        else { throw .wrongMoment }
        signal = moment[0] == 0 ? nil : Int(moment[0])
        bootMicroseconds = moment[2] &- moment[1] / 1000
        words = (0..<FlightStrings.capacity).map { entry in
            let start = table + 8 * entry * FlightStrings.wordsOfEntry
            return FlightStrings.text((0..<FlightStrings.wordsOfEntry).map { bytes.word(at: start + 8 * $0) }) ?? ""
        }
        events = (0..<rings).flatMap { FlightFile.events(in: bytes, at: firstRing + 8 * $0 * FlightRing.wordCount) }
            .sorted { $0.nanoseconds < $1.nanoseconds }
    }

    /// Returns the events of one ring in order. Slots that were being replaced or were never written are left out.
    private static func events(in bytes: [UInt8], at start: Int) -> [FlightEvent] {
        var found: [(number: UInt64, event: FlightEvent)] = []
        for place in 0..<FlightRing.capacity {
            let slot = start + 8 * (FlightRing.firstSlot + place * FlightRing.slotWords)
            let mark = bytes.word(at: slot)
            guard mark > 0, mark.isMultiple(of: 2) else { continue }
            let number = mark / 2 - 1
            guard number % UInt64(FlightRing.capacity) == UInt64(place) else { continue }
            let tail = start + 8 * (FlightRing.firstTail + place * FlightRing.tailWords)
            let words =
                (0..<FlightRing.slotWords).map { bytes.word(at: slot + 8 * $0) }
                + (0..<FlightRing.tailWords).map { bytes.word(at: tail + 8 * $0) }
            if let event = FlightEvent(words) { found.append((number, event)) }
        }
        return found.sorted { $0.number < $1.number }.map(\.event)
    }
}

package enum FlightFileError: Error, Equatable, Sendable {
    case noRecorder
    case otherVersion(UInt32)
    case otherSizes
    case wrongMoment
    /// Sizes in bytes.
    case wrongSize(found: Int, expected: Int)
}

extension FlightFileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noRecorder: "not a file of the flight recorder"
        case .otherVersion(let version): "written in version \(version) of the format; this program reads version 1"
        case .otherSizes: "its header has other sizes than this program writes: damaged, or of another release"
        case .wrongMoment: "the moment in it is none at which it can have been written: damaged"
        case .wrongSize(let found, let expected):
            "\(found) bytes, and its header says \(expected): cut short, or damaged"
        }
    }
}

extension FlightRecords {
    /// The memory that follows header and moment in a file. It is valid as long as the records exist.
    package var parts: [UnsafeRawBufferPointer] { unsafe [words.memory.bytes] + rings.map { unsafe $0.memory.bytes } }
}

extension [UInt8] {
    fileprivate func word(at offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: span.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
