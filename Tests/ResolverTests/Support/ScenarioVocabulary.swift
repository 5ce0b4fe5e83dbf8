// The meaning of a scenario's words for the resolver. It is strict: an unknown word is an error with its line.

import DNSWire
import TestSupport

@testable import Resolver

/// The vocabulary with the providers' names, and with the question that lines mean if they state none.
struct ScenarioVocabulary {
    private(set) var providerNames: [String] = []
    private var nameservers: Set<Int> = []
    private var questions: Set<Question> = []
    private var questionOfClient: [UInt64: Question] = [:]

    /// An action in the scenario's own words, with names instead of the resolver's numbers.
    enum Expectation: Equatable {
        case fetch(Question, from: String)
        case shadow(Question, from: String)
        case abandon(Question, from: String)
        case store(Question, Answer, from: String)
        case reply(UInt64, Answer, from: String)
        case replyExpired(UInt64, RenderedAnswer, StaleCause, extendedError: UInt16)
        case fail(UInt64, extendedError: UInt16, ResponseCode)
        case rearrange(Question, Answer, from: String)
        case remove(Question)
        case withdraw(Question, from: String)
        case portal(PortalEvent)
        case doubt(String)
        case awaitAsk(Question, from: String)
        case probe(ProbeTarget)
        case refuse(Address, ProbeRefusal)
        case forged(Address, String, Address, String)
        case contradicted(Question, from: String)
    }

    func name(_ upstream: Upstream) -> String {
        switch upstream {
        case .provider(let id): providerNames[id.number]
        case .nameserver(let id): providerNames[id.number]
        case .system: "system"
        }
    }

    func name(_ source: Source) -> String {
        switch source {
        case .provider(let id): providerNames[id.number]
        case .nameserver(let id): providerNames[id.number]
        case .system: "system"
        case .local: "local"
        case .fallback: "fallback"
        }
    }

    // MARK: what is given

    /// - Parameter parts: "provider NAME a|addresses|any [batch N] [budget N] [quota N] [shadow PERCENT]" and "system".
    ///   A provider may also have "filters" (its word is final), "plain" (no TLS), "own-names" (`account` gives it
    ///   names), "bare" (no CNAME records), "billed" (an account), "no-hedge" (asked only after a failure),
    ///   "nameserver" (one of the operator), and "timeout TIME". A provider keeps its number in every list.
    mutating func upstreams(_ parts: [ScenarioLine]) throws -> Event {
        var providers: [ProviderTraits] = []
        var hasSystem = false
        for var part in parts {
            switch try part.word("provider or system") {
            case "provider": providers.append(try provider(&part))
            case "system": hasSystem = true
            case let word: throw part.error("\"\(word)\" instead of provider or system")
            }
            try part.end()
        }
        return .upstreamsChanged(providers: providers, hasSystem: hasSystem)
    }

    private mutating func provider(_ part: inout ScenarioLine) throws -> ProviderTraits {
        let name = try part.word("a provider's name")
        if !providerNames.contains(name) { providerNames.append(name) }
        let number = providerNames.firstIndex(of: name) ?? 0
        let types: ProviderTraits.Types
        switch try part.word("a, addresses or any") {
        case "a": types = .a
        case "addresses": types = .addresses
        case "any": types = .any
        case let word: throw part.error("\"\(word)\" instead of a, addresses or any")
        }
        if part.take("nameserver") { nameservers.insert(number) }
        return ProviderTraits(
            id: rankedID(number), types: types,
            maxNames: part.take("batch") ? try part.number("how many questions") : 1,
            budgetPerSecond: part.take("budget") ? try part.number("how many refreshes per second") : 100,
            questionsPerSecond: part.take("quota") ? try part.number("how many questions per second") : nil,
            whenUsedUp: part.take("used-up") ? try whenUsedUp(&part) : .next,
            shadowShare: part.take("shadow") ? Double(try part.number("percent") as Int) / 100 : nil,
            filters: part.take("filters"), verifies: !part.take("plain"), hasOwnNames: part.take("own-names"),
            carriesAliases: !part.take("bare"), carriesDNSSEC: part.take("dnssec"), isBilled: part.take("billed"),
            mayHedge: !part.take("no-hedge"),
            timeout: part.take("timeout") ? try part.duration() : Bounds.providerTimeout)
    }

