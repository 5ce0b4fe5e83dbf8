// The header fields of an HTTP message in their order, as bytes.

/// Names are compared without regard to the case of ASCII letters (RFC 9110 section 5.1).
package struct HTTPHeaders: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The positions of a field's name and value in `bytes`.
    package struct Place {
        package let name: Range<Int>
        package let value: Range<Int>
    }

    /// For each field the lengths of name and value, with four bytes each, then both. One array, so that a field costs
    /// no object of its own.
    package private(set) var bytes: [UInt8] = []
    package private(set) var count = 0
    /// A bit for the length of each name, modulo 64: most headers that are looked up are absent.
    private var nameLengths: UInt64 = 0

    /// The two lengths.
    fileprivate static let prefixBytes = 8

    package init(_ fields: [Field] = []) {
        for field in fields { add(field.name, field.value) }
    }

    /// Creates an empty list with room for fields of this size.
    package init(reserving byteCount: Int) { bytes.reserveCapacity(byteCount) }

    package mutating func add(_ name: String, _ value: String) { add(name: name.utf8.span, value: value.utf8.span) }

    package mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        bytes.append(addingCapacity: HTTPHeaders.prefixBytes + name.count + value.count) { output in
            output.appendBigEndian(UInt64(name.count) << 32 | UInt64(value.count))
            output.append(name)
            output.append(value)
        }
        count += 1
        nameLengths |= 1 << UInt64(name.count & 63)
    }

    /// The fields as text, for display and for tests.
    package var fields: [Field] { places.map { Field(text($0.name), text($0.value)) } }

    package var places: Places { Places(bytes: bytes) }

    /// The value of the first field with this name.
    package subscript(name: String) -> String? { place(of: name.lowercased().utf8.span).map(text) }

    /// Returns the value of the first field with this name in lower case; nil if there is none.
    @_lifetime(borrow self)
    package func value(of name: StaticString) -> Span<UInt8>? {
        guard let place = unsafe place(of: name.buffer.span) else { return nil }
        return bytes.span.extracting(place)
    }

    /// Returns the values of all fields with this name in lower case.
    package func values(of name: StaticString) -> [ArraySlice<UInt8>] {
        var values: [ArraySlice<UInt8>] = []
        var start = 0
        while let place = unsafe place(of: name.buffer.span, from: start) {
            values.append(bytes[place])
            start = place.upperBound
        }
        return values
    }

    /// Returns the position of the value of the first field with this name, among the fields from `start` on.
    private func place(of name: Span<UInt8>, from start: Int = 0) -> Range<Int>? {
        guard nameLengths & 1 << UInt64(name.count & 63) != 0 else { return nil }
        let bytes = bytes.span
        var at = start
        while at < bytes.count {
            let place = Place(in: bytes, at: at)
            if bytes.extracting(place.name).matches(name) { return place.value }
            at = place.value.upperBound
        }
        return nil
    }

    private func text(_ place: Range<Int>) -> String { String(decoding: bytes[place], as: UTF8.self) }
}

extension HTTPHeaders {
    package struct Places: Sequence, IteratorProtocol {
        private let bytes: [UInt8]
        private var at = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        package mutating func next() -> Place? {
            guard at < bytes.count else { return nil }
            let place = Place(in: bytes.span, at: at)
            at = place.value.upperBound
            return place
        }
    }
}

extension HTTPHeaders.Place {
    fileprivate init(in bytes: Span<UInt8>, at start: Int) {
        let name = start + HTTPHeaders.prefixBytes
        let value = name + Int(bytes.bigEndian32(at: start))
        let end = value + Int(bytes.bigEndian32(at: start + 4))
        unsafe self.init(name: Range(uncheckedBounds: (name, value)), value: Range(uncheckedBounds: (value, end)))
    }
}

extension StaticString {
    package var buffer: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

extension Span<UInt8> {
    /// Compares without regard to the case of ASCII letters. Looks at every byte, since a loop without an exit takes
    /// many bytes at once.
    ///
    /// - Parameter other: in lower case.
    @inlinable @inline(__always)
    package func matches(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var (difference, index): (UInt8, Int) = (0, 0)
        while index < count {
            difference |= unsafe self[unchecked: index].lowercased ^ other[unchecked: index]
            index &+= 1
        }
        return difference == 0
    }
}
