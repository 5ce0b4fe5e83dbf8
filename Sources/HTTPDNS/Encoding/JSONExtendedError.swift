// The extended errors and comments in JSON replies (providers.md 4.1). They are only forwarded, so an unknown form
// never invalidates a reply.

import DNSWire

/// The elements of Google's "extended_dns_errors".
struct JSONExtendedErrors: Codable {
    private struct Element: Codable {
        let code: UInt16
        let text: String?

        enum CodingKeys: String, CodingKey {
            case code = "info_code"
            case text = "extra_text"
        }
    }

    private let elements: [Element]

    init(from decoder: any Decoder) throws {
        elements = (try? decoder.singleValueContainer().decode([Element].self)) ?? []
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(elements)
    }

    var first: ExtendedError? {
        elements.first.map { ExtendedError(upstream: $0.code, text: ($0.text ?? "").utf8) }
    }
}

/// A comment: a string (Google) or an array of strings (Cloudflare, such as "EDE(6): DNSSEC Bogus").
struct JSONComment: Codable {
    private let lines: [String]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let line = (try? container.decode(String.self)).map { [$0] }
        lines = line ?? (try? container.decode([String].self)) ?? []
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(lines)
    }

    /// The extended error of the first line with a code.
    var extendedError: ExtendedError? {
        for line in lines where line.hasPrefix(JSONComment.prefix) {
            let parts = line.dropFirst(JSONComment.prefix.count).split(separator: ")", maxSplits: 1)
            guard let code = parts.first.flatMap({ UInt16($0) }) else { continue }
            let text = parts.dropFirst().first.map { $0.drop { $0 == ":" || $0 == " " } } ?? ""
            return ExtendedError(upstream: code, text: Array(text.utf8))
        }
        return nil
    }

    /// The first line as an extended error, for a failure without a code.
    var other: ExtendedError? {
        lines.first.map { ExtendedError(upstream: ExtendedError.otherCode, text: Array($0.utf8)) }
    }

    private static let prefix = "EDE("
}

extension JSONReply {
    /// The vendor's coded error; for a failure also the vendor's text without a code.
    var extendedError: ExtendedError? {
        let coded = extendedErrors?.first ?? comment?.extendedError
        let isFailure = status.map { $0.value != 0 && $0.value != 3 } ?? false
        return coded ?? (isFailure ? comment?.other : nil)
    }
}
