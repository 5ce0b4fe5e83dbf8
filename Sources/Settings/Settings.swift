// The operator's settings as validated, typed values.

package import DNSWire

package struct Settings: Equatable, Sendable {
    /// Names without a rule use the system resolver.
    package var onlyListed = false
    /// Asks no provider while the environment variables set a system-wide proxy.
    package var directOnly = false
    /// Names in these zones never go to an upstream; up to 16, all different, none of them the root.
    package var localZones: [Name] = []
    /// The absolute path of a directory with hosts files; nil: none.
    package var hostsDirectory: String?
    /// The absolute paths of files of DHCP servers, up to 4, all different.
    package var leaseFiles: [String] = []
    /// What clients get for a name that a provider blocks.
    package var blockedAnswer = BlockedAnswer.noSuchName
    package var server = Server()
    /// The providers. At least one is not a shadow; names are unique. The order has no meaning.
    package var providers = Provider.builtIn
    package var systemResolver = SystemResolver()
    package var cache = Cache()
    package var prefetch = Prefetch()
    package var stale = Stale()
    package var probe = Probe()
    package var network = Network()
    package var fleet = Fleet()
    package var control = Control()
    package var log = Log()
    /// The receivers, up to 4, in file order.
    package var receivers: [Receiver] = []
    /// The nameservers, up to 16, in file order.
    package var nameservers: [Nameserver] = []
    /// The views, up to 16, in file order. Their numbers count from 1.
    package var views: [View] = []
    /// The rules, up to 1,000, in file order.
    package var rules: [Rule] = []

    /// The settings without a file: loopback, public providers, the system's nameservers.
    package static let defaults = Settings()

    package struct Server: Equatable, Sendable {
        /// One or more, all different.
        package var listen = [Address.loopback4, .loopback6].map { ListenPlace.address(SocketAddress($0, port: 53)) }
        /// The number of serving threads, 0 to 256; 0 means one per core.
        package var threads = 0
        /// Clients outside these prefixes are refused.
        package var allow = ["127.0.0.0/8", "::1/128"].compactMap { Prefix($0) }
        /// Queries per second over UDP from one client, and from one /24 or /56; nil: unlimited. Loopback is never
        /// limited.
        package var clientRate: Int? = 500
        package var prefixRate: Int? = 2000
        /// The user to switch to after a start as root; nil: httpdnsd if that user exists, else no switch.
        package var user: String?
        package var filterAAAA = AAAAFilter.never
        package var dns64 = DNS64.off

        package enum AAAAFilter: String, CaseIterable, Sendable {
            case never
            /// Removes IPv6 addresses while the machine has no IPv6 route.
            case noRoute = "no-route"
        }

        package enum DNS64: String, CaseIterable, Sendable {
            case off
            /// Synthesises AAAA records for names without one if the network has NAT64 (RFC 6147).
            case auto
        }
    }

    package struct SystemResolver: Equatable, Sendable {
        /// The nameservers; empty: those in `resolvConf`.
        package var servers: [SocketAddress] = []
        package var resolvConf = "/etc/resolv.conf"
        package var standsIn = StandInPolicy.unreachable
        package var order = UpstreamOrder.providersFirst
        /// How long an unverified answer waits for late providers; 0 to 4 s.
        package var patience = Duration.milliseconds(1800)
        /// The names that it is asked as well, to find those of the network alone.
        package var comparison = NameComparison.denied
    }

    package struct Cache: Equatable, Sendable {
        /// The size of the cache, 1 MiB to 64 GiB.
        package var sizeBytes = 32 << 20
        /// The minimum TTL; whole seconds up to 7 days, as for `maxTTL` and `negativeMaxTTL`; at most `maxTTL`.
        package var minTTL = Duration.zero
        package var maxTTL = Duration.seconds(24 * 3600)
        package var negativeMaxTTL = Duration.seconds(600)
        /// The absolute path of the store; nil: memory only.
        package var store: String? = "/var/lib/httpdnsd/cache.db"
    }

    package struct Prefetch: Equatable, Sendable {
        /// Refreshes names in use before they expire.
        package var enabled = true
        /// Names resolved at start; up to 1,000, none of them the root.
        package var names: [Name] = []
        /// Names that are always fresh, also unused, and the first to be resolved on every network; bounds as for
        /// `names`.
        package var keep: [Name] = []
    }

    /// Serving expired answers (RFC 8767).
    package struct Stale: Equatable, Sendable {
        /// How long an answer may be used after its expiry; 0 (never) to 30 days.
        package var maxAge = Duration.seconds(86_400)
        /// The TTL that clients see; whole seconds, 1 s to 1 h.
        package var answerTTL = Duration.seconds(30)
        /// How long a client waits for a fresh answer first; 0 to 4 s.
        package var clientTimeout = Duration.milliseconds(1800)
        /// How long the resolver asks no upstream for a name after a failure; 1 s to 1 h.
        package var recheck = Duration.seconds(30)
        /// How long a verified answer is given on although an upstream denies it; 0 (never) to 1 h.
        package var lastKnownGood = Duration.seconds(600)
    }

    /// TLS handshakes that verify the addresses in answers.
    package struct Probe: Equatable, Sendable {
        package var enabled = true
        /// The ports to probe, 1 to 8, all different.
        package var ports: [UInt16] = [443]
        /// Timeout of a whole probe; 100 ms to 10 s.
        package var timeout = Duration.seconds(2)
        /// The absolute path of a file with certificate authorities; nil: the system's.
        package var caFile: String?
        /// Sends an HTTP request after the handshake.
        package var http = false

        package init() {}
    }

    package struct Network: Equatable, Sendable {
        /// Keeps the answers of different networks apart. False: all networks count as one.
        package var watch = true
    }

    package struct Control: Equatable, Sendable {
        /// The absolute path of the socket; nil: no socket.
        package var socket: String? = "/run/httpdnsd/control.sock"
        /// The HTTP listener for metrics and the status page; nil: none.
        package var metricsListen: SocketAddress?
        /// The path of the socket on which httpdnsd-nftset listens.
        package var nftsetSocket = "/run/httpdnsd-nftset.sock"
    }

    package struct Log: Equatable, Sendable {
        package enum Level: String, CaseIterable, Sendable {
            case error, warning, info, debug
        }

        package enum LineForm: String, CaseIterable, Sendable {
            case text, json
        }

        /// The events that the flight recorder takes.
        package enum Recorder: String, CaseIterable, Sendable {
            case all
            /// The recorder takes only clients' queries that failed.
            case failures
            case off
        }

        package var level = Level.info
        package var format = LineForm.text
        /// Logs every query.
        package var queries = false
        /// Includes client addresses in query logs.
        package var clients = false
        package var recorder = Recorder.all
        /// The absolute path of the directory in which the flight recorder is written after a fault; nil: disabled.
        package var recorderDirectory: String? = "/var/lib/httpdnsd"
        /// The directory in use; nil also if there is nothing to write.
        package var usedRecorderDirectory: String? { recorder == .off ? nil : recorderDirectory }
    }

    /// Exceptions for some names; at least one field is set. Nil: as for all names.
    package struct Rule: Equatable, Sendable {
        /// The resolver for the names.
        package enum RuleResolver: Hashable, Sendable {
            case httpdns, system
            /// The servers of the network link that announces the domain of the name; without one, the name fails. A
            /// rule with this resolver and no names is one for all announced domains.
            case link
            /// One of `providers` by name; a shadow may answer for these names.
            case provider(String)
            /// One of `nameservers` by name.
            case nameserver(String)
        }

        /// The names, up to 1,000, all different; each matches itself and all names below it, the root every name.
        package var match: [Name]
        /// Files with more names, up to 16, all different; one or more without `match`.
        package var matchFiles: [String] = []
        package var resolver: RuleResolver?
        /// Parameters that are added to those of the provider that `resolver` names.
        package var parameters = RequestParameters()
        package var terms = RuleTerms()
        /// The daemon's own answer, together with `txt` and `srv`; no upstream is asked.
        package var answer: OwnAnswer?
        package var extendedError: BlockingError?
        /// The daemon answers with this alias and the target's answer.
        package var cname: Name?
        /// The texts of one TXT record each; up to 16, as `srv`.
        package var txt: [String] = []
        package var srv: [ServiceLocation] = []
        /// The view whose clients the rule is for, before rules for all clients; nil: all clients.
        package var view: String?
        package var place = Place.none

        package init(match: [Name]) {
            self.match = match
        }

        /// Whether the rule has no names of its own, and is for all announced domains.
        package var isForAnnouncedDomains: Bool { resolver == .link && match.isEmpty && matchFiles.isEmpty }
    }
}

