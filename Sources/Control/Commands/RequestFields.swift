// The unchecked parts of a request. Words and JSON objects are parsed into the same fields, which are then checked and
// turned into a command.

import DNSWire
import InternationalNames

struct RequestFields: Decodable {
    var command: String
    var verb: String?
    var name: String?
    var names: [String]?
    var type: String?
    var tree: Bool?
    var all: Bool?
    var fleet: Bool?
    var `for`: String?
    var rule: String?
    var address: String?
    var provider: String?
    var level: String?
    var pattern: String?
    var noCache: Bool?
    var clients: Bool?
    var prometheus: Bool?
    var topic: String?
    var client: String?
    var settings: [String]?
    var write: Bool?

    enum CodingKeys: String, CodingKey {
        case command, verb, name, names, type, tree, all, fleet, rule, address, provider, level, pattern, clients,
            prometheus, topic, settings, client, write
        case `for`
        case noCache = "no_cache"
    }

    /// Parses the words after the command, without `--json`.
    mutating func take(_ arguments: [String], of word: Command.Word) throws(Refusal) {
        var rest = arguments[...]
        var places: [WritableKeyPath<RequestFields, String?>] = []
        switch word {
        case .status, .stats, .fleet, .evidence, .audit, .top, .inflight, .watch, .reload: break
        case .system, .doctor, .setup, .reportBug: throw RequestFields.isNotTheDaemons(word)
        case .help: places = [\.topic]
        case .explain, .query: places = [\.name, \.type]
        case .recorder, .network: places = [\.verb]
        case .log: places = [\.level]
        case .cache: places = [\.verb, \.name, \.type]
        case .flush, .verify, .verdicts: places = [\.name]
        case .report: places = [\.name, \.address]
        case .whois: places = [\.address]
        case .providers, .httpdns, .rule: places = [\.verb, \.name]
        case .prefetch:
            names = arguments
            return
        }
        while let argument = rest.popFirst() {
            switch (word, argument) {
            case (.flush, "--tree"): tree = true
            case (.flush, "--all"): all = true
            case (.flush, "--fleet"): fleet = true
            case (.flush, "--type"): type = try value(of: argument, "a record type", from: &rest)
            case (.stats, "--prometheus"): prometheus = true
            case (.query, "--no-cache"): noCache = true
            case (.query, "--provider"): provider = try value(of: argument, "the name of a provider", from: &rest)
            case (.watch, "--name"): pattern = try value(of: argument, "a pattern such as *.example.com", from: &rest)
            case (.explain, "--client"): client = try value(of: argument, "an address", from: &rest)
            case (.watch, "--clients"), (.recorder, "--clients"): clients = true
            case (.network, "--write"): write = true
            case (.httpdns, "--for"), (.log, "--for"), (.rule, "--for"):
                `for` = try value(of: argument, "a duration", from: &rest)
            case (.httpdns, "--rule"): rule = try value(of: argument, "a name", from: &rest)
            case (.rule, _) where places.isEmpty && verb == RuleAction.Verb.add.rawValue && !argument.hasPrefix("-"):
                settings = (settings ?? []) + [argument]
            default:
                guard !places.isEmpty, !argument.hasPrefix("-") else {
                    throw Refusal("unknown argument \(quoted(argument)) of \(word); allowed: \(word.usage)")
                }
                self[keyPath: places.removeFirst()] = argument
            }
        }
    }

    private func value(
        of option: String, _ what: String, from rest: inout ArraySlice<String>
    ) throws(Refusal) -> String {
        guard let value = rest.popFirst() else { throw Refusal("\(option) needs \(what)") }
        return value
    }

    func command(_ word: Command.Word) throws(Refusal) -> Command {
        switch word {
        case .status: .status
        case .stats: .stats(asPrometheus: prometheus ?? false)
        case .explain: .explain(try requiredName(word), try requestedType(), client: try client.map(readAddress))
        case .query:
            .query(
                QueryTerms(
                    try requiredName(word), try requestedType(), provider: provider,
                    skipsCache: noCache ?? false))
        case .top: .top
        case .inflight: .inflight
        case .watch: .watch(try (pattern ?? name).map(readPattern), showsClients: clients ?? false)
        case .recorder: try recorderCommand()
        case .log: .log(try requiredLevel(), seconds: try `for`.map(readDuration))
        case .reload: .reload
        case .help: .help(try topic.map(readCommand))
        case .cache: try cacheCommand()
        case .flush: .flush(try flushScope(), wholeFleet: fleet ?? false)
        case .prefetch: .prefetch(try prefetchNames())
        case .httpdns: .httpdns(try httpdnsSwitch())
        case .rule: .rule(try ruleAction())
        case .providers: .providers(try providersAction())
        case .network: .network(try networkView())
        case .fleet: .fleet
        case .verify: .verify(try requiredName(word))
        case .verdicts: .verdicts(try name.map(readName))
        case .report: .report(try requiredName(word), try requiredAddress(word))
        case .evidence: .evidence
        case .audit: .audit
        case .whois: .whois(try requiredAddress(word))
        case .system, .doctor, .setup, .reportBug: throw RequestFields.isNotTheDaemons(word)
        }
    }

