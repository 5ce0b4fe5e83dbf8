// HTTP requests and replies as plain values, without sockets.

import DNSWire

/// Header fields in their order. Names are compared without regard to the case of ASCII letters (RFC 9110 section 5.1).
package struct HTTPHeaders: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var fields: [Field]

    package init(_ fields: [Field] = []) {
        self.fields = fields
    }

    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name, value))
    }

    /// The value of the first field with this name.
    package subscript(name: String) -> String? {
        for field in fields where HTTPHeaders.areEqual(field.name, name) { return field.value }
        return nil
    }

    private static func areEqual(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        let (left, right) = (left.utf8.span, right.utf8.span)
        for index in left.indices where left[index].lowercased != right[index].lowercased { return false }
        return true
    }
}

package struct HTTPRequest: Equatable, Sendable {
    package enum Method: Equatable, Sendable {
        case get
        case post
    }

    package let method: Method
    /// The provider's URL with the question in its query; in the lab only path and query.
    package let url: String
    package let headers: HTTPHeaders
    package let body: [UInt8]

    package init(method: Method = .get, url: String, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

package struct HTTPReply: Equatable, Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let body: [UInt8]

    package init(status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
