// A provider of the answer `--providers`: a preset by its name, or a service for DNS over HTTPS by its URL or stamp.

import DNSWire
import Settings

struct ChosenProvider: Equatable, Sendable {
    /// The provider as `--providers` takes it: "quad9", "nextdns:ID", or a URL.
    let word: String
    private(set) var provider: Settings.Provider
    /// The company that sees the names; of an unknown one, the host.
    let company: String
    /// The company with what is known of the provider.
    let description: LocalizedText
    /// The provider blocks names; nil: not known.
    let blocks: Bool?
    /// The URL's host is a name, and the operator has given its addresses.
    private(set) var hasGivenAddresses = false

    /// The host of the URL, as in the URL.
    var host: String { provider.url.host.description }

    /// The addresses to dial are not known.
    var needsAddresses: Bool {
        guard case .name = provider.url.host else { return false }
        return provider.addresses.isEmpty
    }

    mutating func give(_ addresses: [Address]) {
        provider.addresses = addresses
        hasGivenAddresses = true
    }

    /// Adds addresses to those that are known.
    mutating func add(_ addresses: [Address]) {
        let new = addresses.filter { !provider.addresses.contains($0) }
        if !new.isEmpty { give(provider.addresses + new) }
    }

    /// Changes the name in the settings.
    mutating func rename(_ name: String) { provider.name = name }

    // MARK: reading

    /// Returns nil for a word that is neither the name of a preset nor looks like a URL.
    ///
    /// - Throws: why a preset, URL or stamp can't be used.
    init?(_ pasted: String) throws(SetupRefusal) {
        let word = ChosenProvider.unquoted(pasted)
        if word.contains("://") {
            self = try ChosenProvider.read(url: word)
            return
        }
        let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, let preset = Settings.Provider.Preset.all.first(where: { $0.name == name }) else {
            return nil
        }
        let id = parts.count == 2 ? parts[1] : nil
        guard preset.needsID else {
            guard id == nil else {
                throw SetupRefusal("found \(tomlString(word)); \(name) has no profiles, write \(name)")
            }
            self.init(preset, id: "")
            return
        }
        guard let id, id != ChosenProvider.idMark, ChosenProvider.isID(id[...]) else {
            throw SetupRefusal(
                "\(name) needs the id of your profile with \(preset.company); write \(name):ID with that id")
        }
        self.init(preset, id: id)
    }

    private init(_ preset: Settings.Provider.Preset, id: String) {
        self.init(
            word: preset.needsID ? "\(preset.name):\(id)" : preset.name, provider: preset.provider(id: id),
            company: preset.company, description: preset.words, blocks: preset.blocks)
    }

    /// - Parameter addresses: those of a stamp, in addition to those of a preset with the same host.
    private init(_ url: Settings.ProviderURL, addresses: [Address]) {
        if let (preset, id) = ChosenProvider.preset(of: url) {
            self.init(preset, id: id)
        } else {
            let relatives = Settings.Provider.Preset.all.filter { .name($0.host) == url.host }
            let relative = relatives.first
            var known = url.port == ChosenProvider.httpsPort ? relative?.provider(id: "").addresses ?? [] : []
            if case .address(let address) = url.host, addresses.isEmpty { known = [address] }
            let company = relative?.company ?? url.host.description
            self.init(
                word: url.description,
                provider: Settings.Provider(name: ChosenProvider.name(of: url), doh: url, addresses: known),
                company: company, description: LocalizedText(translating: company),
                blocks: ChosenProvider.blocks(url, among: relatives))
        }
        add(addresses)
    }

    private init(word: String, provider: Settings.Provider, company: String, description: LocalizedText, blocks: Bool?)
    {
        (self.word, self.provider) = (word, provider)
        self.provider.filters = blocks ?? false
        (self.company, self.description, self.blocks) = (company, description, blocks)
    }

    /// The place of the id in the choice of a preset.
    static let idMark = "ID"

    private static let httpsPort: UInt16 = 443
    /// Bound on an id: more than NextDNS and Control D give.
    private static let maxIDBytes = 64

    private static func isID(_ text: Substring) -> Bool {
        (1...maxIDBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-")
            }
    }

    /// Returns the preset with this URL, and the id in it.
    private static func preset(of url: Settings.ProviderURL) -> (Settings.Provider.Preset, id: String)? {
        for preset in Settings.Provider.Preset.all where .name(preset.host) == url.host {
            guard url.port == httpsPort, url.path.hasPrefix(preset.path) else { continue }
            var id = url.path.dropFirst(preset.path.count)
            if preset.needsID, id.hasSuffix("/") { id = id.dropLast() }
            if preset.needsID ? isID(id) : id.isEmpty { return (preset, String(id)) }
        }
        return nil
    }

    /// Returns whether another path of the presets' host blocks names; nil: not known.
    private static func blocks(_ url: Settings.ProviderURL, among relatives: [Settings.Provider.Preset]) -> Bool? {
        if url.host == .name("freedns.controld.com") { return controlDPaths[url.path] }
        let isBlocking = relatives.allSatisfy { preset in
            // A device may follow the id of a profile. Without an id there is no profile.
            let parts = url.path.dropFirst(preset.path.count).split(separator: "/", omittingEmptySubsequences: false)
            return preset.blocks && (!preset.needsID || isID(parts.first ?? ""))
        }
        return isBlocking && !relatives.isEmpty ? true : nil
    }

    /// The free services of Control D, and whether they block names.
    private static let controlDPaths = ["/p1": true, "/p2": true, "/p3": true, "/family": true, "/uncensored": false]

    /// Returns a name that the settings accept.
    private static func name(of url: Settings.ProviderURL) -> String {
        let plain = "\(url.host)".filter { $0 != "[" && $0 != "]" }.replacing(":", with: "-")
        return String(plain.prefix(maxNameBytes))
    }

