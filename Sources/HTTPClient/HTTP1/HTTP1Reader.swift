// Reads replies of HTTP/1.1 (RFC 9112): bytes in, events out. No socket, no clock, and no copy of a line that arrives
// in one piece. Any segmentation of the bytes gives the same reply.
//
//     statusLine --> fields --> (dataOfLength | chunk lines and data --> trailers | dataUntilEnd) --> complete
//          ^ interim reply `
//
// A line ends with LF, and a CR before the LF is part of the end (section 2.2). Replies that the RFC calls
// invalid are garbage: folded lines, space around names, lengths that differ, and codings other than "chunked".

import DNSWire

package struct HTTP1Reader {
    package enum Event: Equatable {
        /// All bytes are processed.
        case needsMore
        /// The status of the final reply, 200 to 999. Interim replies have no events.
        case status(Int)
        case field(Field)
        case endOfFields
        /// The range of the bytes that are a part of the body.
        case data(Range<Int>)
        /// The reply has ended; the following bytes are not part of it.
        case complete
        /// Repeated by each further call.
        case failed(TransferFailure)
    }

    /// The positions of a field's name and value in the bytes, or in `held`.
    package struct Field: Equatable {
        package let name: Range<Int>
        package let value: Range<Int>
        package let isHeld: Bool
    }

    private enum State {
        case statusLine
        case fields
        case dataOfLength(Int)
        case dataUntilEnd
        /// The digits of a chunk's size; `count` of them are read.
        case chunkSize(Int, count: Int)
        /// The rest of a chunk's first line; extensions are skipped (section 7.1.1).
        case chunkExtensions(Int)
        /// The bytes of a chunk that are left; after 0 follows the end of the line.
        case chunkData(Int)
        case trailers
        case complete
        case failed(TransferFailure)
    }

    private struct Line {
        let range: Range<Int>
        let isHeld: Bool
    }

    private static let cr: UInt8 = 0x0D
    private static let lf: UInt8 = 0x0A
    /// The size of a chunk has a few digits. The bound leaves room for leading zeros.
    private static let maxSizeDigits = 16

    private var state = State.statusLine
    /// The beginning of a line whose end has not arrived, or the last line, if it arrived in pieces.
    package private(set) var held: [UInt8] = []
    private var heldIsLine = false
    /// Bytes of lines, interim replies and trailers included; at most `Transfer.maxHeaderBytes`.
    private var lineBytes = 0
    private var fieldCount = 0
    /// The last byte is a CR, which only an LF may follow.
    private var awaitsLF = false

    private var status = 0
    private var isHTTP10 = false
    /// The length of Content-Length; nil: none.
    private var length: Int?
    private var isChunked = false
    private var mayClose = false
    private var mayKeep = false

    /// The body's length and coding are of no interest.
    private let ignoresBody: Bool

    /// - Parameter ignoresBody: true for a reply that has no body, whatever its fields say (RFC 9110 section 9.3.6).
    package init(ignoresBody: Bool = false) { self.ignoresBody = ignoresBody }

    /// True if the connection may carry another request after the reply (section 9.3). A reply with both Content-Length
    /// and Transfer-Encoding, or with Transfer-Encoding in HTTP/1.0, may be an attack (sections 6.1 and 6.3).
    package var keepsConnection: Bool {
        guard case .complete = state, !mayClose, !(isChunked && (isHTTP10 || length != nil)) else { return false }
        return mayKeep || !isHTTP10
    }

    /// Processes bytes from `start` on, up to the next event. After each event but `needsMore`, call again with the
    /// same bytes.
    ///
    /// - Parameter start: advanced over the processed bytes.
    package mutating func next(in bytes: Span<UInt8>, from start: inout Int) -> Event {
        while true {
            switch state {
            case .statusLine, .fields, .trailers:
                guard let line = line(in: bytes, from: &start) else { return takeBeginning() }
                if let event = take(line, in: bytes) { return event }
            case .dataOfLength(let left):
                guard left <= TransferReply.maxBodyBytes else { return fail(.oversized) }
                guard left > 0 else { return end() }
                guard let data = data(in: bytes, from: &start, atMost: left) else { return .needsMore }
                state = .dataOfLength(left - data.count)
                return .data(data)
            case .dataUntilEnd:
                guard let data = data(in: bytes, from: &start, atMost: .max) else { return .needsMore }
                return .data(data)
            case .chunkData(let left) where left > 0:
                guard let data = data(in: bytes, from: &start, atMost: left) else { return .needsMore }
                state = .chunkData(left - data.count)
                return .data(data)
            case .chunkSize, .chunkExtensions, .chunkData:
                guard start < bytes.count else { return .needsMore }
                if let failure = takeChunkByte(bytes[start]) { return fail(failure) }
                start += 1
            case .complete: return .complete
            case .failed(let failure): return .failed(failure)
            }
        }
    }

    /// Processes the end of the connection.
    ///
    /// - Returns: true if it is the end of the reply.
    package mutating func receivedEnd() -> Bool {
        guard case .dataUntilEnd = state else { return false }
        (state, mayClose) = (.complete, true)
        return true
    }

    /// Returns the event of a line that has not ended. Another protocol need not have lines.
    private mutating func takeBeginning() -> Event {
        switch state {
        case .failed(let failure): return .failed(failure)
        case .statusLine where !HTTP1Reader.version.utf8.starts(with: held.prefix(HTTP1Reader.version.utf8.count)):
            return failStatus()
        default: return .needsMore
        }
    }

    private mutating func fail(_ failure: TransferFailure) -> Event {
        state = .failed(failure)
        return .failed(failure)
    }

    private mutating func fail(_ reason: String) -> Event { fail(.garbage(reason)) }

    private mutating func end() -> Event {
        state = .complete
        return .complete
    }

    private func data(in bytes: Span<UInt8>, from start: inout Int, atMost count: Int) -> Range<Int>? {
        let begin = start
        guard begin < bytes.count else { return nil }
        start = begin + min(count, bytes.count - begin)
        return begin..<start
    }

    // MARK: lines

    /// Returns the next line without its end; nil if its end has not arrived, or the lines are too many.
    private mutating func line(in bytes: Span<UInt8>, from start: inout Int) -> Line? {
        if heldIsLine {
            held.removeAll(keepingCapacity: true)
            heldIsLine = false
        }
        let begin = start
        var end = begin
        while end < bytes.count, unsafe bytes[unchecked: end] != HTTP1Reader.lf { end &+= 1 }
        let isWhole = end < bytes.count
        start = isWhole ? end + 1 : end
        lineBytes += start - begin
        guard lineBytes <= Transfer.maxHeaderBytes else {
            state = .failed(.oversized)
            return nil
        }
        if isWhole, held.isEmpty {
            if end > begin, bytes[end - 1] == HTTP1Reader.cr { end -= 1 }
            return Line(range: begin..<end, isHeld: false)
        }
        held.append(addingCapacity: end - begin) { $0.append(bytes.extracting(begin..<end)) }
        guard isWhole else { return nil }
        heldIsLine = true
        return Line(range: 0..<(held.last == HTTP1Reader.cr ? held.count - 1 : held.count), isHeld: true)
    }

    /// - Returns: nil if the line has no event.
    private mutating func take(_ line: Line, in bytes: Span<UInt8>) -> Event? {
        if case .trailers = state { return line.range.isEmpty ? end() : nil }
        guard line.isHeld else { return take(bytes.extracting(line.range), line) }
        let copy = held
        return take(copy.span.extracting(line.range), line)
    }

    private mutating func take(_ text: Span<UInt8>, _ line: Line) -> Event? {
        if case .statusLine = state { return takeStatus(text) }
        return line.range.isEmpty ? takeEndOfFields() : takeField(text, line)
    }

    private static let version = "HTTP/1."

    private mutating func failStatus() -> Event { fail("no status line of HTTP/1.1") }

    /// Reads "HTTP/1.1 200 OK" (section 4). The last space and the reason may be absent.
    private mutating func takeStatus(_ line: Span<UInt8>) -> Event? {
        let version = HTTP1Reader.version.utf8.span
        guard line.count >= 12, version.indices.allSatisfy({ line[$0] == version[$0] }), line[7].isDigit,
            line[8] == 0x20, line[9].isDigit, line[10].isDigit, line[11].isDigit, line.count == 12 || line[12] == 0x20
        else { return failStatus() }
        status = line.extracting(9..<12).indices.reduce(0) { 10 * $0 + Int(line[9 + $1] - UInt8(ascii: "0")) }
        isHTTP10 = line[7] == UInt8(ascii: "0")
        (length, isChunked, mayClose, mayKeep, fieldCount) = (nil, false, false, false, 0)
        guard status >= 100, status != 101 else { return fail("status \(status)") }
        state = .fields
        return isInterim ? nil : .status(status)
    }

    private var isInterim: Bool { status < 200 }

    private mutating func takeField(_ line: Span<UInt8>, _ place: Line) -> Event? {
        var colon = 0
        while colon < line.count, unsafe line[unchecked: colon].isTokenCharacter { colon &+= 1 }
        // Anything but a character of a token before the colon, such as the space of a folded line, is no field.
        guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else { return fail("no header field") }
        let valueRange = HTTP1Reader.trimmed(colon + 1..<line.count, in: line)
        let (name, value) = (line.extracting(..<colon), line.extracting(valueRange))
        guard HTTP1Reader.isText(value) else { return fail("a control character in a header") }
        fieldCount += 1
        guard fieldCount <= Transfer.maxHeaders else { return fail(.oversized) }
        if let failure = note(name, value) { return fail(failure) }
        guard !isInterim else { return nil }
        let first = place.range.lowerBound
        let (start, end) = (first + valueRange.lowerBound, first + valueRange.upperBound)
        return .field(Field(name: first..<first + colon, value: start..<end, isHeld: place.isHeld))
    }

    /// Returns the range without the blanks at its ends.
    private static func trimmed(_ range: Range<Int>, in text: Span<UInt8>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, text[start].isBlank { start += 1 }
        while start < end, text[end - 1].isBlank { end -= 1 }
        return start..<end
    }

    /// Looks at every byte, since a loop without an exit takes many bytes at once.
    private static func isText(_ bytes: Span<UInt8>) -> Bool {
        var (faults, index): (UInt8, Int) = (0, 0)
        while index < bytes.count {
            let byte = unsafe bytes[unchecked: index]
            faults |= byte == 0 || byte == cr ? 1 : 0
            index &+= 1
        }
        return faults == 0
    }

    private mutating func takeEndOfFields() -> Event? {
        guard !isInterim else {
            state = .statusLine
            return nil
        }
        state =
            if status == 204 || status == 304 {
                .dataOfLength(0)
            } else if isChunked {
                .chunkSize(0, count: 0)
            } else if let length {
                .dataOfLength(length)
            } else {
                .dataUntilEnd
            }
        return .endOfFields
    }

    // MARK: fields

    /// Notes the fields that concern the message's end and the connection.
    private mutating func note(_ name: Span<UInt8>, _ value: Span<UInt8>) -> TransferFailure? {
        guard !ignoresBody else { return nil }
        switch name.count {
        case 10 where unsafe name.matches(HTTP1Reader.connection.buffer.span): noteOptions(value)
        case 14 where unsafe name.matches(HTTP1Reader.contentLength.buffer.span): return noteLength(value)
        case 17 where unsafe name.matches(HTTP1Reader.transferEncoding.buffer.span):
            guard !isChunked, unsafe value.matches(HTTP1Reader.chunked.buffer.span) else {
                return .garbage("an unknown transfer encoding")
            }
            isChunked = true
        default: break
        }
        return nil
    }

    private static let connection: StaticString = "connection"
    private static let contentLength: StaticString = "content-length"
    private static let transferEncoding: StaticString = "transfer-encoding"
    private static let chunked: StaticString = "chunked"
    private static let close: StaticString = "close"
    private static let keepAlive: StaticString = "keep-alive"

    /// Reads the list of a Connection field (RFC 9110 section 7.6.1).
    private mutating func noteOptions(_ list: Span<UInt8>) {
        var start = 0
        while start < list.count {
            var end = start
            while end < list.count, list[end] != UInt8(ascii: ",") { end += 1 }
            let option = list.extracting(HTTP1Reader.trimmed(start..<end, in: list))
            if unsafe option.matches(HTTP1Reader.close.buffer.span) { mayClose = true }
            if unsafe option.matches(HTTP1Reader.keepAlive.buffer.span) { mayKeep = true }
            start = end + 1
        }
    }

    private mutating func noteLength(_ digits: Span<UInt8>) -> TransferFailure? {
        var value = 0
        for index in digits.indices {
            guard digits[index].isDigit else { return .garbage("a wrong length") }
            // Larger lengths need not be told apart: the reply is too large.
            value = min(10 * value + Int(digits[index] - UInt8(ascii: "0")), TransferReply.maxBodyBytes + 1)
        }
        guard !digits.isEmpty, length == nil || length == value else { return .garbage("a wrong length") }
        length = value
        return nil
    }

    // MARK: chunks

    private mutating func takeChunkByte(_ byte: UInt8) -> TransferFailure? {
        guard !awaitsLF || byte == HTTP1Reader.lf else { return .garbage("a broken chunk") }
        awaitsLF = false
        switch (state, byte) {
        case (.chunkSize(let size, let count), _):
            guard let digit = byte.hexValue else {
                guard count > 0 else { return .garbage("a chunk without a size") }
                state = .chunkExtensions(size)
                return takeAfterSize(byte, size)
            }
            guard count < HTTP1Reader.maxSizeDigits else { return .garbage("a long chunk size") }
            let larger = size << 4 | Int(digit)
            guard larger <= TransferReply.maxBodyBytes else { return .oversized }
            state = .chunkSize(larger, count: count + 1)
        case (.chunkExtensions(let size), HTTP1Reader.lf): state = size == 0 ? .trailers : .chunkData(size)
        case (.chunkExtensions, _):
            lineBytes += 1
            guard lineBytes <= Transfer.maxHeaderBytes else { return .oversized }
        case (_, HTTP1Reader.cr): awaitsLF = true
        case (_, HTTP1Reader.lf): state = .chunkSize(0, count: 0)
        default: return .garbage("a broken chunk")
        }
        return nil
    }

    /// The byte after the digits ends the line, or begins the extensions.
    private mutating func takeAfterSize(_ byte: UInt8, _ size: Int) -> TransferFailure? {
        switch byte {
        case HTTP1Reader.lf: state = size == 0 ? .trailers : .chunkData(size)
        case HTTP1Reader.cr: awaitsLF = true
        case UInt8(ascii: ";"), 0x20, 0x09: break
        default: return .garbage("a wrong chunk size")
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// True for a character of a token (RFC 9110 section 5.6.2). The constants have a bit for each character, from "!"
    /// to "9" and from "A" to "~".
    fileprivate var isTokenCharacter: Bool {
        let bits: UInt64 = self < 0x40 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 0x80 && bits &>> UInt64(self & 0x3F) & 1 == 1
    }
}
