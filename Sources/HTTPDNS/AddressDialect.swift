// A dialect for A and AAAA alone, whose requests carry names rather than questions: what it says of names and families,
// made into what every dialect says of questions.

package import DNSWire

package enum AddressFamilies: Sendable {
    case v4
    case v6
    case both

    package var types: [RecordType] {
        switch self {
        case .v4: [.a]
        case .v6: [.aaaa]
        case .both: [.a, .aaaa]
        }
    }
}

package protocol AddressDialect: Dialect {
    /// - Parameters:
    ///   - names: as these services take them (`Name.hostText`), each once.
    ///   - families: both only of a dialect that `asksBothFamilies`.
    func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest

    /// Reads a reply once, for all of its questions.
    /// - Parameter isAlone: one name was asked, so what names nothing is about that one.
    func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer
}

extension AddressDialect {
    package func supports(_ question: Question) -> Bool {
        supports(question.type) && !question.name.isRoot && question.name.hostText != nil
    }

    package func request(
        for questions: [Question], in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        guard questions.allSatisfy(supports) else { throw .unsupported }
        let names = questions.map(\.name).withoutRepetition
        let types = Set(questions.map(\.type))
        precondition((1...maxNames).contains(names.count), "\(names.count) names in one request")
        precondition(types.count == 1 || asksBothFamilies, "questions of several types in one request")
        precondition(Set(questions).count == names.count * types.count, "not both families for every name")
        let families: AddressFamilies = types.count == 2 ? .both : types.contains(.a) ? .v4 : .v6
        return try request(for: names.compactMap(\.hostText), of: families, in: context)
    }

    package func answers(from reply: HTTPReply, to questions: [Question]) -> [Result<Answer, DialectError>] {
        let answer: (Question) throws(DialectError) -> Answer
        do throws(DialectError) {
            answer = try reading(of: reply, isAlone: Set(questions.map(\.name)).count == 1)
        } catch {
            return questions.map { _ in .failure(error) }
        }
        let age = reply.headers.ageSeconds
        return questions.map { question in
            Result { () throws(DialectError) in try answer(question).aged(bySeconds: age) }
        }
    }

    /// The server's side: a list of names as text, each with the families that were asked for.
    func questions(about list: String, of families: AddressFamilies) throws(DialectError) -> [Question] {
        let texts = list.split(separator: ",", maxSplits: maxNames, omittingEmptySubsequences: false)
        guard texts.count <= maxNames else { throw .garbage("more than \(maxNames) names") }
        let names = texts.compactMap { Name(String($0)) }
        guard names.count == texts.count, !names.contains(where: \.isRoot) else { throw .garbage("not a name") }
        return names.withoutRepetition.flatMap { name in families.types.map { Question(name, $0) } }
    }
}

/// What a server has to say about one name: for each family that was asked for, A first, the answer, or nil when it was
/// refused.
struct NamedAnswers {
    let name: Name
    private(set) var families: [(type: RecordType, answer: Answer?)] = []

    static func all(_ questions: [Question], _ resolutions: [Resolution]) -> [NamedAnswers] {
        var all = questions.map(\.name).withoutRepetition.map { NamedAnswers(name: $0) }
        for (question, resolution) in zip(questions, resolutions).sorted(by: { $0.0.type == .a && $1.0.type != .a }) {
            guard let index = all.firstIndex(where: { $0.name == question.name }) else { continue }
            all[index].families.append((question.type, resolution.answer))
        }
        return all
    }
}

extension Resolution {
    /// Nil for a refusal.
    var answer: Answer? {
        guard case .answer(let answer) = self else { return nil }
        return answer
    }
}

extension [Name] {
    /// Each once, in the order in which they come up first.
    fileprivate var withoutRepetition: [Name] {
        var seen: Set<Name> = []
        return filter { seen.insert($0).inserted }
    }
}

extension DialectContext {
    var unixSeconds: Int64 { unixMilliseconds / 1000 }

    /// Whom the provider is to answer for, as services say it that know no prefixes: the subnet's first address. One of
    /// length 0 asks not to be located; such services have no words for that, so it is nil as if nothing were said.
    var clientAddress: String? {
        guard let clientSubnet, clientSubnet.length > 0 else { return nil }
        return clientSubnet.address.description
    }
}