    /// Returns the question of NAME [TYPE] of `explain`.
    func question() throws(Refusal) -> Question { Question(try requiredName(.explain), try requestedType()) }

    private func requestedType() throws(Refusal) -> RecordType { try type.map(readType) ?? .a }

    private static func isNotTheDaemons(_ word: Command.Word) -> Refusal {
        Refusal("\(word.rawValue) is carried out by httpdnsctl itself; run: httpdnsctl \(word.rawValue)")
    }

    private func requiredName(_ word: Command.Word) throws(Refusal) -> Name {
        guard let name, !name.isEmpty else {
            throw Refusal("\(word) needs a name; allowed: \(word.usage)")
        }
        return try readName(name)
    }

    private func requiredAddress(_ word: Command.Word) throws(Refusal) -> Address {
        guard let address else { throw Refusal("\(word) needs an address; allowed: \(word.usage)") }
        return try readAddress(address)
    }

    private func readAddress(_ text: String) throws(Refusal) -> Address {
        guard let read = Address(text) else { throw Refusal("\(quoted(text)) is not an IP address") }
        return read
    }

    private func requiredVerb<Verb: RawRepresentable<String>>(_ word: Command.Word) throws(Refusal) -> Verb {
        guard let verb else { throw Refusal("\(word) needs a verb; allowed: \(word.usage)") }
        guard let known = Verb(rawValue: verb) else {
            throw Refusal("unknown verb \(quoted(verb)) of \(word); allowed: \(word.usage)")
        }
        return known
    }

    private func tooMany(_ word: Command.Word, _ verb: some RawRepresentable<String>) -> Refusal {
        Refusal("too many arguments of \(word) \(verb.rawValue); allowed: \(word.usage(verb))")
    }

    private func cacheCommand() throws(Refusal) -> Command {
        let view: CacheView = try requiredVerb(.cache)
        let isExcess = view == .dump && name != nil || view != .get && type != nil
        guard !isExcess else { throw tooMany(.cache, view) }
        switch view {
        case .dump: return .cache(view, .everything)
        case .list:
            return .cache(
                view, try name.map(readName).map { QuestionScope($0, includesDescendants: true) } ?? .everything)
        case .get:
            guard let name else {
                throw Refusal("cache get needs a name; allowed: \(Command.Word.cache.usage(view))")
            }
            return .cache(view, QuestionScope(try readName(name), type: try type.map(readType)))
        }
    }

    /// Returns the scope of a flush. Contradictory arguments are refused, because a flush cannot be undone.
    private func flushScope() throws(Refusal) -> QuestionScope {
        guard all != true else {
            guard name == nil, type == nil, tree != true else {
                throw Refusal("--all takes no name, --tree or --type; allowed: \(Command.Word.flush.usage)")
            }
            return .everything
        }
        return QuestionScope(
            try requiredName(.flush), includesDescendants: tree ?? false, type: try type.map(readType))
    }

    private func prefetchNames() throws(Refusal) -> [Name] {
        let texts = (name.map { [$0] } ?? []) + (names ?? [])
        guard !texts.isEmpty else {
            throw Refusal("prefetch needs a name; allowed: \(Command.Word.prefetch.usage)")
        }
        guard texts.count <= Command.maxPrefetchNames else {
            throw Refusal("found \(texts.count) names; allowed: 1 to \(Command.maxPrefetchNames)")
        }
        var names: [Name] = []
        for text in texts { names.append(try readName(text)) }
        return names
    }

