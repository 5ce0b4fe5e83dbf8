// A dialect for A and AAAA queries with names in its requests. Converts between the questions of `Dialect` and names
// with address families.

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

/// A service's texts for the families that a request asks for.
struct FamilyTexts {
    let v4: String
    let v6: String
    let both: String

    func text(of families: AddressFamilies) -> String {
        switch families {
        case .v4: v4
        case .v6: v6
        case .both: both
        }
    }

    /// Server side: returns nil for another text.
    func families(of text: String) -> AddressFamilies? {
        [.v4, .v6, .both].first { self.text(of: $0) == text }
    }
}

package protocol AddressDialect: Dialect {
    /// - Parameters:
    ///   - names: the names in the services' text form (`Name.hostText`), without duplicates.
    ///   - families: the families; `both` only if the dialect `asksBothFamilies`.
    func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest

    /// Parses a reply once, for all of its questions.
    ///
    /// - Parameter isAlone: true if one name was asked, so that nameless entries belong to it.
    func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer
}

extension AddressDialect {
    package var asksBothFamilies: Bool { true }

    package func supports(_ type: RecordType) -> Bool { type.isAddress }

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

    /// Server side: converts a comma-separated list of names to questions for the requested families.
    func questions(about list: String, of families: AddressFamilies) throws(DialectError) -> [Question] {
        let texts = list.split(separator: ",", maxSplits: maxNames, omittingEmptySubsequences: false)
        guard texts.count <= maxNames else { throw .garbage("more than \(maxNames) names") }
        let names = texts.compactMap { Name(String($0)) }
        guard names.count == texts.count, !names.contains(where: \.isRoot) else { throw .garbage("not a name") }
        return names.withoutRepetition.flatMap { name in families.types.map { Question(name, $0) } }
    }
}

/// A server's answers about one name: for each requested family, A first, the answer; nil for a refusal.
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
    /// The answer; nil for a refusal.
    var answer: Answer? {
        guard case .answer(let answer) = self else { return nil }
        return answer
    }
}

extension DialectContext {
    var unixSeconds: Int64 { unixMilliseconds / 1000 }

    /// The first address of the client subnet, for services without prefix support. Length 0 asks for no location,
    /// which such services cannot express, so the result is nil.
    var clientAddress: String? {
        guard let clientSubnet, clientSubnet.length > 0 else { return nil }
        return clientSubnet.address.description
    }
}