    private func whenUsedUp(_ part: inout ScenarioLine) throws -> WhenUsedUp {
        let word = try part.word("wait, next or system")
        guard let setting = WhenUsedUp(rawValue: word) else {
            throw part.error("\"\(word)\" instead of wait, next or system")
        }
        return setting
    }

    private func rankedID(_ number: Int) -> RankedID {
        nameservers.contains(number) ? .nameserver(NameserverID(number)) : .provider(ProviderID(number))
    }

    /// Reads the "NAME" of a provider.
    func rankedID(_ line: inout ScenarioLine) throws -> RankedID {
        let name = try line.word("a provider's name")
        guard let number = providerNames.firstIndex(of: name) else { throw line.error("no provider \"\(name)\"") }
        return rankedID(number)
    }

    /// "NAME" of a provider.
    func providerID(_ line: inout ScenarioLine) throws -> ProviderID {
        guard let id = try rankedID(&line).provider else { throw line.error("a nameserver is no provider") }
        return id
    }

    /// Reads "changing", "unchanged", "changed NUMBER", "forgotten NUMBER", "unreachable PROVIDER ..." or "reachable",
    /// which means all providers.
    func network(_ line: inout ScenarioLine) throws -> NetworkEvent {
        switch try line.word("what becomes of the network") {
        case "changing": return .changing
        case "unchanged": return .unchanged
        case "changed": return .changed(NetworkID(rawValue: try line.number("a network's number")))
        case "forgotten": return .forgotten(NetworkID(rawValue: try line.number("a network's number")))
        case "reachable": return .unreachable([])
        case "unreachable":
            var providers: Set<RankedID> = []
            while !line.isAtEnd { providers.insert(try rankedID(&line)) }
            return .unreachable(providers)
        case let word: throw line.error("\"\(word)\" does not become of a network")
        }
    }

    // MARK: what happens and what is expected

    /// Reads "PROVIDER NAME TYPE ANSWER".
    mutating func volunteered(_ line: inout ScenarioLine) throws -> Event {
        let provider = try providerID(&line)
        let question = try newQuestion(&line)
        return .volunteered(question, try answer(&line, to: question), provider)
    }

    /// Reads "PROVIDER for TIME".
    func throttled(_ line: inout ScenarioLine) throws -> Event {
        let provider = try providerID(&line)
        try line.require("for")
        return .throttled(provider, for: try line.duration())
    }

    /// Reads "NUMBER asks NAME TYPE", or "NUMBER asks cache NAME TYPE" with RD=0.
    mutating func asked(_ line: inout ScenarioLine) throws -> (Waiter, Question, isCacheOnly: Bool) {
        let waiter = Waiter(try line.number("a client's number"))
        try line.require("asks")
        let isCacheOnly = line.take("cache")
        let question = try newQuestion(&line)
        questionOfClient[waiter.number] = question
        return (waiter, question, isCacheOnly)
    }

    /// Reads "NAME TYPE"; later lines may refer to the question.
    mutating func newQuestion(_ line: inout ScenarioLine) throws -> Question {
        let question = try question(&line)
        questions.insert(question)
        return question
    }