    /// Returns the switch. Superfluous arguments are refused, as for a flush. `rule` is the former word for `name`.
    private func httpdnsSwitch() throws(Refusal) -> HTTPDNSSwitch {
        let what: HTTPDNSSwitch.Verb = try requiredVerb(.httpdns)
        guard name == nil || rule == nil, names == nil, what == .off || `for` == nil else {
            throw tooMany(.httpdns, what)
        }
        let named = try (name ?? rule).map(readName).flatMap { $0.isRoot ? nil : $0 }
        switch what {
        case .off: return .off(named, seconds: try `for`.map(readDuration))
        case .on: return .on(named)
        }
    }

    private func ruleAction() throws(Refusal) -> RuleAction {
        let what: RuleAction.Verb = try requiredVerb(.rule)
        let usage = Command.Word.rule.usage(what)
        guard what == .add || settings == nil && `for` == nil, what != .ls || name == nil, names == nil, rule == nil
        else { throw tooMany(.rule, what) }
        guard what != .ls else { return .list }
        guard let name, !name.isEmpty else { throw Refusal("rule \(what) needs a name; allowed: \(usage)") }
        let read = try readName(name)
        guard what == .add else { return .remove(read) }
        guard let settings, !settings.isEmpty else {
            throw Refusal("rule add needs what the rule says; allowed: \(usage)")
        }
        return .add(read, settings, seconds: try `for`.map(readDuration))
    }

    private func providersAction() throws(Refusal) -> ProvidersAction {
        let usage = Command.Word.providers.usage
        guard verb != nil else {
            guard name == nil else { throw Refusal("providers needs a verb for a name; allowed: \(usage)") }
            return .list
        }
        let what: ProvidersAction.Verb = try requiredVerb(.providers)
        guard what == .test else { return .reset(name) }
        guard let name else {
            throw Refusal("providers test needs a name; allowed: \(Command.Word.providers.usage(what))")
        }
        return .test(name)
    }

    private func networkView() throws(Refusal) -> NetworkView {
        guard verb != nil || write != nil else { return .current }
        let what: NetworkView.Verb = try requiredVerb(.network)
        guard what == .names || write == nil else { throw tooMany(.network, what) }
        return what == .names ? .names(writesRules: write ?? false) : .history
    }

    private func recorderCommand() throws(Refusal) -> Command {
        guard verb == "dump" else {
            let found = verb.map { "unknown verb \(quoted($0)) of recorder" } ?? "recorder needs a verb"
            throw Refusal("\(found); allowed: \(Command.Word.recorder.usage)")
        }
        return .recorder(showsClients: clients ?? false)
    }

    private func requiredLevel() throws(Refusal) -> LogLevel {
        guard let level else { throw Refusal("log needs a level; allowed: \(Command.Word.log.usage)") }
        guard let known = LogLevel(rawValue: level) else {
            throw Refusal("unknown level \(quoted(level)); allowed: \(CommandForm.levels)")
        }
        return known
    }

    private func readCommand(_ text: String) throws(Refusal) -> Command.Word {
        guard let word = Command.Word(rawValue: text) else {
            throw Refusal("no command \(quoted(text)); see help")
        }
        return word
    }

    private func readPattern(_ text: String) throws(Refusal) -> NamePattern {
        guard let pattern = NamePattern(text) else {
            throw Refusal(
                "\(quoted(text)) is not a name pattern; allowed: up to \(NamePattern.maxBytes) bytes of ASCII, "
                    + "in which * is any string and ? is one character")
        }
        return pattern
    }

    private func readDuration(_ text: String) throws(Refusal) -> Int {
        guard let seconds = HTTPDNSSwitch.seconds(text) else {
            throw Refusal("\(quoted(text)) is not a duration from 1s to 30d, such as 30s, 10m, 2h or 1d")
        }
        return seconds
    }

    /// Parses a name. A Unicode name becomes the ASCII name that clients query.
    private func readName(_ text: String) throws(Refusal) -> Name {
        guard let name = (try? InternationalName.ascii(text)).flatMap({ Name($0) }) else {
            throw Refusal(
                "\(quoted(text)) is not a domain name; allowed: labels of 1 to 63 bytes with dots between them, 253 "
                    + "bytes in all")
        }
        return name
    }

    private func readType(_ text: String) throws(Refusal) -> RecordType {
        guard let type = RecordType(text) else {
            throw Refusal(
                "\(quoted(text)) is not a record type; allowed: \(RecordType.names.joined(separator: ", ")), or TYPE "
                    + "with a number, such as TYPE65")
        }
        return type
    }
}
