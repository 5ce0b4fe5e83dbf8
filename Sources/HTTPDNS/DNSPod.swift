// Tencent's free service at 119.29.29.29: plain text, one name, A records only (providers.md 1.2 and 1.4). It can't say
// "no such name": an empty body may also mean "not my name", so it must never become NXDOMAIN or NODATA here.

package import DNSWire

package struct DNSPod: Dialect {
    private let url: String
    /// The authorisation id; empty for none.
    private let account: String

    package init(url: String, account: String = "") {
        self.url = url
        self.account = account
    }

    package func supports(_ type: RecordType) -> Bool { type == .a }

    package func request(for question: Question) throws(DialectError) -> HTTPRequest {
        guard supports(question.type), !question.name.isRoot, let name = question.name.hostText else {
            throw .unsupported
        }
        var parameters = [(name: "dn", value: name), (name: "ttl", value: "1")]
        if !account.isEmpty { parameters.append((name: "id", value: account)) }
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    package func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer {
        let body = try reply.acceptedBody()
        guard let text = String(validating: body.trimmed, as: UTF8.self) else { throw .garbage("not text") }
        guard let line = try ownLine(of: text, for: question.name) else { return Answer(negative: .unprovenEmpty) }
        // `A part-AAAA part`, should a server send both.
        let part = line.prefix { $0 != "-" }.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        guard part[0] != "0" else { return Answer(negative: .unprovenEmpty) }
        let ttl = try ttlSeconds(part.count == 2 ? part[1] : "")
        let elements = part[0].split(separator: ";", maxSplits: DialectBounds.maxRecords)
        guard elements.count <= DialectBounds.maxRecords else { throw .garbage("more addresses than any name has") }
        let records = elements.compactMap { Address(String($0)) }.filter { $0.recordType == .a }
            .map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttl) }
        guard !records.isEmpty else { throw .garbage("no address in the body") }
        return Answer(records: records)
    }

    package func question(from request: HTTPRequest) throws(DialectError) -> Question {
        guard let text = URLQuery.value(of: "dn", in: request.url) else { throw .garbage("no parameter dn") }
        guard let name = Name(text), !name.isRoot else { throw .garbage("dn is no name") }
        return Question(name, .a)
    }

    package func reply(to question: Question, with answer: Answer) -> HTTPReply {
        let addresses = answer.addresses.filter { $0.recordType == .a }.map(\.description)
        let text = addresses.isEmpty ? "" : "\(addresses.joined(separator: ";")),\(answer.ttlSeconds)"
        return HTTPReply(headers: HTTPHeaders([.init("Content-Type", "text/plain")]), body: Array(text.utf8))
    }

    package func refusal(of question: Question, as code: ResponseCode) -> HTTPReply {
        reply(to: question, with: Answer(negative: .unprovenEmpty))
    }

    // MARK: the text

    /// The line that is about our name, without its prefix `name.:` and its suffix `|client address`. A line without
    /// a prefix is about the only name that was asked. Nil for an empty body.
    private func ownLine(of text: String, for name: Name) throws(DialectError) -> Substring? {
        let lines = text.split(whereSeparator: \.isNewline)
        guard !lines.isEmpty else { return nil }
        for line in lines {
            let line = line.prefix { $0 != "|" }
            // Only in front of the first ":" can a name be, and names have neither ";" nor ",".
            guard let colon = line.firstIndex(of: ":"), !line[..<colon].contains(where: { $0 == ";" || $0 == "," })
            else { return line.isEmpty ? nil : line }
            if Name(String(line[..<colon])) == name { return line[line.index(after: colon)...] }
        }
        throw .wrongQuestion
    }

    /// Absent and not positive: the default, because the answer was meant to be used (providers.md 9.5).
    private func ttlSeconds(_ text: Substring) throws(DialectError) -> UInt32 {
        guard !text.isEmpty else { return DialectBounds.defaultTTLSeconds }
        let digits = text.first == "-" ? text.dropFirst() : text
        guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { throw .garbage("TTL is no number") }
        guard digits.count == text.count, digits.contains(where: { $0 != "0" }) else {
            return DialectBounds.defaultTTLSeconds
        }
        return min(UInt32(digits) ?? DialectBounds.maxTTLSeconds, DialectBounds.maxTTLSeconds)
    }
}

extension [UInt8] {
    /// Without the line ends, spaces and NUL bytes that servers leave around their text.
    fileprivate var trimmed: ArraySlice<UInt8> {
        let isPadding = { (byte: UInt8) in byte == 0 || byte == 0x0A || byte == 0x0D || byte == 0x20 }
        guard let first = firstIndex(where: { !isPadding($0) }), let last = lastIndex(where: { !isPadding($0) }) else {
            return []
        }
        return self[first...last]
    }
}
