// Resolvers with a JSON interface: AliDNS, Google, Cloudflare, 360, doh.pub (providers.md 4). Accepts their
// differences in form; records must belong to the query name or its alias chain.

package import DNSWire
package import Settings

package struct JSONDialect: SingleQuestionDialect {
    private let url: String
    private let account: AliDNSAccount?

    /// - Parameter account: the account of AliDNS's paid service; nil: unsigned requests.
    package init(url: String, account: AliDNSAccount? = nil) {
        self.url = url
        self.account = account
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        guard let account = provider.account, let accessKey = provider.accessKey else {
            self.init(url: provider.url.path)
            return
        }
        self.init(
            url: provider.url.path,
            account: AliDNSAccount(uid: account, accessKeyID: accessKey, accessKeySecret: key ?? ""))
    }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> JSONDialect? {
        let acceptsJSON = request.headers["Accept"]?.hasPrefix(JSONDialect.mediaType) == true
        guard path == "/resolve" || path == "/dns-query" && acceptsJSON else { return nil }
        guard path == "/resolve", URLQuery.value(of: "uid", in: request.url) != nil else { return JSONDialect(url: "") }
        return JSONDialect(
            url: "", account: AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "testSecret"))
    }

    package var carriesAliases: Bool { true }

    // `carriesDNSSEC` is false: a signature covers bytes, and the vendors write signatures and type bitmaps as texts of
    // different forms; AliDNS sends no authority section.

    /// Types without a common text form are left to the dialect `doh`.
    package func supports(_ type: RecordType) -> Bool { PresentationForm.readable.contains(type) }

    package func supports(_ question: Question) -> Bool { supports(question.type) }

    package func request(for question: Question, in context: DialectContext) throws(DialectError) -> HTTPRequest {
        guard supports(question.type) else { throw .unsupported }
        let name = question.name.escapedText
        // AliDNS's own clients send the type number.
        let type = account == nil ? question.type.description : String(question.type.rawValue)
        var parameters = [(name: "name", value: name), (name: "type", value: type)]
        if let account { parameters += try account.parameters(for: name, in: context) }
        if let subnet = context.clientSubnet {
            parameters.append((name: "edns_client_subnet", value: subnet.description))
        }
        return HTTPRequest(
            url: URLQuery.append(parameters, to: url), headers: HTTPHeaders([.init("Accept", JSONDialect.mediaType)]))
    }

    package func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer {
        // AliDNS sends 401 for every signature error, including a wrong time; its own clients then set their clock
        // from the Date header. The caller does so once; after a second 401 the account is wrong.
        guard reply.status != 401 || account == nil else { throw .clock }
        let body = try JSONReply(reading: try JSONBody.read(try reply.acceptedBody()))
        if let echo = body.question, !echo.isEqual(to: question) { throw .wrongQuestion }
        guard !body.isTruncated else { throw .garbage("truncated") }
        guard let status = body.status, let number = UInt16(exactly: status) else { throw .garbage("no Status") }
        let code = ResponseCode(rawValue: number)
        guard code == .noError || code == .noSuchName else {
            throw .serverFailure(code, body.extendedError)
        }
        let chain = try chain(in: body.answer, from: question)
        guard chain.records.isEmpty else {
            guard code == .noError else { throw .garbage("records under a name that does not exist") }
            return Answer(records: chain.links + chain.records).aged(bySeconds: reply.headers.ageSeconds)
                .remarked(body.extendedError)
        }
        let authority = startOfAuthority(in: body.authority, above: chain.end)
        // A referral shows that the server has no answer, as in a DNS message.
        if code == .noError, authority == nil, body.authority.contains(where: { $0.isOf(.ns) }) {
            throw .garbage("referral to other servers")
        }
        return Answer(
            negative: code == .noSuchName ? .noSuchName : .noData, chain: chain.links, authority: authority
        ).aged(bySeconds: reply.headers.ageSeconds).remarked(body.extendedError)
    }

    /// Returns the network for which the resolver chose the answer, such as "203.0.113.0/24".
    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "edns_client_subnet") }

    package func question(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> Question {
        try account?.check(request, in: context)
        guard let text = URLQuery.value(of: "name", in: request.url) else { throw .garbage("no parameter name") }
        guard let name = Name(text) else { throw .garbage("name is no name") }
        let typeText = URLQuery.value(of: "type", in: request.url) ?? RecordType.a.description
        guard let type = UInt16(typeText).map(RecordType.init(rawValue:)) ?? RecordType(typeText) else {
            throw .garbage("type is no type")
        }
        return Question(name, type)
    }

    package func reply(to question: Question, with answer: Answer) -> HTTPReply {
        reply(
            to: question, code: answer.responseCode, records: answer.records,
            authority: answer.authority.map { [$0] } ?? [], extendedError: answer.remark)
    }

    package func refusal(of question: Question, as code: ResponseCode) -> HTTPReply {
        reply(to: question, code: code, records: [], authority: [])
    }

    // MARK: records

    package static let mediaType = "application/dns-json"

    /// Reads the relevant records. A malformed record makes the reply invalid, since its content is unknown.
    private func chain(in answer: [JSONReply.Record], from question: Question) throws(DialectError) -> AliasChain {
        guard answer.count <= DialectBounds.maxRecords else { throw .garbage("\(answer.count) records") }
        var records: [ResourceRecord] = []
        for (index, record) in answer.enumerated() {
            guard record.isOf(question.type) || record.isOf(.cname) || record.isOf(.dname) else { continue }
            guard let read = record.read else { throw .garbage("JSON Answer.\(index) is no record of its type") }
            records.append(read)
        }
        let chain: AliasChain
        do throws(AliasChain.Failure) {
            chain = try AliasChain(from: question, through: records)
        } catch {
            throw .garbage(error == .loop ? "CNAME records in a loop" : "too many CNAME records")
        }
        guard chain.records.isEmpty else { return chain }
        let isForeign = !answer.isEmpty && !answer.contains { Name($0.name) == question.name }
        guard !isForeign, !records.contains(where: { $0.type == question.type }) else { throw .wrongQuestion }
        return chain
    }

    /// Accepts a SOA record only for a zone that contains the name.
    private func startOfAuthority(in authority: [JSONReply.Record], above name: Name) -> ResourceRecord? {
        authority.prefix(DialectBounds.maxRecords).lazy.filter { $0.isOf(.soa) }.compactMap(\.read)
            .first { name.isWithin($0.owner) }
    }

    private func reply(
        to question: Question, code: ResponseCode, records: [ResourceRecord], authority: [ResourceRecord],
        extendedError: ExtendedError? = nil
    ) -> HTTPReply {
        let body = JSONReply(
            status: Int(code.rawValue),
            question: JSONReply.Question(
                name: question.name.isRoot ? "." : "\(question.name).", type: Int(question.type.rawValue)),
            answer: records.map(JSONReply.Record.init), authority: authority.map(JSONReply.Record.init),
            extendedError: extendedError)
        return HTTPReply(
            headers: HTTPHeaders([.init("Content-Type", JSONDialect.mediaType)]), body: body.document.body)
    }
}

