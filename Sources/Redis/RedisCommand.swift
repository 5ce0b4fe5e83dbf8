// Commands to Redis in RESP2: arrays of strings.

package struct RedisCommand: Equatable, Sendable {
    private let words: [[UInt8]]

    package init(_ words: [[UInt8]]) { self.words = words }

    package init(_ words: String...) { self.init(words.map { Array($0.utf8) }) }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(words.reduce(16) { $0 + $1.count + 16 })
        bytes += "*\(words.count)\r\n".utf8
        for word in words {
            bytes += "$\(word.count)\r\n".utf8
            bytes += word
            bytes += [13, 10]
        }
        return bytes
    }
}
