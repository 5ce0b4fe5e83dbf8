// Owns one parsed TOML file and its values as a Swift tree. Independent of the settings' meaning.

import CTOML
import DNSWire

struct TOMLNode {
    enum Value {
        case boolean(Bool)
        case integer(Int64)
        case float(Double)
        case string(String)
        case dateOrTime
        case array([TOMLNode])
        case table([(key: String, node: TOMLNode)])
    }

    /// The index in the document's node list, which gives its position in the file.
    let index: Int
    let value: Value
}

@safe struct TOMLDocument: ~Copyable {
    let root: TOMLNode
    private let handle: OpaquePointer

    /// A syntax error and its position; line and column count from 1.
    struct SyntaxError: Error {
        let line: Int
        let column: Int
        let reason: String
    }

    /// The text without a byte order mark; places count from there.
    static func text(_ bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[...].withoutByteOrderMark }

    /// - Parameter text: the text without a byte order mark.
    init(_ text: ArraySlice<UInt8>) throws(SyntaxError) {
        try TOMLDocument.requireUTF8(text)
        // toml++ would skip this one.
        guard !text.hasByteOrderMark else {
            throw SyntaxError(line: 1, column: 1, reason: "a byte order mark may only begin a file")
        }
        var problem = unsafe ctoml_problem()
        let parsed = unsafe text.withUnsafeBytes { buffer in
            unsafe ctoml_parse(buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count, &problem)
        }
        guard let handle = unsafe parsed else {
            throw unsafe SyntaxError(
                line: Int(problem.place.line), column: Int(problem.place.column),
                reason: String(cString: problem.reason))
        }
        var count = 0
        let nodes = unsafe UnsafeBufferPointer(start: ctoml_nodes(handle, &count), count: count)
        root = unsafe TOMLDocument.tree(nodes, at: 0)
        unsafe self.handle = handle
    }

    deinit {
        unsafe ctoml_free(handle)
    }

    /// Returns the position of a node's key, or of its value if it has no key.
    func place(of node: Int, ofKey: Bool) -> (line: Int, column: Int) {
        let place = unsafe ofKey ? ctoml_key_place(handle, node) : ctoml_value_place(handle, node)
        return (Int(place.line), Int(place.column))
    }

    /// Throws if the text is not UTF-8, which CTOML expects.
    private static func requireUTF8(_ text: ArraySlice<UInt8>) throws(SyntaxError) {
        let wrong: Int
        do {
            _ = try UTF8Span(validating: text.span)
            return
        } catch {
            wrong = text.startIndex + error.byteOffsets.lowerBound
        }
        let before = text[..<wrong]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? text.startIndex
        throw SyntaxError(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1,
            column: before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1,
            reason: "a byte that is not UTF-8")
    }

    /// Builds the tree. CTOML bounds the nesting, and thereby the recursion.
    private static func tree(_ nodes: UnsafeBufferPointer<ctoml_node>, at index: Int) -> TOMLNode {
        let node = unsafe nodes[index]
        let children = unsafe node.first_child..<(node.first_child + node.child_count)
        let value: TOMLNode.Value =
            switch unsafe node.kind {
            case ctoml_boolean: unsafe .boolean(node.integer != 0)
            case ctoml_integer: unsafe .integer(node.integer)
            case ctoml_string: unsafe .string(string(node.text, node.text_bytes))
            case ctoml_float: unsafe .float(node.number)
            case ctoml_array: .array(children.map { unsafe tree(nodes, at: $0) })
            case ctoml_table:
                .table(
                    children.map { unsafe (string(nodes[$0].key, nodes[$0].key_bytes), tree(nodes, at: $0)) })
            default: .dateOrTime
            }
        return TOMLNode(index: index, value: value)
    }

    private static func string(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
        unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