    /// Reads one action: "fetch UPSTREAM", "shadow PROVIDER", "abandon UPSTREAM" or "store ANSWER from SOURCE", each
    /// with "for NAME TYPE" after the first word if it is ambiguous; likewise "rearrange ANSWER from SOURCE", "remove"
    /// and "await from SOURCE"; "reply CLIENT ANSWER from SOURCE", where the source may be the cache; "reply CLIENT
    /// ANSWER stale by timeout|failure|recheck|cache-only|other-network [ede 19]"; "fail CLIENT ede CODE
    /// [YXDOMAIN|REFUSED]"; "probe TARGET"; "refuse ADDRESS REASON"; "diverged ADDRESS from SOURCE against ADDRESS from
    /// SOURCE"; "contradicted from SOURCE"; "withdraw from SOURCE"; "portal NEWS".
    func expectation(_ line: inout ScenarioLine) throws -> Expectation {
        switch try line.word("what is expected") {
        case "fetch": return .fetch(try meantQuestion(&line), from: try upstreamName(&line))
        case "shadow": return .shadow(try meantQuestion(&line), from: try upstreamName(&line))
        case "abandon": return .abandon(try meantQuestion(&line), from: try upstreamName(&line))
        case "store":
            let question = try meantQuestion(&line)
            return .store(question, try answer(&line, to: question), from: try sourceName(&line))
        case "reply": return try reply(&line)
        case "fail":
            let client: UInt64 = try line.number("a client's number")
            try line.require("ede")
            let extendedError: UInt16 = try line.number("an extended error")
            let code: ResponseCode =
                line.take("YXDOMAIN") ? .nameShouldNotExist : line.take("REFUSED") ? .refused : .serverFailure
            return .fail(client, extendedError: extendedError, code)
        case "rearrange":
            let question = try meantQuestion(&line)
            return .rearrange(question, try answer(&line, to: question), from: try sourceName(&line))
        case "remove": return .remove(try meantQuestion(&line))
        case "withdraw": return .withdraw(try meantQuestion(&line), from: try sourceName(&line))
        case "portal": return .portal(try portalNews(&line))
        case "doubt": return .doubt(try line.word("given, believed, confirmed or forgotten"))
        case "await": return .awaitAsk(try meantQuestion(&line), from: try sourceName(&line))
        case "probe": return .probe(try target(&line))
        case "refuse":
            let address = try address(&line)
            let word = try line.word("why a probe is refused")
            guard let reason = ProbeRefusal(rawValue: word) else { throw line.error("\"\(word)\" is no such reason") }
            return .refuse(address, reason)
        case "diverged":
            let (mismatched, source) = (try address(&line), try sourceName(&line))
            try line.require("against")
            return .forged(mismatched, source, try address(&line), try sourceName(&line))
        case "contradicted": return .contradicted(try meantQuestion(&line), from: try sourceName(&line))
        case let word: throw line.error("\"\(word)\" is nothing that the resolver does")
        }
    }

    /// Reads "suspected", "redirects NAME" or "ended verified|network|upstreams|time".
    private func portalNews(_ line: inout ScenarioLine) throws -> PortalEvent {
        let ends: [String: PortalEnd] = [
            "verified": .verified, "network": .networkChanged, "upstreams": .upstreamsChanged, "time": .timeLimit,
        ]
        if line.take("suspected") { return .suspected }
        if line.take("redirects") { return .redirects(try name(&line)) }
        try line.require("ended")
        let word = try line.word("why it ended")
        guard let end = ends[word] else { throw line.error("\"\(word)\" is no such reason") }
        return .ended(end)
    }

    private func reply(_ line: inout ScenarioLine) throws -> Expectation {
        let client: UInt64 = try line.number("a client's number")
        guard let question = questionOfClient[client] else { throw line.error("client \(client) asked nothing") }
        let answer = try answer(&line, to: question)
        guard line.take("stale") else { return .reply(client, answer, from: try sourceName(&line)) }
        try line.require("by")
        let word = try line.word("timeout, failure or recheck")
        guard let cause = StaleCause(rawValue: word) else {
            throw line.error("\"\(word)\" instead of timeout, failure or recheck")
        }
        let extendedError = line.take("ede") ? try line.number("an extended error") : ExtendedError.staleAnswer.code
        return .replyExpired(client, RenderedAnswer(answer, to: question), cause, extendedError: extendedError)
    }

    /// Reads "PROVIDER [FAILURE]": as many successive failures as possible without opening the circuit breaker; the
    /// next one opens it.
    func earlierFailures(_ line: inout ScenarioLine) throws -> [(RankedID, FetchFailure, Name)] {
        let provider = try rankedID(&line)
        let word = line.isAtEnd ? "refused" : try line.word("a failure")
        guard let failure = FetchFailure(rawValue: word) else { throw line.error("\"\(word)\" is no failure") }
        try line.end()
        return (failure == .timeout ? ["earlier.example", "early.example"] : ["earlier.example"]).map {
            (provider, failure, Name($0) ?? .root)
        }
    }

    /// Reads "RCODE [ede CODE]".
    func nameFailure(_ line: inout ScenarioLine) throws -> NameFailure {
        let codes = [ResponseCode.serverFailure, .refused, .nameShouldNotExist]
        let word = try line.word("a response code")
        guard let code = codes.first(where: { $0.description == word }) else {
            throw line.error("\"\(word)\" is no response code")
        }
        guard line.take("ede") else { return NameFailure(code) }
        return NameFailure(code, ExtendedError(upstream: try line.number("an extended error"), text: "why".utf8))
    }

