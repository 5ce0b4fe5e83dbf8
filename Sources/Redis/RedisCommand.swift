// Commands to Redis in RESP2: arrays of strings.

package struct RedisCommand: Equatable, Sendable {
    private let words: [[UInt8]]

    package init(_ words: [[UInt8]]) { self.words = words }

    package init(_ words: String...) { self.init(words.map { Array($0.utf8) }) }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(words.reduce(16) { $0 + $1.count + 16 })
        bytes.append(UInt8(ascii: "*"), words.count)
        for word in words {
            bytes.append(UInt8(ascii: "$"), word.count)
            bytes += word
            bytes.endLine()
        }
        return bytes
    }
}

extension [UInt8] {
    /// A line with a sign and a count.
    fileprivate mutating func append(_ sign: UInt8, _ count: Int) {
        append(sign)
        var unit = 1
        while unit <= count / 10 { unit *= 10 }
        while unit > 0 {
            append(UInt8(ascii: "0") + UInt8(count / unit % 10))
            unit /= 10
        }
        endLine()
    }

    fileprivate mutating func endLine() {
        append(UInt8(ascii: "\r"))
        append(UInt8(ascii: "\n"))
    }
}
