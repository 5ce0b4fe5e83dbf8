// The page for people, put together from the files in `Page`, which are part of the program. One document, without
// anything from outside.

/// What a browser runs and applies is what came with the document: the nonce says so, and nobody else knows it.
package enum StatusPage {
    /// - Parameter nonce: 128 random bits, fresh for each reply.
    package static func reply(nonce: (UInt64, UInt64)) -> PageReply {
        let word = hex(nonce.0) + hex(nonce.1)
        let parts: [(mark: String, text: String)] = [
            ("/*style*/", text(PackageResources.page_css)),
            ("/*script*/", text(PackageResources.charts_js) + text(PackageResources.page_js)),
            ("NONCE", word),
        ]
        var document = text(PackageResources.page_html)
        for part in parts { document = replaced(part.mark, by: part.text, in: document) }
        return PageReply(
            200, Array(document.utf8), contentType: "text/html; charset=utf-8",
            policy: "default-src 'none'; script-src 'nonce-\(word)'; style-src 'nonce-\(word)'; connect-src 'self'; "
                + "img-src data:")
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Everywhere.
    private static func replaced(_ mark: String, by text: String, in document: String) -> String {
        document.split(separator: mark, omittingEmptySubsequences: false).joined(separator: text)
    }
}