    // MARK: words

    func name(_ line: inout ScenarioLine) throws -> Name {
        let text = try line.word("a name")
        guard let name = Name(text) else { throw line.error("\"\(text)\" is no name") }
        return name
    }

    /// Reads "off" or "PREFIX ...", the best first.
    func prefixes(_ line: inout ScenarioLine) throws -> [NAT64Prefix] {
        if line.take("off") { return [] }
        var prefixes: [NAT64Prefix] = []
        repeat {
            let text = try line.word("a prefix")
            guard let prefix = Prefix(text).flatMap({ NAT64Prefix($0) }) else {
                throw line.error("\"\(text)\" is no NAT64 prefix")
            }
            prefixes.append(prefix)
        } while !line.isAtEnd
        return prefixes
    }

    func address(_ line: inout ScenarioLine) throws -> Address {
        let text = try line.word("an address")
        guard let address = Address(text) else { throw line.error("\"\(text)\" is no address") }
        return address
    }

    /// Reads "ADDRESS [for NAME]", at port 443; the name may be left out while the scenario has only one.
    func target(_ line: inout ScenarioLine) throws -> ProbeTarget {
        let address = try address(&line)
        if line.take("for") { return ProbeTarget(try name(&line), address, port: 443) }
        guard let only = questions.first, Set(questions.map(\.name)).count == 1 else {
            throw line.error("say for which name")
        }
        return ProbeTarget(only.name, address, port: 443)
    }

    private func question(_ line: inout ScenarioLine) throws -> Question {
        let name = try line.word("a name")
        var words = try line.word("a type").split(separator: "+").map(String.init)
        let type = words.isEmpty ? "" : words.removeFirst()
        let dnssec = try words.reduce(into: DNSSECBits()) { bits, word in
            guard word == "DO" || word == "CD" else { throw line.error("\"\(word)\" instead of DO or CD") }
            bits.insert(word == "DO" ? .dnssecOK : .checkingDisabled)
        }
        guard let name = Name(name) else { throw line.error("\"\(name)\" is no name") }
        guard let type = RecordType(type) else { throw line.error("\"\(type)\" is no type") }
        return Question(name, type, dnssec: dnssec)
    }

    /// Reads "for NAME TYPE", which may be left out while the scenario has only one question.
    func meantQuestion(_ line: inout ScenarioLine) throws -> Question {
        if line.take("for") { return try question(&line) }
        guard let only = questions.first, questions.count == 1 else { throw line.error("say for which question") }
        return only
    }

    func upstreamName(_ line: inout ScenarioLine) throws -> String {
        let name = try line.word("an upstream")
        guard providerNames.contains(name) || name == "system" else { throw line.error("no upstream \"\(name)\"") }
        return name
    }

    /// Reads an answer, and "ede CODE" for an extended error that the upstream sends with it.
    func answer(_ line: inout ScenarioLine, to question: Question) throws -> Answer {
        let answer = try bareAnswer(&line, to: question)
        guard line.take("ede") else { return answer }
        return answer.remarked(ExtendedError(upstream: try line.number("an extended error"), text: "why".utf8))
    }

    /// Reads `nxdomain`, `nodata` or `ambiguous-empty`, each alone or with "ttl N", "soa TTL MINIMUM" or "zone NAME
    /// ttl N"; or records with "ttl N", joined by "and": addresses, "alias TARGET", "name TARGET" (PTR), "signature
    /// TYPE" (RRSIG), "text WORD" (any other type).
    private func bareAnswer(_ line: inout ScenarioLine, to question: Question) throws -> Answer {
        if line.take("nxdomain") { return try negative(.noSuchName, &line, question) }
        if line.take("nodata") { return try negative(.noData, &line, question) }
        if line.take("excluded") { return .withoutFamily(question) }
        if line.take("ambiguous-empty") { return try negative(.ambiguousEmpty, &line, question) }
        var owner = question.name
        var records: [ResourceRecord] = []
        repeat {
            let record = try self.record(&line, owner: owner, type: question.type)
            if record.type == .cname, let target = Name(wire: record.data) { owner = target }
            records.append(record)
        } while line.take("and")
        let isSigned = records.contains { $0.type == .rrsig }
        return isSigned ? Answer(records: records).whole(records, []) : Answer(records: records)
    }

