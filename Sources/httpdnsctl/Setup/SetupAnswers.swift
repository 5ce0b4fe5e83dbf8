// The answers of `httpdnsctl setup`, read from flags or from the terminal. The settings' own parser judges what goes
// into the file, so that both always agree.

import DNSWire
import LinuxIO
import Settings

struct SetupAnswers: Sendable {
    typealias Answer = SetupFlags.Answer

    enum Account: Equatable, Sendable {
        case no
        case of(VendorAccount)
    }

    /// An address at which other machines may query.
    struct LANListener: Equatable, Sendable {
        let listen: SocketAddress
        /// The network of the address; nil if the kernel does not know it.
        let network: Prefix?
    }

    let machine: SetupMachine
    /// The providers: presets in the order of their table, then the others; nil while not answered, like the other
    /// answers.
    private(set) var providers: [ChosenProvider]?
    private(set) var account: Account?
    private(set) var accountID: String?
    private(set) var accessKey: String?
    private(set) var url: Settings.ProviderURL?
    private(set) var addresses: [Address]?
    private(set) var keyFile: String?
    private(set) var lan: [LANListener]?
    private(set) var allow: [Prefix]?
    private(set) var takesOver: Bool?
    /// The key for a file that does not exist yet.
    private(set) var key: String?
    private var isKeyMissing = false

    init(machine: SetupMachine) {
        self.machine = machine
    }

    /// Reads the flags in the order of the questions.
    init(_ flags: SetupFlags, machine: SetupMachine) throws(SetupRefusal) {
        self.init(machine: machine)
        for answer in Answer.allCases {
            guard let text = flags.answers[answer] else { continue }
            do throws(SetupRefusal) {
                try take(answer, text)
            } catch {
                throw SetupRefusal("\(answer.rawValue): \(error.reason)")
            }
        }
    }

    var service: VendorAccount? {
        guard case .of(let service) = account else { return nil }
        return service
    }

    /// The answers that the file needs and that are not given, in the order of the questions.
    var missing: [Answer] {
        Answer.allCases.filter { answer in
            switch answer {
            case .providers: providers == nil
            case .providerAddresses: withoutAddresses != nil
            case .account: account == nil
            case .accountID: accountID == nil && service?.needs(.account) == true
            case .accessKey: accessKey == nil && service?.needs(.accessKey) == true
            case .url: false
            case .addresses: service != nil && dialled.isEmpty && !isResolved
            case .keyFile: keyFile == nil && service?.needs(.keyFile) == true
            case .lan: lan == nil
            case .allow: allow == nil && !addressesWithoutNetwork.isEmpty
            case .takeOver: takesOver == nil && machine.isRoot && !machine.isDryRun
            }
        }
    }

    /// The first provider whose addresses are not known.
    var withoutAddresses: ChosenProvider? { providers?.first(where: \.needsAddresses) }

    /// Whether the key file must be written with a key that is not known yet.
    var needsKey: Bool { isKeyMissing && key == nil }

    /// The URL of the account's provider.
    var providerURL: String { url?.description ?? service?.url ?? "" }

    /// The addresses to write for the account's provider. Those of the table belong to its URL only.
    var writtenAddresses: [Address] { addresses ?? (url == nil ? service?.addresses ?? [] : []) }

    /// The addresses that the daemon dials.
    private var dialled: [Address] {
        if case .address(let address) = Settings.ProviderURL(providerURL)?.host { return [address] }
        return writtenAddresses
    }

    /// The LAN addresses whose network is not known, as part of a sentence.
    var addressesWithoutNetwork: String {
        (lan ?? []).filter { $0.network == nil }.map { "\($0.listen.address)" }.joined(separator: ", ")
    }

    /// The key file as the flag takes it.
    var shownKeyFile: String? {
        keyFile.map { $0.hasPrefix("/") ? $0 : SetupAnswers.credentialMark + $0 }
    }

    /// The daemon resolves the host name of an https URL, and the certificate guards it.
    private var isResolved: Bool { Settings.ProviderURL(providerURL)?.isSecure ?? false }

    /// The networks of other machines that may query.
    var networks: [Prefix] { allow ?? (lan ?? []).compactMap(\.network).withoutRepetition }

    // MARK: reading

    /// - Throws: a text without the name of the flag.
    mutating func take(_ answer: Answer, _ text: String) throws(SetupRefusal) {
        switch answer {
        case .providers: providers = try SetupAnswers.readProviders(text)
        case .providerAddresses: try takeProviderAddresses(text)
        case .account: account = try SetupAnswers.readAccount(text)
        case .accountID: accountID = try accountKey("account", text)
        case .accessKey: accessKey = try accountKey("access-key", text)
        case .url:
            let text = try accountKey("url", text)
            url = Settings.ProviderURL(text)
        case .addresses:
            guard service != nil else { throw SetupAnswers.withoutAccount }
            addresses = try SetupAnswers.list(text, "IP addresses of the service, such as 192.0.2.1") { Address($0) }
        case .keyFile: try takeKeyFile(text)
        case .lan: lan = try readLAN(text)
        case .allow:
            guard lan?.isEmpty == false else { throw SetupRefusal("needs an address for --lan") }
            allow = try SetupAnswers.list(text, "networks of other machines, such as 192.168.1.0/24") { word in
                Prefix(word).flatMap { $0.address.isLoopback ? nil : $0 }
            }
        case .takeOver: try readTakeOver(text)
        }
    }

