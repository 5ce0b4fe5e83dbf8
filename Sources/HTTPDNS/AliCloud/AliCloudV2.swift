// Alibaba's HTTPDNS (EMAS), version 2: one to five names per request, both address families, signed with HMAC-SHA256
// and encrypted if a key is configured (providers.md 2.3). It can report NXDOMAIN. Keys must never appear in an
// error's text.

package import DNSWire
package import Settings

package struct AliCloudV2: AddressDialect {
    private let url: String
    private let account: String
    private let secret: [UInt8]
    private let seal: AliCloudSeal

    /// - Parameters:
    ///   - url: the base URL; `/v2/d` is appended to its path.
    ///   - secret: hexadecimal digits, as shown in the vendor's console.
    package init(
        url: String, account: String, secret: String, cipher: AliCloudEncryption
    ) throws(DialectFault) {
        self.url = (url.hasSuffix("/") ? url.dropLast() : url[...]) + AliCloudV2.path
        self.account = account
        guard let bytes = Hex.decode(secret.utf8), !bytes.isEmpty else {
            throw DialectFault.key("key-file", allowed: "an even number of hexadecimal digits")
        }
        self.secret = bytes
        seal = try AliCloudSeal(cipher)
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) throws(DialectFault) {
        let encryption: AliCloudEncryption =
            switch provider.cipher {
            case .cbc: .cbc(cipherKey ?? "")
            case .gcm: .gcm(cipherKey ?? "")
            case .plain, nil: .none
            }
        try self.init(
            url: provider.url.path, account: provider.account ?? "", secret: key ?? "", cipher: encryption)
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? { AliCloudNodes(provider) }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> AliCloudV2? {
        guard path == AliCloudV2.path else { return nil }
        let key = "000102030405060708090a0b0c0d0e0f"
        let encryption: AliCloudEncryption =
            switch URLQuery.value(of: "m", in: request.url) {
            case "1": .cbc(key)
            case "2": .gcm(key)
            default: .none
            }
        let secret = "a0b1c2d3e4f5061728394a5b6c7d8e9f"
        return try? AliCloudV2(url: "", account: AliCloudRequest.labAccount, secret: secret, cipher: encryption)
    }

    private static let path = "/v2/d"
    package let maxNames = AliCloudRequest.maxNames

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        var question = [
            (name: "dn", value: names.joined(separator: ",")),
            (name: "q", value: AliCloudRequest.families.text(of: families)),
        ]
        if let client = context.clientAddress { question.append((name: "cip", value: client)) }
        question += context.parameters.sortedQuery
        let tags = context.parameters.tags
        if !tags.isEmpty { question.append((name: "tags", value: tags.joined(separator: ","))) }
        if seal.isEncrypting {
            let plain = OrderedJSON.object(question.map { ($0.name, .string($0.value)) }).text
            question = [(name: "enc", value: Hex.encode(try seal.close(Array(plain.utf8), nonce: context.makeNonce())))]
        }
        var parameters = [(name: "id", value: account), (name: "m", value: seal.mode)] + question
        parameters += [(name: "exp", value: AliCloudRequest.expiry(in: context)), (name: "v", value: "1.0")]
        parameters.append((name: "s", value: try signature(of: parameters)))
        // Commas are escaped, as in the vendor's iOS client.
        return HTTPRequest(url: URLQuery.append(parameters, to: url, plain: ""))
    }

    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let contents = try AliCloudV2Reply.contents(of: try reply.acceptedAliCloudBody(), sealedWith: seal)
        return { (question) throws(DialectError) in try contents.answer(to: question) }
    }

    package func clientAddress(in reply: HTTPReply) -> Address? {
        guard let body = try? reply.acceptedAliCloudBody() else { return nil }
        return (try? AliCloudV2Reply.contents(of: body, sealedWith: seal))?.cip.flatMap { Address($0) }
    }

    // MARK: the server's side

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        guard request.method == .get else { throw AliCloudCode.methodNotAllowed.thrown }
        let all = URLQuery.parameters(in: request.url)
        // If a parameter is repeated, the first value counts.
        let values = Dictionary(all.map { ($0.name, $0.value) }) { first, _ in first }
        guard let id = values["id"], values["m"] == seal.mode else { throw AliCloudCode.missingArgument.thrown }
        guard id == account else { throw AliCloudCode.accountNotExists.thrown }
        guard let signature = values["s"] else { throw AliCloudCode.unsignedInterfaceDisabled.thrown }
        let signed = values.filter { isSigned($0.key) && !$0.value.isEmpty }
        guard try signature == self.signature(of: signed.map { (name: $0.key, value: $0.value) }) else {
            throw AliCloudCode.invalidSignature.thrown
        }
        guard let expiry = values["exp"] else { throw AliCloudCode.missingArgument.thrown }
        try AliCloudRequest.check(expiry, in: context)
        let question = seal.isEncrypting ? try decrypted(values["enc"]) : values
        return try AliCloudRequest.questions(question["dn"] ?? "", question["q"], maxNames: maxNames, by: self)
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        AliCloudV2Reply.json(
            to: questions, with: resolutions, client: AliCloudRequest.clientForReply(in: context), sealedWith: seal,
            nonce: context.makeNonce()
        )
    }

    package func reply(to error: DialectError) -> HTTPReply { AliCloudCode.reply(to: error) }

    private func decrypted(_ text: String?) throws(DialectError) -> [String: String] {
        guard let text, let sealed = Hex.decode(text.utf8), let plain = try? seal.open(sealed),
            let question = try? JSONBody.decode([String: String].self, from: plain)
        else { throw AliCloudCode.missingArgument.thrown }
        return question
    }

    // MARK: signatures

    /// Returns true for all parameters but the signature and telemetry; encrypted parameters are signed only as `enc`.
    private func isSigned(_ name: String) -> Bool {
        switch name {
        case "enc", "exp", "id", "m", "v": true
        case "cip", "dn", "q", "tags": !seal.isEncrypting
        default: name.hasPrefix("sdns-") && !seal.isEncrypting
        }
    }

    /// Signs the values before URL escaping.
    private func signature(of parameters: [(name: String, value: String)]) throws(DialectError) -> String {
        let sorted = parameters.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let message = sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return try Signature.hmacSHA256(message, key: secret)
    }
}

extension DialectFault {
    /// An invalid key. The text has the name of its setting and the allowed form, never the value.
    static func key(_ name: String, allowed: String) -> DialectFault {
        DialectFault("\(name): found something else; allowed: \(allowed)")
    }
}
