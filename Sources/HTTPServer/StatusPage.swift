// The HTML status page, assembled from the embedded files of `Page`. It is one document without external resources.

import DNSWire

/// The browser runs only scripts and styles with the nonce, which is random for each reply.
package enum StatusPage {
    /// The document, split at the nonce. It is assembled once, because searching for the marks takes milliseconds.
    private static let parts: [[UInt8]] = {
        let script = text(PackageResources.charts_js) + text(PackageResources.page_js)
        let styled = replaced("/*style*/", by: text(PackageResources.page_css), in: text(PackageResources.page_html))
        return pieces(of: replaced("/*script*/", by: script, in: styled), at: "NONCE").map { Array($0.utf8) }
    }()
    /// The document for a reader that gets no names. Its script must not request names in vain: browsers log that.
    private static let partsWithoutNames: [[UInt8]] = {
        let marked = parts.map { String(decoding: $0, as: UTF8.self) }
        return marked.map { Array(replaced("data-names=\"yes\"", by: "data-names=\"no\"", in: $0).utf8) }
    }()

    /// Assembles the page at startup, so that no request waits for it.
    package static func prepare() { _ = (parts, partsWithoutNames) }

    /// - Parameters:
    ///   - nonce: 128 random bits, different for each reply.
    ///   - showsNames: the reader may request names and explanations.
    package static func reply(nonce: (UInt64, UInt64), showsNames: Bool) -> PageReply {
        let word = nonce.0.digits(16, radix: 16) + nonce.1.digits(16, radix: 16)
        return PageReply(
            200, Array((showsNames ? parts : partsWithoutNames).joined(separator: word.utf8)),
            contentType: "text/html; charset=utf-8",
            policy: "default-src 'none'; script-src 'nonce-\(word)'; style-src 'nonce-\(word)'; connect-src 'self'; "
                + "img-src data:")
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func pieces(of document: String, at mark: String) -> [Substring] {
        var (pieces, rest): ([Substring], Substring) = ([], document[...])
        while let place = rest.firstRange(of: mark) {
            pieces.append(rest[..<place.lowerBound])
            rest = rest[place.upperBound...]
        }
        return pieces + [rest]
    }

    /// Replaces every occurrence of the mark.
    private static func replaced(_ mark: String, by text: String, in document: String) -> String {
        pieces(of: document, at: mark).joined(separator: text)
    }
}
