// The page for people, put together from the files in `Page`, which are part of the program. One document, without
// anything from outside.

/// What a browser runs and applies is what came with the document: the nonce says so, and nobody else knows it.
package enum StatusPage {
    /// The document, cut where the nonce stands. Put together once: to look for marks takes milliseconds.
    private static let parts: [[UInt8]] = {
        let script = text(PackageResources.charts_js) + text(PackageResources.page_js)
        let styled = replaced("/*style*/", by: text(PackageResources.page_css), in: text(PackageResources.page_html))
        return pieces(of: replaced("/*script*/", by: script, in: styled), at: "NONCE").map { Array($0.utf8) }
    }()

    /// For the start, so that no request has to wait for it.
    package static func prepare() { _ = parts }

    /// - Parameter nonce: 128 random bits, fresh for each reply.
    package static func reply(nonce: (UInt64, UInt64)) -> PageReply {
        let word = hex(nonce.0) + hex(nonce.1)
        return PageReply(
            200, Array(parts.joined(separator: word.utf8)), contentType: "text/html; charset=utf-8",
            policy: "default-src 'none'; script-src 'nonce-\(word)'; style-src 'nonce-\(word)'; connect-src 'self'; "
                + "img-src data:")
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func pieces(of document: String, at mark: String) -> [Substring] {
        document.split(separator: mark, omittingEmptySubsequences: false)
    }

    /// Everywhere.
    private static func replaced(_ mark: String, by text: String, in document: String) -> String {
        pieces(of: document, at: mark).joined(separator: text)
    }
}
