// UCloud's service: the account in the path, an MD5 signature in a header, A records only (providers.md 7.2). The
// secret must never appear in an error's text.

package import DNSWire
import JSON
package import Settings

package struct UCloud: SingleQuestionDialect {
    private let url: String
    private let account: String
    private let secret: String

    /// - Parameters:
    ///   - url: a service node's URL without the account; requests go to `/ACCOUNT/resolve` below it.
    ///   - account: the vendor's auth_id.
    package init(url: String, account: String, secret: String) {
        let path = URLQuery.path(of: url)
        self.url = "\(path.hasSuffix("/") ? path.dropLast() : path)/\(account)/resolve\(url.dropFirst(path.count))"
        self.account = account
        self.secret = secret
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(url: provider.url.path, account: provider.account ?? "", secret: key ?? "")
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? {
        UCloudNodes(url: provider.url.path, account: account, secret: secret, isSecure: provider.url.isSecure)
    }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> UCloud? {
        guard path.hasSuffix("/resolve"), request.headers["Authorization"] != nil else { return nil }
        return UCloud(url: "", account: "100000", secret: "AuthSecret")
    }

    /// The validity of a timestamp.
    private static let lifetimeSeconds: Int64 = 60
    private static let forbidden = (status: 403, code: "HOST_FORBIDDEN", message: "host is forbidden")
    private static let absent = (status: 404, code: "FAIL_TO_RESOLVE", message: "record cannot be found")
    private static let failed = (status: 404, code: "FAIL_TO_RESOLVE", message: "fail to resolve the host")
    private static let unauthorized = (status: 401, code: "UNAUTHORIZED", message: "request is unauthorized")

    package func supports(_ type: RecordType) -> Bool { type == .a }

    package func supports(_ question: Question) -> Bool {
        supports(question.type) && !question.name.isRoot && question.name.hostText != nil
    }

    package func request(for question: Question, in context: DialectContext) throws(DialectError) -> HTTPRequest {
        guard supports(question), let host = question.name.hostText else { throw .unsupported }
        var parameters = [(name: "host", value: host), (name: "timestamp", value: String(context.unixSeconds))]
        if let appID = context.parameters.appID { parameters.append((name: "app_id", value: appID)) }
        let authorization = try signature(parameters)
        return HTTPRequest(
            url: URLQuery.append(parameters, to: url), headers: HTTPHeaders([.init("Authorization", authorization)]))
    }

    /// Signs the values in the order of their names.
    func signature(_ parameters: [(name: String, value: String)]) throws(DialectError) -> String {
        let sorted = parameters.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return try Signature.md5((sorted.map(\.value) + [secret]).joined(separator: "-"))
    }

    package func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer {
        let bytes: [UInt8]
        do throws(DialectError) {
            bytes = try UCloud.acceptedBody(of: reply)
        } catch {
            return try UCloud.answer(in: reply, after: error)
        }
        let body = try JSONValue.decode(bytes)
        guard let host = body["host"] else { throw .garbage("JSON without host") }
        guard host.isName(question.name) else { throw .wrongQuestion }
        guard let elements = body["ip_list"]?.elements else { throw .garbage("JSON without ip_list") }
        return try JSONAddresses.answer(to: question, in: elements, ttl: body["ttl"], isShared: false)
            .aged(bySeconds: reply.headers.ageSeconds)
    }

    /// Returns the body of an accepted reply. 401 means a wrong key or a clock that is a minute off. The caller
    /// corrects the clock and retries once; a second 401 is final.
    static func acceptedBody(of reply: HTTPReply) throws(DialectError) -> [UInt8] {
        guard reply.status != unauthorized.status else { throw .clock }
        return try reply.acceptedBody()
    }

    /// Maps the vendor's error codes. "record cannot be found" covers both NXDOMAIN and NODATA, so it proves neither;
    /// it also omits the name. HOST_FORBIDDEN is about a name that is not registered for the account.
    private static func answer(in reply: HTTPReply, after error: DialectError) throws(DialectError) -> Answer {
        guard case .status(let status) = error else { throw error }
        guard let body = try? JSONValue.decode(reply.body), let code = body["code"]?.scalarText else { throw error }
        switch (status, code, body["message"]?.scalarText) {
        case (absent.status, absent.code, absent.message): return Answer(negative: .ambiguousEmpty)
        case (forbidden.status, forbidden.code, _): throw .notServed
        case (failed.status, failed.code, _): throw .serverFailure(.serverFailure)
        default: throw error
        }
    }

    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "client_ip") }

    // MARK: the server's side

    package func question(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> Question {
        let segments = URLQuery.path(of: request.url).split(separator: "/")
        guard segments.last == "resolve" else { throw .status(404) }
        guard segments.dropLast().last.map(String.init) == account else { throw .account("auth_id") }
        let known = ["app_id", "host", "timestamp"].compactMap { name in
            URLQuery.value(of: name, in: request.url).map { (name: name, value: $0) }
        }
        guard request.headers["Authorization"] == (try signature(known)) else { throw .account("Authorization") }
        guard let timestamp = URLQuery.value(of: "timestamp", in: request.url).flatMap({ Int64($0) }),
            (context.unixSeconds - UCloud.lifetimeSeconds...context.unixSeconds + UCloud.lifetimeSeconds)
                .contains(timestamp)
        else { throw .clock }
        guard let text = URLQuery.value(of: "host", in: request.url), let name = Name(text), !name.isRoot else {
            throw .garbage("host is no name")
        }
        return Question(name, .a)
    }

    package func reply(to question: Question, with answer: Answer) -> HTTPReply {
        guard answer.kind == .records else { return UCloud.reply(UCloud.absent) }
        return JSONAddresses.reply(
            .object([
                "host": .text("\(question.name)"), "ip_list": JSONAddresses.json(answer, .a),
                "ttl": JSONAddresses.json(ttlOf: answer),
            ]))
    }

    package func refusal(of question: Question, as code: ResponseCode) -> HTTPReply {
        UCloud.reply(code == .refused ? UCloud.forbidden : UCloud.failed)
    }

    package func reply(to error: DialectError) -> HTTPReply {
        switch error {
        case .account, .clock: UCloud.reply(UCloud.unauthorized)
        case .status(let status): HTTPReply(status: status)
        default: UCloud.reply((status: 400, code: "BAD_REQUEST", message: "\(error)"))
        }
    }

    private static func reply(_ error: (status: Int, code: String, message: String)) -> HTTPReply {
        JSONAddresses.reply(
            .object([
                "status": .integer(error.status), "code": .text(error.code), "message": .text(error.message),
            ]), status: error.status)
    }
}
