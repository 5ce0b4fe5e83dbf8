// The operator's settings of a fleet: several machines that share the answers of their providers by Redis.

package import DNSWire

extension Settings {
    /// The fleet. Without a server, nothing is shared.
    package struct Fleet: Equatable, Sendable {
        package enum Shared: String, CaseIterable, Sendable {
            case answers, leases, budget, flush, evidence
        }

        package enum Server: Equatable, Sendable {
            /// The absolute path of a UNIX socket.
            case local(String)
            case remote(SocketAddress)
        }

        /// The servers, up to 4, tried in their order. With a server, there are a site and one or two keys.
        package var servers: [Server] = []
        /// Members of one site are given the same answers by providers.
        package var site: String?
        /// Files with the keys that authenticate what members share, in the form of `Provider.keyFile`. The first key
        /// is used for writing.
        package var keyFiles: [String] = []
        /// The user of Redis; nil: its default user.
        package var user: String?
        package var passwordFile: String?
        /// How long a question waits for Redis before the provider is asked.
        package var readTimeout = Duration.milliseconds(5)
        /// The shared kinds of state; without leases, several members may ask for the same answer at a time.
        package var share = Shared.allCases

        /// The keys that name the file of a secret, as in `Provider.secretFiles`.
        package var secretFiles: [(key: String, file: String)] {
            keyFiles.map { ("key-file", $0) } + (passwordFile.map { [("password-file", $0)] } ?? [])
        }
    }
}

extension Settings.Fleet: KeyedTable {
    static let requiredKeys = SettingsErrors.neededOfFleet.map(\.0)

    private static let maxServers = 4
    private static let maxKeys = 2
    /// The bounds of `readTimeout`. No server answers below the minimum; a provider answers within the maximum.
    private static let readTimeouts = Duration.milliseconds(1)...Duration.milliseconds(100)

    static let keys: [Key<Settings.Fleet>] = [
        Key("server", \.servers, Format.fleetServer.oneOrMore(of: "servers", upTo: maxServers).leavingOut([])),
        Key("site", \.site, Format.plainName.optional),
        Key("key-file", \.keyFiles, Format.keyFile.oneOrMore(of: "files", upTo: maxKeys).leavingOut([])),
        Key("user", \.user, Format.plainName.orEmpty(written: true)),
        Key("password-file", \.passwordFile, Format.keyFile.orEmpty(written: true)),
        Key("read-timeout", \.readTimeout, .duration(readTimeouts)),
        Key(
            "share", \.share,
            Format<Settings.Fleet.Shared>.choice.list(
                of: "of \"answers\", \"leases\", \"budget\", \"flush\" and \"evidence\"",
                1...Settings.Fleet.Shared.allCases.count)),
    ]
}

extension Settings {
    /// The settings that members of a fleet should have in common, as a settings file.
    package var commonInFleet: String {
        var common = self
        (common.server, common.network, common.control, common.log) = (Server(), Network(), Control(), Log())
        (common.cache, common.receivers, common.fleet) = (Cache(), [], Fleet())
        (common.systemResolver.servers, common.systemResolver.resolvConf) = ([], SystemResolver().resolvConf)
        return common.effectiveTOML
    }
}

extension Settings.Fleet.Server: CustomStringConvertible {
    private static let localScheme = "unix:"
    private static let remoteScheme = "redis://"

    init?(_ text: String) {
        if text.hasPrefix(Settings.Fleet.Server.localScheme) {
            let path = String(text.dropFirst(Settings.Fleet.Server.localScheme.count))
            guard path.hasPrefix("/"), path.utf8.count <= Settings.Control.maxSocketPathBytes,
                !path.utf8.contains(0)
            else { return nil }
            self = .local(path)
        } else {
            let address = SocketAddress(
                String(text.dropFirst(Settings.Fleet.Server.remoteScheme.count)), defaultPort: 6379)
            guard text.hasPrefix(Settings.Fleet.Server.remoteScheme), let address, address.port != 0 else {
                return nil
            }
            self = .remote(address)
        }
    }

    package var description: String {
        switch self {
        case .local(let path): Settings.Fleet.Server.localScheme + path
        case .remote(let address): Settings.Fleet.Server.remoteScheme + address.description
        }
    }
}

extension Format<Settings.Fleet.Server> {
    static let fleetServer = Format.text(
        allowed: "\"unix:/PATH\" or \"redis://ADDR[:PORT]\"",
        schema: .matching("unix:\(TextPattern.path)|redis://\(TextPattern.server)"),
        parse: { Settings.Fleet.Server($0) },
        write: \.description)
}

extension TOMLNode {
    fileprivate var isEmptyArray: Bool { if case .array(let elements) = value { elements.isEmpty } else { false } }
}

extension SettingsErrors {
    static let neededOfFleet = [
        ("server", "write, for example, server = \"unix:/run/redis/redis-server.sock\""),
        ("site", "name the place whose members get the same answers, such as site = \"sh-a\""),
        ("key-file", "all members need the same key, such as the output of: openssl rand -hex 32"),
    ]

    mutating func judgeFleet(_ settings: Settings, in root: TOMLNode) {
        guard let table = root.member("fleet") else { return }
        for (key, remedy) in SettingsErrors.neededOfFleet where table.member(key)?.isEmptyArray ?? true {
            note(table, aboutKey: true, "fleet: found no \(key); \(remedy)")
        }
        let fleet = settings.fleet
        if fleet.user != nil, fleet.passwordFile == nil {
            note(table, aboutKey: true, "fleet: found user without password-file; a user of Redis has a password")
        }
        if fleet.share.contains(.leases), !fleet.share.contains(.answers), let share = table.member("share") {
            note(share, "fleet.share: found \"leases\" without \"answers\"; a lease is for an answer: add \"answers\"")
        }
    }
}