extension JSONReply.Question {
    fileprivate func isEqual(to question: Question) -> Bool {
        Name(name) == question.name && (type.map { $0 == Int(question.type.rawValue) } ?? true)
    }
}

extension JSONReply.Record {
    fileprivate init(_ record: ResourceRecord) {
        let text = PresentationForm.text(of: record) ?? PresentationForm.genericText(of: record.data)
        name = record.owner.isRoot ? "." : "\(record.owner)."
        type = Int(record.type.rawValue)
        ttl = Int(record.ttlSeconds)
        data = text
    }

    fileprivate func isOf(_ wanted: RecordType) -> Bool { type == Int(wanted.rawValue) }

    fileprivate var read: ResourceRecord? {
        guard let owner = Name(name), let number = UInt16(exactly: type) else { return nil }
        let type = RecordType(rawValue: number)
        guard let bytes = PresentationForm.bytes(of: data, as: type) else { return nil }
        return ResourceRecord(owner: owner, type: type, ttlSeconds: lifetimeSeconds, data: bytes)
    }

    /// The TTL: a negative one counts as 0 (RFC 2181 section 8), one above 31 bits as the largest (RFC 8767 section 4).
    /// An absent or unusable TTL gets the default.
    private var lifetimeSeconds: UInt32 {
        guard let value = ttl else { return DialectBounds.defaultTTLSeconds }
        return UInt32(clamping: min(value, Int(UpstreamReply.maxTTLSeconds)))
    }
}
