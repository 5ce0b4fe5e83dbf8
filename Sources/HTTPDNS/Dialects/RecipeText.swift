// Text with placeholders in braces, used in a recipe's query, headers, signed values and paths.

import DNSWire

struct RecipeText: Equatable, Sendable {
    enum Placeholder: String, CaseIterable, Sendable {
        case name
        /// All names, separated by commas.
        case names
        /// The type, 1 or 28; empty if the query has neither this placeholder nor {family}.
        case type
        /// The family, 4 or 6; empty if the query has neither this placeholder nor {type}.
        case family
        case account
        case secret
        /// The time in seconds since 1970.
        case now
        case nowMilliseconds = "now-ms"
        case expiry
        case expiryMilliseconds = "expiry-ms"
        /// A nonce of 32 hexadecimal digits.
        case nonce
        /// The client's address; empty if no client subnet is sent.
        case clientIP = "client-ip"
        case signature

        var inBraces: String { "{\(rawValue)}" }
    }

    enum Part: Equatable, Sendable {
        case literal(String)
        case value(Placeholder)
    }

    let parts: [Part]

    /// An unmatched brace or an unknown placeholder in the text.
    struct Stranger: Error {
        let text: String
    }

    init(_ text: String) throws(Stranger) {
        var parts: [Part] = []
        var rest = text[...]
        while !rest.isEmpty {
            let literal = rest.prefix { $0 != "{" && $0 != "}" }
            if !literal.isEmpty { parts.append(.literal(String(literal))) }
            rest = rest[literal.endIndex...]
            guard !rest.isEmpty else { break }
            guard rest.first == "{", let end = rest.firstIndex(of: "}") else { throw Stranger(text: String(rest)) }
            let word = rest[rest.index(after: rest.startIndex)..<end]
            guard let placeholder = Placeholder(rawValue: String(word)) else { throw Stranger(text: "{\(word)}") }
            parts.append(.value(placeholder))
            rest = rest[rest.index(after: end)...]
        }
        self.parts = parts
    }

    var placeholders: [Placeholder] {
        parts.compactMap { part in
            guard case .value(let placeholder) = part else { return nil }
            return placeholder
        }
    }

    /// The placeholder if it is the whole text; otherwise nil.
    var only: Placeholder? { parts.count == 1 ? placeholders.first : nil }

    /// - Parameter escape: applied to the values, not to the recipe's literal text.
    func rendered(_ values: [Placeholder: String], escape: (String) -> String = { $0 }) -> String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .value(let placeholder): escape(values[placeholder] ?? "")
            }
        }.joined()
    }
}
