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

    /// The two lengths.
    private static let prefixBytes = 8

    package init(_ fields: [Field] = []) {
        for field in fields { add(field.name, field.value) }
    }

    /// Creates an empty list with room for fields of this size.
    package init(reserving byteCount: Int) { bytes.reserveCapacity(byteCount) }

    package mutating func add(_ name: String, _ value: String) { add(name: name.utf8.span, value: value.utf8.span) }

    package mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        bytes.append(addingCapacity: HTTPHeaders.prefixBytes + name.count + value.count) { output in
            output.appendBigEndian(UInt32(name.count))
            output.appendBigEndian(UInt32(value.count))
            output.append(name)
            output.append(value)
        }
        count += 1
    }

    /// The fields as text, for display and for tests.
    package var fields: [Field] { places.map { Field(text($0.name), text($0.value)) } }

    package var places: Places { Places(bytes: bytes) }

    /// The value of the first field with this name.
    package subscript(name: String) -> String? {
        let name = name.utf8.span
        var places = places
        while let place = places.next() {
            if isName(place.name, name) { return text(place.value) }
        }
        return nil
    }

    /// Returns the value of the first field with this name; nil if there is none.
    package func value(of name: StaticString) -> ArraySlice<UInt8>? {
        let name = unsafe UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var places = places
        while let place = places.next() {
            if unsafe isName(place.name, name.span) { return bytes[place.value] }
        }
        return nil
    }

    /// Returns the values of all fields with this name.
    package func values(of name: StaticString) -> [ArraySlice<UInt8>] {
        let name = unsafe UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var values: [ArraySlice<UInt8>] = []
        var places = places
        while let place = places.next() {
            if unsafe isName(place.name, name.span) { values.append(bytes[place.value]) }
        }
        return values
    }

    private func isName(_ place: Range<Int>, _ name: Span<UInt8>) -> Bool {
        guard place.count == name.count else { return false }
        let written = bytes.span.extracting(place)
        for index in written.indices where written[index].lowercased != name[index].lowercased { return false }
        return true
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
            let name = at + HTTPHeaders.prefixBytes
            let value = name + Int(bytes.span.bigEndian32(at: at))
            at = value + Int(bytes.span.bigEndian32(at: at + 4))
            return Place(name: name..<value, value: value..<at)
        }
    }
}
