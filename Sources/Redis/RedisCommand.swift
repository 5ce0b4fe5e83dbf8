// Commands to Redis in RESP2: arrays of strings.

package struct RedisCommand: Equatable, Sendable {
    private let words: [[UInt8]]

    package init(_ words: [[UInt8]]) { self.words = words }

    package init(_ words: String...) { self.init(words.map { Array($0.utf8) }) }

    package var bytes: [UInt8] {
        Array("*\(words.count)\r\n".utf8)
            + words.flatMap { Array("$\($0.count)\r\n".utf8) + $0 + Array("\r\n".utf8) }
    }
}
