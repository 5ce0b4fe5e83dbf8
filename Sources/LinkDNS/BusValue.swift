// The value of a property on the system bus, as it is read from a message.

import CSystemd

package indirect enum BusValue: Equatable, Sendable {
    /// Strings, object paths and signatures.
    case text(String)
    /// Integers of every size and sign, and booleans as 0 or 1.
    case integer(Int64)
    /// Arrays, structures, and dictionary entries with two elements.
    case list([BusValue])
    /// Values of types that no property read here has: floating-point numbers and descriptors.
    case other

    /// The value of a key in a dictionary with texts as keys.
    package subscript(key: String) -> BusValue? {
        guard case .list(let entries) = self else { return nil }
        return entries.lazy.compactMap { entry -> BusValue? in
            guard case .list(let pair) = entry, pair.count == 2, pair[0] == .text(key) else { return nil }
            return pair[1]
        }.first
    }

    package var elements: [BusValue] { if case .list(let elements) = self { elements } else { [] } }

    package var text: String? { if case .text(let text) = self { text } else { nil } }

    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

    /// The elements of an array of bytes; nil if an element is no byte.
    package var bytes: [UInt8]? {
        guard case .list(let elements) = self else { return nil }
        let bytes = elements.compactMap { $0.integer.flatMap { UInt8(exactly: $0) } }
        return bytes.count == elements.count ? bytes : nil
    }
}

extension BusValue {
    /// Bound on values: more than any list of links and domains has; a larger property is refused.
    private static let maxValues = 65_536

    /// Reads the next value of a message. A variant is read as the value that it holds.
    ///
    /// - Returns: nil at the end of the message, and for a malformed or too large one.
    static func next(of message: OpaquePointer) -> BusValue? {
        var left = maxValues
        return unsafe next(of: message, &left)
    }

    private static func next(of message: OpaquePointer, _ left: inout Int) -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard left > 0, unsafe sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
        left -= 1
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "a"), UInt8(ascii: "r"), UInt8(ascii: "e"):
            guard unsafe sd_bus_message_enter_container(message, type, contents) > 0 else { return nil }
            var elements: [BusValue] = []
            while unsafe sd_bus_message_at_end(message, 0) == 0 {
                guard let element = unsafe next(of: message, &left) else { return nil }
                elements.append(element)
            }
            return unsafe sd_bus_message_exit_container(message) < 0 ? nil : .list(elements)
        case UInt8(ascii: "v"):
            guard unsafe sd_bus_message_enter_container(message, type, contents) > 0,
                let held = unsafe next(of: message, &left), unsafe sd_bus_message_exit_container(message) >= 0
            else { return nil }
            return held
        case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
            var text: UnsafePointer<CChar>?
            guard unsafe sd_bus_message_read_basic(message, type, &text) > 0, let text = unsafe text else { return nil }
            return .text(unsafe String(cString: text))
        case UInt8(ascii: "y"): return unsafe integer(of: message, type, as: UInt8.self)
        case UInt8(ascii: "n"): return unsafe integer(of: message, type, as: Int16.self)
        case UInt8(ascii: "q"): return unsafe integer(of: message, type, as: UInt16.self)
        // A boolean is read as an int.
        case UInt8(ascii: "i"), UInt8(ascii: "b"): return unsafe integer(of: message, type, as: Int32.self)
        case UInt8(ascii: "u"): return unsafe integer(of: message, type, as: UInt32.self)
        case UInt8(ascii: "x"): return unsafe integer(of: message, type, as: Int64.self)
        case UInt8(ascii: "t"): return unsafe integer(of: message, type, as: UInt64.self)
        default: return unsafe sd_bus_message_skip(message, nil) < 0 ? nil : .other
        }
    }

    private static func integer<Value: FixedWidthInteger>(
        of message: OpaquePointer, _ type: CChar, as _: Value.Type
    ) -> BusValue? {
        var value: Value = 0
        guard unsafe sd_bus_message_read_basic(message, type, &value) > 0 else { return nil }
        return .integer(Int64(clamping: value))
    }
}
