// Alibaba's HTTPDNS (EMAS), version 1: one to five names per request, both address families, an MD5 signature if
// there is a secret (providers.md 2.2). It cannot report NXDOMAIN: an empty list may also mean "not registered". The
// secret must never appear in an error's text.

package import DNSWire
package import Settings

package struct AliCloud: AddressDialect {
    /// The base URL without a trailing slash.
    private let base: Substring
    private let account: String
    private let secret: String?
    /// Server side: the reply is a list, even if one name was asked.
    private let repliesWithList: Bool

    /// - Parameters:
    ///   - url: the base URL; account and call are appended to its path.
    ///   - secret: the secret as shown in the vendor's console; nil: unsigned requests.
    ///   - path: server side, the path of the request; replies to a batch call are lists.
    package init(url: String, account: String, secret: String?, path: Substring = "") {
        base = url.hasSuffix("/") ? url.dropLast() : url[...]
        self.account = account
        self.secret = secret
        repliesWithList = path.split(separator: "/").last.flatMap { Call(rawValue: String($0)) }?.isBatch ?? false
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(url: provider.url.path, account: provider.account ?? "", secret: key)
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? { AliCloudNodes(provider) }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> AliCloud? {
        guard isPath(path) else { return nil }
        return AliCloud(url: "", account: AliCloudRequest.labAccount, secret: "IAmASecret", path: path)
    }

    package let maxNames = AliCloudRequest.maxNames

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        let call = Call(isBatch: names.count > 1, isSigned: secret != nil)
        let hosts = names.joined(separator: ",")
        var parameters = [
            (name: "host", value: hosts), (name: "query", value: AliCloudRequest.families.text(of: families)),
        ]
        // The address is at this position, as in the vendor's example (providers.md 2.2); it is not part of the
        // signature.
        if let client = context.clientAddress { parameters.append((name: "ip", value: client)) }
        parameters += context.parameters.sortedQuery
        if let secret {
            let expiry = AliCloudRequest.expiry(in: context)
            parameters.append((name: "t", value: expiry))
            parameters.append((name: "s", value: try AliCloud.signature(hosts, secret, expiry)))
        }
        return HTTPRequest(url: URLQuery.append(parameters, to: "\(base)/\(account)/\(call.rawValue)"))
    }

    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let body = try JSONBody.decode(AliCloudReply.self, from: try reply.acceptedAliCloudBody())
        return { (question) throws(DialectError) in try body.answer(to: question) }
    }

    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "client_ip") }

    // MARK: the server's side

    /// Returns true for `/ACCOUNT/CALL`.
    package static func isPath(_ path: Substring) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].isEmpty && Call(rawValue: String(parts[2])) != nil
    }

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        guard request.method == .get else { throw AliCloudCode.methodNotAllowed.thrown }
        let parts = URLQuery.path(of: request.url).split(separator: "/").suffix(2)
        guard parts.count == 2, let text = parts.last, let call = Call(rawValue: String(text)) else {
            throw .status(404)
        }
        guard parts.first == account[...] else { throw AliCloudCode.accountNotExists.thrown }
        let hosts = URLQuery.value(of: "host", in: request.url) ?? ""
        let query = URLQuery.value(of: "query", in: request.url)
        let asked = try AliCloudRequest.questions(
            hosts, query, maxNames: call.isBatch ? maxNames : 1, by: self)
        guard call.isSigned else { return asked }
        guard let secret else { throw AliCloudCode.invalidAccount.thrown }
        guard let expiry = URLQuery.value(of: "t", in: request.url),
            let signature = URLQuery.value(of: "s", in: request.url)
        else { throw AliCloudCode.missingArgument.thrown }
        guard try signature == AliCloud.signature(hosts, secret, expiry) else {
            throw AliCloudCode.invalidSignature.thrown
        }
        try AliCloudRequest.check(expiry, in: context)
        return asked
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        AliCloudReply.json(
            to: questions, with: resolutions, asList: repliesWithList,
            client: AliCloudRequest.clientForReply(in: context))
    }

    package func reply(to error: DialectError) -> HTTPReply { AliCloudCode.reply(to: error) }

    // MARK: calls and signatures

    private enum Call: String {
        case one = "d"
        case signedOne = "sign_d"
        case batch = "resolve"
        case signedBatch = "sign_resolve"

        init(isBatch: Bool, isSigned: Bool) {
            self =
                switch (isBatch, isSigned) {
                case (false, false): .one
                case (false, true): .signedOne
                case (true, false): .batch
                case (true, true): .signedBatch
                }
        }

        var isBatch: Bool { self == .batch || self == .signedBatch }
        var isSigned: Bool { self == .signedOne || self == .signedBatch }
    }

    /// - Parameter secret: the secret, used as text, unlike in version 2.
    private static func signature(
        _ hosts: String, _ secret: String, _ expiry: String
    ) throws(DialectError) -> String {
        try Signature.md5("\(hosts)-\(secret)-\(expiry)")
    }
}
