// Test vectors as text files: hexadecimal bytes, "#" comments, and a head of "# key: value" lines that describe the
// bytes and the expected result.

package struct HexVector: Sendable, CustomStringConvertible {
    /// The file's name without folder and ending.
    package let name: String
    package let bytes: [UInt8]
    /// The values of the head in their order; a key may come more than once.
    package let head: [(key: String, value: String)]

    package struct Malformed: Error, CustomStringConvertible {
        package let description: String
    }

    package init(path: String) throws {
        let fileName = path.split(separator: "/").last.map(String.init) ?? path
        name = fileName.hasSuffix(".hex") ? String(fileName.dropLast(4)) : fileName
        let text = String(decoding: try TestFile.bytes(at: path), as: UTF8.self)
        var digits: [UInt8] = []
        var head: [(key: String, value: String)] = []
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, digits.isEmpty, parts[0].isEmpty, let entry = HexVector.entry(parts[1]) {
                head.append(entry)
            }
            digits += parts[0].utf8.filter { $0 != UInt8(ascii: " ") }
        }
        guard digits.count.isMultiple(of: 2) else { throw Malformed(description: "\(path): half a byte") }
        bytes = try stride(from: 0, to: digits.count, by: 2).map { index in
            let pair = String(decoding: digits[index...(index + 1)], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { throw Malformed(description: "\(path): no byte: \(pair)") }
            return byte
        }
        self.head = head
    }

    /// All vectors of a folder, sorted by name.
    package static func all(in folder: String) throws -> [HexVector] {
        try TestFile.names(in: folder).filter { $0.hasSuffix(".hex") }.map { try HexVector(path: folder + "/" + $0) }
    }

    package func values(_ key: String) -> [String] {
        head.filter { $0.key == key }.map(\.value)
    }

    package func value(_ key: String) throws -> String {
        guard let value = values(key).first else { throw Malformed(description: "\(name): no \(key)") }
        return value
    }

    package var description: String { name }

    private static func entry(_ comment: Substring) -> (key: String, value: String)? {
        let parts = comment.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let key = parts[0].drop { $0 == " " }
        guard !key.isEmpty, !key.contains(" ") else { return nil }
        return (String(key), String(parts[1].drop { $0 == " " }))
    }
}
