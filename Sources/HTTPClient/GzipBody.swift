// Decodes gzip bodies strictly: a partial answer must be an error.

import CZlib

enum GzipBody {
    /// Decodes exactly one gzip member (RFC 1952). The RFC allows several, but providers send one.
    ///
    /// - Throws: `garbage` if the body is broken, cut, or followed by other data; `oversized` over `maxBytes`.
    static func decoded(_ body: [UInt8], maxBytes: Int) throws(TransferFailure) -> [UInt8] {
        var result = 0
        let decoded = unsafe [UInt8](unsafeUninitializedCapacity: maxBytes) { room, count in
            result = unsafe czlib_gunzip(body, body.count, room.baseAddress, room.count)
            count = max(0, result)
        }
        switch result {
        case 0...: return decoded
        case Int(CZLIB_TOO_LARGE): throw .oversized
        case Int(CZLIB_NO_MEMORY): throw .local("no memory to decode a body")
        default: throw .garbage("broken gzip")
        }
    }
}
