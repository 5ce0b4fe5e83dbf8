// Decodes and encodes the bodies that are JSON. Rejects those that are too long, too deep or not JSON.

import DNSWire
import JSON

package enum JSONBody {
    /// Legitimate replies have at most three levels; the limit protects the stack of the recursive decoder.
    static let maxDepth = 8
    /// The number of arrays, objects and commas in the largest accepted reply, with reserve. Each takes time, which
    /// delays all other work.
    static let maxParts = 4096

    static func decode<Value: Decodable>(_ type: Value.Type, from body: [UInt8]) throws(DialectError) -> Value {
        let document = try read(body)
        do {
            return try Value(decoding: document)
        } catch let error as DecodingError {
            throw .garbage(place(of: error))
        } catch {
            throw .garbage("JSON")
        }
    }

    /// - Parameter maxParts: limit for arrays, objects and commas together.
    static func read(_ body: [UInt8], maxParts: Int = maxParts) throws(DialectError) -> JSONValue {
        guard body.count <= DialectBounds.maxBodyBytes else { throw .garbage("JSON of \(body.count) bytes") }
        do throws(JSONFault) {
            return try JSONValue(reading: body, within: JSONLimits(maxDepth: maxDepth, maxParts: maxParts))
        } catch {
            throw .garbage("\(error)")
        }
    }

    package static func encode(_ value: some Encodable) -> [UInt8] {
        guard let document = try? value.encoded() else {
            preconditionFailure("text, numbers and lists of them are always encoded")
        }
        return Array(document.text.utf8)
    }

    /// Returns the place of an error. It has only keys and indices, so that errors do not repeat untrusted text.
    private static func place(of error: DecodingError) -> String {
        let (context, finding) =
            switch error {
            case .typeMismatch(_, let context): (context, "of another type")
            case .valueNotFound(_, let context): (context, "null")
            case .keyNotFound(let key, let context): (context, "without \(key.stringValue)")
            case .dataCorrupted(let context): (context, "not readable")
            @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "not readable")
            }
        let path = context.codingPath.map { $0.intValue.map { String($0) } ?? $0.stringValue }
        return (["JSON"] + (path.isEmpty ? [] : [path.joined(separator: ".")]) + [finding]).joined(separator: " ")
    }
}

/// An integer that is a number or a string of digits, since servers differ.
struct LenientInteger: Decodable, Equatable {
    let value: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = Int(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a number")
            }
            self.value = value
        } else {
            value = try container.decode(Int.self)
        }
    }
}

/// A TTL in seconds, as sent; may be negative. Nil if it is neither a whole number nor a string of digits: one record
/// without a usable TTL must not make the whole reply unreadable.
struct LenientTTL: Decodable, Equatable {
    let seconds: Int?

    init(_ seconds: Int?) {
        self.seconds = seconds
    }

    init(from decoder: any Decoder) throws {
        seconds = try? LenientInteger(from: decoder).value
    }

    /// The TTL, or the default for an unusable or non-positive one, because the provider meant the answer to be used
    /// (providers.md 2.2 and 9.5).
    var positiveSeconds: UInt32 {
        guard let seconds, seconds > 0 else { return DialectBounds.defaultTTLSeconds }
        return UInt32(clamping: min(seconds, Int(UpstreamReply.maxTTLSeconds)))
    }
}
