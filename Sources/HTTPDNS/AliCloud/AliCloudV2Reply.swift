// The JSON replies of version 2 of Alibaba's service: an envelope with the answers by name and family, plain or
// encrypted (providers.md 2.3). A reply must use the encryption mode of its request.

import DNSWire

enum AliCloudV2Reply {
    struct Contents: Decodable {
        fileprivate let answers: [Element]
        /// The client's address.
        let cip: String?

        /// Returns the answer to the question. If several elements concern one name, the first counts. A missing family
        /// is unanswered.
        func answer(to question: Question) throws(DialectError) -> Answer {
            guard let element = answers.first(where: { Name($0.dn) == question.name }) else { throw .wrongQuestion }
            let isA = question.type == .a
            guard let family = isA ? element.v4 : element.v6 else { throw .wrongQuestion }
            return try family.answer(to: question, otherFamily: isA ? element.v6 : element.v4)
        }
    }

    fileprivate struct Element: Decodable {
        let dn: String
        let v4: Family?
        let v6: Family?
    }

    fileprivate struct Family: Decodable {
        let ips: [String]?
        let ttl: LenientTTL?
        let emptyReason: String?

        enum CodingKeys: String, CodingKey {
            case ips
            case ttl
            case emptyReason = "no_ip_code"
        }

        func answer(to question: Question, otherFamily: Family?) throws(DialectError) -> Answer {
            guard ips != nil || emptyReason != nil else { throw .garbage("neither ips nor no_ip_code") }
            let list = AddressList(texts: ips ?? [], ttl: ttl)
            guard list.texts.isEmpty else {
                guard emptyReason != noSuchName else { throw .garbage("addresses of a name that does not exist") }
                return try list.answer(to: question)
            }
            switch emptyReason {
            case noSuchName:
                guard otherFamily?.ips?.isEmpty ?? true else {
                    throw .garbage("a name that does not exist has addresses of the other family")
                }
                return Answer(negative: .noSuchName, ttlSeconds: list.ttlSeconds)
            case noData: return Answer(negative: .noData, ttlSeconds: list.ttlSeconds)
            // Unknown vendor codes prove nothing.
            default: return try list.answer(to: question)
            }
        }
    }

    private static let noSuchName = "DomainNotExist"
    private static let noData = "RRNotExist"
    private static let success = "success"

    private struct Envelope: Decodable {
        let code: String?
        let mode: LenientInteger?
        let data: Payload?
    }

    private enum Payload: Decodable {
        case plain(Contents)
        case sealed(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .sealed(text)
            } else {
                self = .plain(try container.decode(Contents.self))
            }
        }
    }

    static func contents(of body: [UInt8], sealedWith seal: AliCloudSeal) throws(DialectError) -> Contents {
        let envelope = try JSONBody.decode(Envelope.self, from: body)
        guard envelope.code == success else {
            throw envelope.code.flatMap(AliCloudCode.init(rawValue:))?.heard ?? .garbage("code is not success")
        }
        // Only the encryption shows that the sender has the key.
        guard let mode = envelope.mode, String(mode.value) == seal.mode else {
            throw .garbage("mode is not the request's")
        }
        switch envelope.data {
        case .plain(let contents) where !seal.isEncrypting: return contents
        case .sealed(let text) where seal.isEncrypting:
            guard let sealed = Base64.standard.decode(text) else { throw .garbage("data is not Base64") }
            return try JSONBody.decode(Contents.self, from: try seal.open(sealed))
        default: throw .garbage("data is not in the form of its mode")
        }
    }
}

// MARK: - the server's side

extension AliCloudV2Reply {
    static func json(
        to questions: [Question], with resolutions: [Resolution], client: String, sealedWith seal: AliCloudSeal,
        nonce: [UInt8]
    ) -> HTTPReply {
        let elements = NamedAnswers.all(questions, resolutions).map { named in
            let families = named.families.map { type, answer in
                (name: type == .a ? "v4" : "v6", value: family(type, answer))
            }
            return OrderedJSON.object([(name: "dn", value: .string(named.name.description))] + families)
        }
        let plain = OrderedJSON.object([("cip", .string(client)), ("answers", .array(elements))])
        var data = plain
        if seal.isEncrypting {
            guard let sealed = try? seal.close(Array(plain.text.utf8), nonce: nonce) else {
                return AliCloudCode.internalError.reply
            }
            data = .string(Base64.standard.encode(sealed))
        }
        return .aliCloud(
            .object([("code", .string(success)), ("mode", .number(Int(seal.mode) ?? 0)), ("data", data)]))
    }

    /// - Parameter answer: the answer; nil for an unregistered name, which gets an empty list without a reason.
    private static func family(_ type: RecordType, _ answer: Answer?) -> OrderedJSON {
        let answer = answer ?? AliCloudReply.unknown
        var members: [(name: String, value: OrderedJSON)] = [
            ("ips", .strings(answer.addressTexts(of: type))), ("ttl", .number(Int(answer.ttlSeconds))),
        ]
        switch answer.kind {
        case .noSuchName: members.append(("no_ip_code", .string(noSuchName)))
        case .noData: members.append(("no_ip_code", .string(noData)))
        case .records, .ambiguousEmpty: break
        }
        return .object(members)
    }
}