    private func sourceName(_ line: inout ScenarioLine) throws -> String {
        try line.require("from")
        let notUpstreams = ["local", "fallback", "cache"]
        return try notUpstreams.first { line.take($0) } ?? upstreamName(&line)
    }

    private func record(_ line: inout ScenarioLine, owner: Name, type: RecordType) throws -> ResourceRecord {
        let word = try line.word("an answer")
        let recordType: RecordType
        let data: [UInt8]
        switch word {
        case "alias", "name":
            recordType = word == "alias" ? .cname : .ptr
            let target = try line.word("a name")
            guard let target = Name(target) else { throw line.error("\"\(target)\" is no name") }
            data = target.wire
        case "signature":
            recordType = .rrsig
            let covered = RecordType(try line.word("a type"))?.rawValue ?? 0
            data = [UInt8(covered >> 8), UInt8(covered & 0xFF)]
        case "text":
            recordType = type
            data = Array(try line.word("a word").utf8)
        default:
            guard let address = Address(word) else { throw line.error("\"\(word)\" is no answer") }
            recordType = address.recordType
            data = address.bytes
        }
        try line.require("ttl")
        return ResourceRecord(owner: owner, type: recordType, ttlSeconds: try line.number("a TTL"), data: data)
    }

    private func negative(_ kind: Answer.Kind, _ line: inout ScenarioLine, _ question: Question) throws -> Answer {
        if line.take("ttl") { return Answer(negative: kind, ttlSeconds: try line.number("a TTL")) }
        if line.take("zone") {
            let word = try line.word("a zone")
            guard let zone = Name(word) else { throw line.error("\"\(word)\" is no name") }
            try line.require("ttl")
            return .nothing(kind, inZone: zone, ttlSeconds: try line.number("a TTL"))
        }
        guard line.take("soa") else { return Answer(negative: kind) }
        let ttl: UInt32 = try line.number("a TTL")
        let minimum: UInt32 = try line.number("a minimum")
        let fixed: [UInt8] = Array(repeating: 0, count: 18)
        let last = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: minimum >> UInt32($0)) }
        let authority = ResourceRecord(owner: question.name, type: .soa, ttlSeconds: ttl, data: fixed + last)
        return Answer(negative: kind, authority: authority)
    }
}

extension ScenarioVocabulary.Expectation: CustomStringConvertible {
    var description: String {
        switch self {
        case .fetch(let question, let upstream): "fetch for \(question) \(upstream)"
        case .shadow(let question, let upstream): "shadow for \(question) \(upstream)"
        case .abandon(let question, let upstream): "abandon for \(question) \(upstream)"
        case .store(let question, let answer, let source): "store for \(question) \(words(answer)) from \(source)"
        case .reply(let client, let answer, let source): "reply \(client) \(words(answer)) from \(source)"
        case .replyExpired(let client, let answer, let cause, let extendedError):
            "reply \(client) \(answer.responseCode) \(answer.body) stale by \(cause) ede \(extendedError)"
        case .fail(let client, let extendedError, let code): "fail \(client) ede \(extendedError) \(code)"
        case .rearrange(let question, let answer, let source):
            "rearrange for \(question) \(words(answer)) from \(source)"
        case .remove(let question): "remove for \(question)"
        case .withdraw(let question, let source): "withdraw for \(question) from \(source)"
        case .portal(let news): "portal \(news)"
        case .doubt(let news): "doubt \(news)"
        case .awaitAsk(let question, let source): "await for \(question) from \(source)"
        case .probe(let target): "probe \(target.address) for \(target.name)"
        case .refuse(let address, let reason): "refuse \(address) \(reason.rawValue)"
        case .forged(let mismatched, let source, let verified, let other):
            "diverged \(mismatched) from \(source) against \(verified) from \(other)"
        case .contradicted(let question, let source): "contradicted for \(question) from \(source)"
        }
    }

    private func words(_ answer: Answer) -> String {
        let records = answer.records.map { "\($0.type) \($0.data) ttl \($0.ttlSeconds)" }
        return (["\(answer.kind) \(answer.ttlSeconds)"] + records).joined(separator: ", ")
    }
}
