// The daemon's own answer for the names of a rule, to every question about them: no upstream is asked.

package import DNSWire

package enum RuleAnswer: Equatable, Sendable {
    /// NXDOMAIN.
    case noSuchName(ExtendedError)
    case noData(ExtendedError)
    case refused(ExtendedError)
    /// No data for the types that the records do not have. Their owner is the root, for the name in the question.
    case records([ResourceRecord], ExtendedError?)
    case alias(Name)

    package static func records(
        addresses: [Address], texts: [String], services: [ServiceLocation], _ remark: ExtendedError?
    ) -> RuleAnswer {
        let ttl = Bounds.ruleTTLSeconds
        let record = { (type: RecordType, data: [UInt8]) in
            ResourceRecord(owner: .root, type: type, ttlSeconds: ttl, data: data)
        }
        return .records(
            addresses.map { ResourceRecord(owner: .root, address: $0, ttlSeconds: ttl) }
                + texts.map { record(.txt, ResourceRecord.strings($0.utf8)) } + services.map { record(.srv, $0.data) },
            remark)
    }

    var isAlias: Bool { if case .alias = self { true } else { false } }

    func reply(to question: Question) -> LocalReply {
        switch self {
        case .noSuchName(let remark): .answer(.nothing(.noSuchName, about: question, by: remark))
        case .noData(let remark): .answer(.nothing(.noData, about: question, by: remark))
        case .refused(let remark): .refusal(remark)
        case .records(let records, let remark): .answer(answer(to: question, records, remark))
        case .alias(let target):
            .answer(
                Answer(records: [
                    ResourceRecord(owner: question.name, alias: target, ttlSeconds: Bounds.ruleTTLSeconds)
                ]))
        }
    }

    private func answer(to question: Question, _ records: [ResourceRecord], _ remark: ExtendedError?) -> Answer {
        let asked = records.filter { $0.type == question.type }.map { $0.withOwner(question.name) }
        guard !asked.isEmpty else { return .nothing(.noData, about: question, by: remark) }
        return Answer(records: asked).remarked(remark)
    }
}
