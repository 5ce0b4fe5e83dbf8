// The JSON replies of version 1 of Alibaba's service: one object about one name, or a list with one object per name
// and family (providers.md 2.2). A name missing in the reply is a failure, never an empty answer.

import DNSWire

struct AliCloudReply: Decodable {
    /// The entries in reply order: if several concern one name and family, the first counts.
    private let entries: [Entry]
    /// True if the reply is a list of objects, each of one family.
    private let isBatch: Bool

    private struct Entry: Decodable {
        let host: String
        let ips: [String]?
        let ipsv6: [String]?
        let type: LenientInteger?
        let ttl: LenientTTL?

        /// Returns nil if the entry says nothing about this family.
        func addresses(of family: RecordType) -> AddressList? {
            // `ips` holds the family of `type`, or A without a type.
            let isOfType = type.map { $0.value == Int(family.rawValue) } ?? (family == .a)
            return ((isOfType ? ips : nil) ?? (family == .aaaa ? ipsv6 : nil)).map { AddressList(texts: $0, ttl: ttl) }
        }
    }

    private enum Key: String, CodingKey {
        case dns
        /// Replaces `dns` in a capture of the live service.
        case results
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let list = try container.decodeIfPresent([Entry].self, forKey: .dns)
        if let list = try list ?? container.decodeIfPresent([Entry].self, forKey: .results) {
            entries = list
            isBatch = true
        } else {
            entries = [try Entry(from: decoder)]
            isBatch = false
        }
    }

    func answer(to question: Question) throws(DialectError) -> Answer {
        let own = entries.filter { Name($0.host) == question.name }
        guard let first = own.first else { throw .wrongQuestion }
        if let list = own.lazy.compactMap({ $0.addresses(of: question.type) }).first {
            return try list.answer(to: question)
        }
        guard !isBatch else { throw .wrongQuestion }
        // One object covers all requested families: if only the other list is present, the missing one counts as
        // empty. Neither proves NODATA.
        guard let others = first.addresses(of: question.type == .a ? .aaaa : .a) else {
            throw .garbage("neither ips nor ipsv6")
        }
        return Answer(negative: .ambiguousEmpty, ttlSeconds: others.ttlSeconds)
    }
}

// MARK: - the server's side

extension AliCloudReply {
    /// The vendor's answer for names that are not registered: an empty list with this TTL (providers.md 2.2).
    static let unknown = Answer(negative: .ambiguousEmpty, ttlSeconds: 300)

    static func json(
        to questions: [Question], with resolutions: [Resolution], asList: Bool, client: String
    ) -> HTTPReply {
        let names = NamedAnswers.all(questions, resolutions)
        if names.count == 1, !asList { return .aliCloud(object(about: names[0], client)) }
        let elements = names.flatMap { named in
            named.families.map { element(named.name, $0.type, $0.answer ?? unknown, client) }
        }
        return .aliCloud(.object([("dns", .array(elements))]))
    }

    /// Returns the object about one name. The lab has only the remaining TTL and uses it for both families.
    private static func object(about named: NamedAnswers, _ client: String) -> OrderedJSON {
        let families = named.families.map { type, answer in (type: type, answer: answer ?? unknown) }
        let lists = families.map { type, answer in
            (name: type == .a ? "ips" : "ipsv6", value: OrderedJSON.strings(answer.addressTexts(of: type)))
        }
        let ttl = OrderedJSON.number(Int(families.map(\.answer.ttlSeconds).min() ?? unknown.ttlSeconds))
        var members = [(name: "host", value: .string(named.name.description))] + lists + [(name: "ttl", value: ttl)]
        if families.contains(where: { $0.answer.kind == .records }) {
            members += [(name: "origin_ttl", value: ttl), (name: "client_ip", value: .string(client))]
        }
        return .object(members)
    }

    private static func element(_ name: Name, _ type: RecordType, _ answer: Answer, _ client: String) -> OrderedJSON {
        let ttl = OrderedJSON.number(Int(answer.ttlSeconds))
        var members: [(name: String, value: OrderedJSON)] = [
            ("host", .string(name.description)), ("client_ip", .string(client)),
            ("ips", .strings(answer.addressTexts(of: type))), ("type", .number(Int(type.rawValue))), ("ttl", ttl),
        ]
        if answer.kind == .records { members.append(("origin_ttl", ttl)) }
        return .object(members)
    }
}
