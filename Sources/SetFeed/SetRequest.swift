// Requests of the daemon to the helper, which alone may change nftables sets. One datagram in network byte order:
// version, number, length and text of the set's name, number of elements, elements.

package import DNSWire

package struct SetRequest: Equatable, Sendable {
    /// The number of the request, repeated in the reply.
    package let number: UInt32
    package let set: AddressSet
    /// Up to `maxElements` elements; a request without elements asks for the state of the set.
    package let elements: [SetElement]

    package static let version: UInt8 = 2
    /// Bound on elements. The kernel writes as many in about a millisecond. Their places fit into one byte.
    package static let maxElements = 256
    /// Bound on the bytes of a request; the longest one is shorter.
    package static let maxBytes = 8192

    package init(number: UInt32, set: AddressSet, elements: [SetElement]) {
        self.number = number
        self.set = set
        self.elements = elements
    }

    /// Returns nil unless the bytes are one whole request within all bounds. The bytes come from a process with fewer
    /// rights.
    package init?(_ bytes: [UInt8]) {
        var rest = WireFields(bytes)
        guard rest.byte() == SetRequest.version, let number = rest.number(4), let length = rest.byte(),
            let text = rest.text(Int(length)), let set = AddressSet(text), let count = rest.number(2),
            count <= SetRequest.maxElements
        else { return nil }
        var elements: [SetElement] = []
        for _ in 0..<count {
            guard let element = SetElement(&rest) else { return nil }
            elements.append(element)
        }
        guard rest.isAtEnd else { return nil }
        self.init(number: number, set: set, elements: elements)
    }

    package var bytes: [UInt8] {
        let name = Array(set.description.utf8)
        var bytes = [SetRequest.version] + number.networkBytes + [UInt8(name.count)] + name
        bytes += UInt32(elements.count).networkBytes.suffix(2)
        for element in elements {
            let address = element.address.bytes
            bytes += [UInt8(address.count)] + address + element.timeoutSeconds.networkBytes
        }
        return bytes
    }
}

package struct SetElement: Equatable, Sendable {
    package let address: Address
    /// The time-out of the element: 1 s to 14 days, which is twice the longest TTL that settings allow.
    package let timeoutSeconds: UInt32

    package static let timeouts: ClosedRange<UInt32> = 1...14 * 24 * 3600

    package init(address: Address, timeoutSeconds: UInt32) {
        self.address = address
        self.timeoutSeconds = timeoutSeconds
    }

    fileprivate init?(_ rest: inout WireFields) {
        guard let length = rest.byte(), length == 4 || length == 16, let data = rest.bytes(Int(length)),
            let address = Address(bytes: data), let timeout = rest.number(4), SetElement.timeouts.contains(timeout)
        else { return nil }
        self.init(address: address, timeoutSeconds: timeout)
    }
}

/// Reads the fields of a message in turn; nil for a field beyond its end.
struct WireFields {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func number(_ count: Int) -> UInt32? { bytes(count)?.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Returns the next text; nil unless it is printable ASCII only.
    mutating func text(_ count: Int) -> String? {
        guard let bytes = bytes(count), bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt32 {
    var networkBytes: [UInt8] { stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) } }
}
