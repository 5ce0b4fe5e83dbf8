// The TOML form of one kind of setting: allowed values, parser and writer. Error messages, the parser and
// `--print-effective` share it, so they agree.

import DNSWire

struct Format<Value>: Sendable {
    /// Ends the sentence "allowed: ...".
    let allowed: String
    let schema: @Sendable () -> ValueSchema
    let read: @Sendable (TOMLNode) throws(Misfit) -> Value
    /// Returns TOML text; nil for a value that is omitted.
    let write: @Sendable (Value) -> String?
    let secrecy: Secrecy

    /// - Parameter schema: made only for `--print-schema`.
    init(
        allowed: String, schema: @autoclosure @escaping @Sendable () -> ValueSchema,
        read: @escaping @Sendable (TOMLNode) throws(Misfit) -> Value,
        write: @escaping @Sendable (Value) -> String?, secrecy: Secrecy = .none
    ) {
        (self.allowed, self.schema, self.read, self.write, self.secrecy) = (allowed, schema, read, write, secrecy)
    }
}

/// Whether messages show the text in place of a value. Remedies of a format with secrets repeat only text that is
/// shown.
enum Secrecy: Sendable {
    case none
    /// Texts are shown only if they cannot hold a secret.
    case unless(@Sendable (String) -> Bool)
    case always

    func hides(_ node: TOMLNode) -> Bool {
        switch (self, node.value) {
        case (.none, _): false
        case (.unless(let isPublic), .string(let text)): !isPublic(text)
        default: true
        }
    }
}

/// Invalid values. The text is for operators and lacks only the key's name.
struct Misfit: Error {
    struct Fault {
        let node: Int
        let text: String
    }

    let faults: [Fault]

    init(_ faults: [Fault]) {
        self.faults = faults
    }

    init(_ node: TOMLNode, _ secrecy: Secrecy = .none, allowed: String, remedy: String? = nil) {
        let found = secrecy.hides(node) ? hiddenValue : node.found
        let advice = remedy.map { "; \($0)" } ?? ""
        faults = [Fault(node: node.index, text: "found \(found); allowed: \(allowed)\(advice)")]
    }

    /// Returns the misfit of a format that allows more than the format that found it.
    func replacing(_ allowed: String, with wider: String) -> Misfit {
        Misfit(faults.map { Fault(node: $0.node, text: $0.text.replacing(allowed, with: wider)) })
    }
}

/// Describes a value that an error message must not show.
let hiddenValue = "a value that is not shown, because it may be a key"

/// Follows a message about an unknown table or key whose name resembles no known one: it may be an account's key.
let hiddenName = "; its name is not shown, because it may be a secret;"

/// Returns a TOML basic string, truncated for display and safe for terminals.
func quoted(_ text: String) -> String {
    let maxShown = 60
    return text.unicodeScalars.count <= maxShown ? tomlString(text) : tomlString(String(text.prefix(maxShown))) + "..."
}

/// Returns a TOML basic string.
package func tomlString(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case "\n": result += "\\n"
        case "\t": result += "\\t"
        case _ where isUnseen(scalar):
            let isShort = scalar.value <= 0xFFFF
            result += (isShort ? "\\u" : "\\U") + scalar.value.digits(isShort ? 4 : 8, radix: 16)
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

/// True for control characters, direction marks and invisible characters.
func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
    let unseen: [Unicode.GeneralCategory] = [.control, .format, .lineSeparator, .paragraphSeparator]
    return unseen.contains(scalar.properties.generalCategory)
}