extension Settings {
    /// The providers to which these settings may send a name: with `onlyListed`, the providers that a rule selects.
    package var askedProviders: [Provider] {
        guard onlyListed else { return providers }
        let resolvers = rules.filter { !$0.answersItself }.map { $0.resolver ?? .httpdns }
        guard !resolvers.contains(.httpdns) else { return providers }
        let ofViews = views.flatMap(\.providers)
        return providers.filter { resolvers.contains(.provider($0.name)) || ofViews.contains($0.name) }
    }

    /// Returns the changed keys that take effect only after a restart; SIGHUP applies the others.
    package func changesNeedingRestart(from old: Settings) -> [String] {
        [
            ("server.listen", server.listen != old.server.listen),
            ("server.threads", server.threads != old.server.threads),
            ("server.allow", server.allow != old.server.allow),
            ("server.client-rate", server.clientRate != old.server.clientRate),
            ("server.prefix-rate", server.prefixRate != old.server.prefixRate),
            ("server.user", server.user != old.server.user),
            ("cache.size", cache.sizeBytes != old.cache.sizeBytes),
            ("cache.store", cache.store != old.cache.store),
            ("network.watch", network.watch != old.network.watch),
            ("control.socket", control.socket != old.control.socket),
            ("control.metrics-listen", control.metricsListen != old.control.metricsListen),
        ].filter(\.1).map(\.0)
    }
}
