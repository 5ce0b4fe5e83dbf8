// Replies of Redis in RESP2, read by hiredis from the bytes of a connection.

import CHiredis

package enum RedisReply: Equatable, Sendable {
    case string([UInt8])
    case array([RedisReply])
    case integer(Int64)
    case nothing
    case status(String)
    /// The command failed, such as "NOAUTH Authentication required.".
    case error(String)

    package var bytes: [UInt8]? { if case .string(let bytes) = self { bytes } else { nil } }
    package var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var elements: [RedisReply]? { if case .array(let elements) = self { elements } else { nil } }
}

@safe final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    /// Bytes of the reply that is not complete.
    private var pendingBytes = 0

    /// A longer reply does not belong to a command of this daemon.
    static let maxBytes = 1 << 20

    enum Failure: Error, Equatable {
        /// The bytes are not RESP, or one reply has more than `maxBytes`. Nothing after them can be read.
        case malformed(String)
    }

    /// Returns nil if no memory is available.
    init?() {
        guard let reader = unsafe chiredis_reader() else { return nil }
        unsafe self.reader = reader
    }

    deinit { unsafe redisReaderFree(reader) }

    /// Returns the replies that these bytes complete.
    func take(_ bytes: [UInt8]) throws(Failure) -> [RedisReply] {
        pendingBytes += bytes.count
        let code = unsafe bytes.withUnsafeBytes {
            unsafe redisReaderFeed(reader, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        guard code == REDIS_OK else { throw failure }
        var replies: [RedisReply] = []
        while true {
            var object: UnsafeMutableRawPointer?
            guard unsafe redisReaderGetReply(reader, &object) == REDIS_OK else { throw failure }
            guard let object = unsafe object else { break }
            defer { unsafe freeReplyObject(object) }
            replies.append(unsafe RedisReply(object.assumingMemoryBound(to: redisReply.self).pointee))
            pendingBytes = 0
        }
        guard pendingBytes <= ReplyReader.maxBytes else { throw .malformed("a reply of more than 1 MiB") }
        return replies
    }

    private var failure: Failure {
        let text = unsafe withUnsafeBytes(of: reader.pointee.errstr) { unsafe [UInt8]($0) }
        return .malformed(String(decoding: text.prefix { $0 != 0 }, as: UTF8.self))
    }
}

extension RedisReply {
    /// hiredis nests replies at most seven deep.
    fileprivate init(_ reply: redisReply) {
        let text = unsafe reply.str.map { unsafe [UInt8](UnsafeRawBufferPointer(start: $0, count: reply.len)) } ?? []
        switch unsafe reply.type {
        case REDIS_REPLY_STRING: self = .string(text)
        case REDIS_REPLY_STATUS: self = .status(String(decoding: text, as: UTF8.self))
        case REDIS_REPLY_ERROR: self = .error(String(decoding: text, as: UTF8.self))
        case REDIS_REPLY_INTEGER: self = unsafe .integer(reply.integer)
        case REDIS_REPLY_ARRAY:
            self = .array(
                (0..<(unsafe reply.elements)).map { index in
                    unsafe reply.element[index].map { unsafe RedisReply($0.pointee) } ?? .nothing
                })
        default: self = .nothing
        }
    }
}