extension Format {
    /// The format of a string that `parse` accepts; `remedy` may suggest a replacement for an invalid one.
    ///
    /// - Parameter remediesIntegers: the remedy is also for an integer, as its digits.
    static func text(
        allowed: String, schema: @autoclosure @escaping @Sendable () -> ValueSchema, secrecy: Secrecy = .none,
        remediesIntegers: Bool = false, remedy: @escaping @Sendable (String) -> String? = { _ in nil },
        parse: @escaping @Sendable (String) -> Value?, write: @escaping @Sendable (Value) -> String
    ) -> Format {
        Format(
            allowed: allowed, schema: schema(),
            read: { node throws(Misfit) in
                switch node.value {
                case .string(let text):
                    if let value = parse(text) { return value }
                    throw Misfit(node, secrecy, allowed: allowed, remedy: remedy(text))
                case .integer(let number) where remediesIntegers:
                    throw Misfit(node, secrecy, allowed: allowed, remedy: remedy("\(number)"))
                default: throw Misfit(node, secrecy, allowed: allowed)
                }
            },
            write: { tomlString(write($0)) }, secrecy: secrecy)
    }

    /// The format in which the empty string means unset; `written` says whether to write it.
    func orEmpty(written: Bool = false) -> Format<Value?> {
        Format<Value?>(
            allowed: "\(allowed), or \"\"", schema: .either(.words([""]), schema()),
            read: { [self] node throws(Misfit) in
                if case .string("") = node.value { return nil }
                return try read(node)
            },
            write: { $0.map(write) ?? (written ? "\"\"" : nil) }, secrecy: secrecy)
    }

    /// The format in which "off" means no value, and is written.
    var orOff: Format<Value?> {
        let allowed = "\(allowed), or \"off\""
        return Format<Value?>(
            allowed: allowed, schema: .either(.words(["off"]), schema()),
            read: { [self] node throws(Misfit) in
                if case .string("off") = node.value { return nil }
                do throws(Misfit) {
                    return try read(node)
                } catch {
                    throw error.replacing(self.allowed, with: allowed)
                }
            },
            write: { $0.map(write) ?? "\"off\"" }, secrecy: secrecy)
    }

    /// The format of a key without a default.
    var optional: Format<Value?> {
        Format<Value?>(
            allowed: allowed, schema: schema(), read: read, write: { $0.flatMap(write) }, secrecy: secrecy)
    }

    /// The format of a list. `counts` bounds the length; `elements` names the elements in the plural.
    func list(of elements: String, _ counts: ClosedRange<Int>) -> Format<[Value]> {
        let allowed = "an array of \(counts.lowerBound) to \(counts.upperBound) \(elements)"
        return Format<[Value]>(
            allowed: allowed, schema: .list(of: schema(), counts),
            read: { [self] node throws(Misfit) in
                guard case .array(let nodes) = node.value else {
                    let element = (try? read(node)).flatMap(write)
                    let remedy = element.map { secrecy.hides(node) ? "" : ": write [\($0)]" }
                    throw Misfit(
                        node, secrecy, allowed: allowed, remedy: remedy.map { "brackets are missing\($0)" })
                }
                guard counts.contains(nodes.count) else {
                    throw Misfit([.init(node: node.index, text: "found \(nodes.count) elements; allowed: \(allowed)")])
                }
                var values: [Value] = []
                var faults: [Misfit.Fault] = []
                for node in nodes {
                    do throws(Misfit) { values.append(try read(node)) } catch { faults += error.faults }
                }
                guard faults.isEmpty else { throw Misfit(faults) }
                return values
            },
            write: { values in
                let elements = values.compactMap(write)
                let line = "[" + elements.joined(separator: ", ") + "]"
                // TOML lines have a length limit, and a long line is hard to read.
                return line.utf8.count <= maxListBytes
                    ? line : "[\n" + elements.map { "    \($0),\n" }.joined() + "]"
            }, secrecy: secrecy)
    }

    /// The format of one value without brackets, or an array of up to `most` values, which `elements` names in the
    /// plural.
    func oneOrMore(of elements: String, upTo most: Int) -> Format<[Value]> {
        let list = list(of: elements, 0...most)
        let allowed = "\(allowed), or \(list.allowed)"
        return Format<[Value]>(
            allowed: allowed, schema: .either(schema(), list.schema()),
            read: { [self] node throws(Misfit) in
                if case .array = node.value { return try list.read(node) }
                do throws(Misfit) {
                    return [try read(node)]
                } catch {
                    throw error.replacing(self.allowed, with: allowed)
                }
            },
            write: { $0.count == 1 ? $0.first.flatMap(write) : list.write($0) }, secrecy: secrecy)
    }