    /// Bound on the name: the settings' one, with room for a number.
    private static let maxNameBytes = 28

    // MARK: URLs and stamps

    /// Removes the quotes and angle brackets around a pasted text.
    private static func unquoted(_ text: String) -> String {
        let pairs: [(Character, Character)] = [("<", ">"), ("\"", "\""), ("'", "'"), ("“", "”")]
        var text = text[...]
        while text.count > 1, pairs.contains(where: { $0 == text.first && $1 == text.last }) {
            text = text.dropFirst().dropLast()
        }
        return String(text)
    }

    private static func read(url text: String) throws(SetupRefusal) -> Self {
        let scheme = text.prefix { $0 != ":" }.lowercased()
        switch scheme {
        case "sdns": return try read(stamp: text)
        case "https": break
        case "http":
            throw SetupRefusal("found \(tomlString(text)): everyone on the path can read and change it; write https://")
        case "tls", "quic", "h3", "udp", "tcp":
            throw SetupRefusal(
                """
                found \(tomlString(text)): setup takes providers of DNS over HTTPS only; write their https:// URL, or \
                name a server for DNS over TLS as a [[nameserver]]: man httpdnsd.toml
                """)
        default:
            throw SetupRefusal("found \(tomlString(text)); allowed: an https:// URL or an sdns:// stamp")
        }
        guard let url = Settings.ProviderURL(Settings.ProviderURL.withoutTemplate(text)) else {
            throw SetupRefusal(
                "found \(tomlString(text)); allowed: https://HOST[:PORT]/PATH without user name, query and fragment")
        }
        if let end = url.path.last, ";.:!'()[]&=".contains(end) {
            throw SetupRefusal("found \(tomlString(text)): it ends with \(tomlString(String(end))); leave that out")
        }
        if case .address(let address) = url.host { try address.checkServer() }
        guard url.path != "/resolve" || preset(of: url) != nil else {
            throw SetupRefusal(
                """
                found \(tomlString(text)): /resolve is for JSON, and setup takes DNS over HTTPS; write /dns-query \
                instead
                """)
        }
        return Self(url, addresses: [])
    }

    private static func read(stamp text: String) throws(SetupRefusal) -> Self {
        do throws(DNSStamp.Fault) {
            let stamp = try DNSStamp(text)
            return Self(stamp.url, addresses: stamp.address.map { [$0] } ?? [])
        } catch {
            throw SetupRefusal("this DNS stamp can't be used: \(error.words)")
        }
    }
}

extension Address {
    /// - Throws: the refusal of an address that no server can have.
    func checkServer() throws(SetupRefusal) {
        guard canBeOfServer else {
            throw SetupRefusal("no server can have the address \(self); write the one that the provider names")
        }
    }
}

extension DNSStamp.Fault {
    /// The reason with its remedy.
    fileprivate var words: LocalizedText {
        switch self {
        case .noStamp: "it is longer than \(DNSStamp.maxBytes) characters, or does not begin with sdns://"
        case .notBase64: "it has other characters than base64url has; copy it whole"
        case .malformed: "it is cut off or damaged; copy it whole"
        case .otherProtocol(let other):
            """
            it is for \(other.words), and setup takes DNS over HTTPS only; look for the provider's stamp or https:// \
            URL for that
            """
        case .unknownProtocol(let number):
            """
            its protocol \(number) is not known, and setup takes DNS over HTTPS only; look for the provider's stamp \
            or https:// URL for that
            """
        case .badAddress(let text): "its address \(tomlString(text)) is no IP address of a server; ask who made it"
        case .hostNotASCII: "its host name has characters that are not ASCII; write the provider's https:// URL instead"
        case .badURL(let text): "\(tomlString(text)) is no URL of a provider; write the provider's https:// URL instead"
        case .twoPorts: "its address and its host name have different ports; write the provider's https:// URL instead"
        }
    }
}

extension DNSStamp.StampProtocol {
    fileprivate var words: LocalizedText {
        switch self {
        case .plainDNS: "plain DNS"
        case .dnscrypt: LocalizedText(verbatim: "DNSCrypt")
        case .doh: LocalizedText(verbatim: "DNS over HTTPS")
        case .dot: LocalizedText(verbatim: "DNS over TLS")
        case .doq: LocalizedText(verbatim: "DNS over QUIC")
        case .obliviousDoH: LocalizedText(verbatim: "Oblivious DNS over HTTPS")
        case .dnscryptRelay: "a relay of DNSCrypt"
        case .obliviousDoHRelay: "a relay of Oblivious DNS over HTTPS"
        }
    }
}

extension Settings.Provider.Preset {
    /// The name for `--providers`, with a mark for the id.
    var choice: String { needsID ? "\(name):\(ChosenProvider.idMark)" : name }

    /// What the operator weighs: who sees the names, what is filtered, and whether the client's network is told.
    var words: LocalizedText {
        let (company, country) = (LocalizedText(translating: company), LocalizedText(translating: country))
        let filters: LocalizedText =
            switch filtering {
            case .nothing: "blocks nothing"
            case .chineseRules: "blocks by Chinese rules"
            case .malware: "blocks malware"
            case .malwareAndAds: "blocks malware, ads"
            case .malwareAdsAndAdultSites: "blocks malware, ads, adult sites"
            case .profile: "blocks by your profile"
            }
        return switch clientSubnets {
        case .sent: "\(company), \(country); \(filters); sends client subnets"
        case .replaced: "\(company), \(country); \(filters); sends other subnets"
        case .withheld, .unknown: "\(company), \(country); \(filters)"
        }
    }
}
