// Bodies that came compressed. libcurl could decode them, but takes one that ends too early for whole, and what follows
// the end for nothing (7.88): half an answer must not pass for an answer.

import CCurl

enum GzipBody {
    /// One gzip member (RFC 1952) and nothing else. More of them in a row are allowed there, and sent by nobody.
    /// - Throws: `garbage` if it is broken, cut, or followed by something; `oversized` over `maxBytes`.
    static func decoded(_ body: [UInt8], maxBytes: Int) throws(TransferFailure) -> [UInt8] {
        var result = 0
        let decoded = unsafe [UInt8](unsafeUninitializedCapacity: maxBytes) { room, count in
            result = unsafe ccurl_gunzip(body, body.count, room.baseAddress, room.count)
            count = max(0, result)
        }
        switch result {
        case 0...: return decoded
        case Int(CCURL_GUNZIP_TOO_LARGE): throw .oversized
        case Int(CCURL_GUNZIP_NO_MEMORY): throw .local("no memory to decode a body")
        default: throw .garbage("broken gzip")
        }
    }
}