    /// The format that omits one value, the default, when writing.
    func leavingOut(_ value: Value) -> Format where Value: Equatable & Sendable {
        Format(
            allowed: allowed, schema: schema(), read: read, write: { $0 == value ? nil : write($0) }, secrecy: secrecy)
    }
}

/// The maximum size of a list on one line. Longer lists are written with one element per line.
private let maxListBytes = 160

extension Format<Bool> {
    static let truth = Format(
        allowed: "true or false", schema: .truth,
        read: { node throws(Misfit) in
            guard case .boolean(let value) = node.value else {
                throw Misfit(node, allowed: "true or false", remedy: truthRemedy(node))
            }
            return value
        },
        write: { String($0) })

    private static func truthRemedy(_ node: TOMLNode) -> String? {
        guard case .string(let text) = node.value else { return nil }
        return switch text.lowercased() {
        case text where ["true", "false"].contains(text): "leave out the quotes"
        case "true", "yes", "on": "write true"
        case "false", "no", "off": "write false"
        default: nil
        }
    }
}

extension Format<Int> {
    static func integer(_ range: ClosedRange<Int>, meaning: String) -> Format {
        let allowed = "an integer from \(range.lowerBound) to \(range.upperBound) (\(meaning))"
        return Format(
            allowed: allowed, schema: .integer(range),
            read: { node throws(Misfit) in
                guard case .integer(let value) = node.value, let value = Int(exactly: value), range.contains(value)
                else { throw Misfit(node, allowed: allowed) }
                return value
            },
            write: { String($0) })
    }

    /// The format of an integer, with a remedy for one in quotes.
    static func plainInteger(_ range: ClosedRange<Int>, meaning: String) -> Format {
        let number = integer(range, meaning: meaning)
        return Format(
            allowed: number.allowed, schema: number.schema(),
            read: { node throws(Misfit) in
                if case .string(let text) = node.value, let value = Int(text), text == "\(value)", range.contains(value)
                {
                    throw Misfit(node, allowed: number.allowed, remedy: "leave out the quotes")
                }
                return try number.read(node)
            },
            write: number.write)
    }
}

extension Format<UInt16> {
    static let port: Format = {
        let number = Format<Int>.plainInteger(1...65_535, meaning: "a TCP port")
        return Format(
            allowed: number.allowed, schema: number.schema(),
            read: { node throws(Misfit) in UInt16(clamping: try number.read(node)) }, write: { String($0) })
    }()
}

extension Format<Double> {
    /// The format of a float or an integer.
    static func number(_ range: ClosedRange<Double>) -> Format {
        let allowed = "a number from \(range.lowerBound) to \(range.upperBound)"
        return Format(
            allowed: allowed, schema: .number(range),
            read: { node throws(Misfit) in
                let number: Double? =
                    switch node.value {
                    case .float(let value): value
                    case .integer(let value): Double(value)
                    default: nil
                    }
                guard let number, range.contains(number) else { throw Misfit(node, allowed: allowed) }
                return number
            },
            write: { String($0) })
    }
}

extension Format<String> {
    static func word(of words: [String]) -> Format { .word(of: words, parse: { $0 }, write: { $0 }) }
}

extension Format where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    static var choice: Format {
        .word(of: Value.allCases.map(\.rawValue), parse: { Value(rawValue: $0) }, write: \.rawValue)
    }
}

extension Format {
    /// The format of one of several words.
    fileprivate static func word(
        of words: [String], parse: @escaping @Sendable (String) -> Value?, write: @escaping @Sendable (Value) -> String
    ) -> Format {
        .text(
            allowed: words.map(tomlString).joined(separator: ", "), schema: .words(words),
            remedy: { text in nearestName(to: text, among: words).map { "did you mean \"\($0)\"?" } },
            parse: { words.contains($0) ? parse($0) : nil }, write: write)
    }
}