    /// The text of a new key file.
    mutating func takeKey(_ text: String) throws(SetupRefusal) {
        guard (1...SetupAnswers.maxKeyBytes).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw SetupRefusal("a key is one word of up to \(SetupAnswers.maxKeyBytes) printable ASCII characters")
        }
        key = text
    }

    /// Bound on a key: with its line feed, the daemon reads no larger key file.
    private static let maxKeyBytes = 1023

    private static let withoutAccount = SetupRefusal("found without an account; add --account SERVICE")

    static func requirePlain(_ path: String) throws(SetupRefusal) {
        guard !isPlain(path) else { return }
        throw SetupRefusal("found \(tomlString(path)); \(plainPath)")
    }

    private static let plainPath: LocalizedText = "allowed: a path without quotes and invisible characters"

    private static func isPlain(_ path: String) -> Bool { tomlString(path) == "\"\(path)\"" }

    /// Returns true for yes and false for no; nil for any other word.
    static func isYes(_ text: String) -> Bool? {
        ["yes": true, "y": true, "是": true, "no": false, "n": false, "否": false][text.lowercased()]
    }

    private static func readProviders(_ text: String) throws(SetupRefusal) -> [ChosenProvider] {
        guard text != "none" else { return [] }
        guard !words(in: text).contains("none") else {
            throw SetupRefusal("none and providers exclude each other; leave one of them out")
        }
        let names = Settings.Provider.Preset.all.map(\.choice)
        let allowed: LocalizedText = "some of \(names.joined(separator: ", ")), https:// URLs, sdns:// stamps, or none"
        var chosen: [ChosenProvider] = []
        for word in words(in: text) {
            guard let provider = try ChosenProvider(word) else {
                throw refusal(word, allowed, among: Settings.Provider.Preset.all.map(\.name) + ["none"])
            }
            if let index = chosen.firstIndex(where: { $0.word == provider.word }) {
                chosen[index].add(provider.provider.addresses)
            } else {
                chosen.append(provider)
            }
        }
        guard !chosen.isEmpty else { throw refusal(text, allowed) }
        return ordered(chosen)
    }

    /// Returns the presets in the order of their table, then the others, each with a name of its own.
    private static func ordered(_ chosen: [ChosenProvider]) -> [ChosenProvider] {
        let presets = Settings.Provider.Preset.all.flatMap { preset in
            chosen.filter { $0.provider.name == preset.name }
        }
        var ordered: [ChosenProvider] = []
        for var provider in presets + chosen.filter({ one in !presets.contains { $0.word == one.word } }) {
            let name = provider.provider.name
            let taken = ordered.map(\.provider.name)
            let free = [name] + (2...ordered.count + 2).map { "\(name)-\($0)" }
            if let first = free.first(where: { !taken.contains($0) }) { provider.rename(first) }
            ordered.append(provider)
        }
        return ordered
    }

    /// Reads "HOST=ADDR" for each address, or addresses of the first provider without them.
    private mutating func takeProviderAddresses(_ text: String) throws(SetupRefusal) {
        let form: LocalizedText = "IP addresses with the host of their provider: HOST=ADDR,HOST=ADDR"
        let pairs = try SetupAnswers.list(text, form) { word -> HostAddress? in
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let host = parts.count == 2 ? Settings.ProviderURL.Host(parts[0]) : withoutAddresses?.provider.url.host
            guard let host else { return nil }
            return Address(parts.last ?? "").map { HostAddress(host: host, address: $0) }
        }
        for pair in pairs where providers?.contains(where: { $0.provider.url.host == pair.host }) != true {
            throw SetupRefusal("no provider of --providers has the host \(tomlString(pair.host.description))")
        }
        for pair in pairs { try pair.address.checkServer() }
        for index in (providers ?? []).indices {
            let given = pairs.filter { $0.host == providers?[index].provider.url.host }.map(\.address)
            if !given.isEmpty { providers?[index].give(given) }
        }
    }

    private struct HostAddress: Hashable {
        let host: Settings.ProviderURL.Host
        let address: Address
    }

    private static func readAccount(_ text: String) throws(SetupRefusal) -> Account {
        guard isYes(text) != false else { return .no }
        if let service = VendorAccount.all.first(where: { $0.name == text }) { return .of(service) }
        let names = VendorAccount.all.map(\.name)
        throw refusal(text, LocalizedText(verbatim: "no, \(names.joined(separator: ", "))"), among: names)
    }

    /// Has the settings' parser judge one key of the account's provider.
    private func accountKey(_ key: String, _ text: String) throws(SetupRefusal) -> String {
        guard let service else { throw SetupAnswers.withoutAccount }
        let lines = [
            "[[provider]]", "dialect = \(tomlString(service.dialect.rawValue))", "\(key) = \(tomlString(text))", "",
        ]
        do throws(SettingsError) {
            _ = try Settings.parse(bytes: Array(lines.joined(separator: "\n").utf8), file: "")
        } catch {
            // Other complaints are about keys that this text leaves out.
            let start = "provider.\(key): "
            let own = error.complaints.first { complaint in
                guard complaint.text.hasPrefix(start) else { return false }
                return complaint.line == lines.count - 1 && !SetupAnswers.isAboutAbsence(complaint.text)
            }
            if let own { throw SetupRefusal(LocalizedText(verbatim: String(own.text.dropFirst(start.count)))) }
        }
        return text
    }

    /// Whether a complaint is settled by another answer.
    private static func isAboutAbsence(_ text: String) -> Bool {
        text.contains("and no addresses;") || text.contains(": found without ")
    }

    /// The text before the name of a systemd credential, because a name alone may be a pasted key.
    private static let credentialMark = "credential:"

    /// Reads the name of the key file. The complaint about a pasted key does not repeat it.
    private mutating func takeKeyFile(_ text: String) throws(SetupRefusal) {
        let isCredential = text.hasPrefix(SetupAnswers.credentialMark) && text != SetupAnswers.credentialMark
        guard text.hasPrefix("/") || isCredential else {
            throw SetupRefusal(
                """
                a path that begins with / is needed; put the key itself into that file. A systemd credential is named \
                as \(SetupAnswers.credentialMark)NAME
                """)
        }
        // The path stands in a comment, too.
        guard Settings.Provider.isPublic(file: text) || SetupAnswers.isPlain(text) else {
            throw SetupRefusal("found \(Settings.Provider.shown(file: text)); \(SetupAnswers.plainPath)")
        }
        try SetupAnswers.requirePlain(text)
        keyFile = try accountKey(
            "key-file", isCredential ? String(text.dropFirst(SetupAnswers.credentialMark.count)) : text)
        isKeyMissing = false
        // The service manager provides a credential.
        guard !isCredential, !machine.isDryRun else { return }
        switch machine.keyFile(text) {
        case .usable: break
        case .missing: isKeyMissing = true
        case .fault(let reason):
            keyFile = nil
            throw SetupRefusal(reason.mapValues { Settings.Provider.shown($0, about: text) })
        }
    }

    private func readLAN(_ text: String) throws(SetupRefusal) -> [LANListener] {
        guard SetupAnswers.isYes(text) != false else { return [] }
        guard !SetupAnswers.words(in: text).contains("no") else {
            throw SetupRefusal("no and addresses exclude each other; leave one of them out")
        }
        let listen = try SetupAnswers.list(text, "no, or addresses of this machine: ADDR, ADDR:PORT or [ADDR]:PORT") {
            SocketAddress($0, defaultPort: 53)
        }
        for address in listen {
            if let fault = machine.fault(ofLAN: address.address) { throw SetupRefusal(fault) }
            guard address.port != 0 else { throw SetupRefusal("port 0 cannot be queried") }
        }
        return listen.map { LANListener(listen: $0, network: machine.network(of: $0.address)) }
    }

    private mutating func readTakeOver(_ text: String) throws(SetupRefusal) {
        guard let value = SetupAnswers.isYes(text) else {
            throw SetupAnswers.refusal(text, LocalizedText(verbatim: "yes, no"))
        }
        guard !value || machine.isRoot || machine.isDryRun else {
            throw SetupRefusal("only root can change this machine's resolver; run setup with sudo")
        }
        takesOver = value
    }

    /// Reads words that are separated by commas or blanks; each value once.
    private static func list<Value: Hashable>(
        _ text: String, _ allowed: LocalizedText, among known: [String] = [], _ read: (String) -> Value?
    ) throws(SetupRefusal) -> [Value] {
        var values: [Value] = []
        for word in words(in: text) {
            guard let value = read(word) else { throw refusal(word, allowed, among: known) }
            values.append(value)
        }
        guard !values.isEmpty else { throw refusal(text, allowed) }
        return values.withoutRepetition
    }

    private static func words(in text: String) -> [String] {
        text.split { $0 == "," || $0 == " " }.map(String.init)
    }

    private static func refusal(
        _ text: String, _ allowed: LocalizedText, among known: [String] = []
    ) -> SetupRefusal {
        guard let name = nearestName(to: text, among: known) else {
            return SetupRefusal("found \(tomlString(text)); allowed: \(allowed)")
        }
        return SetupRefusal("found \(tomlString(text)); allowed: \(allowed); did you mean \"\(name)\"?")
    }
}
