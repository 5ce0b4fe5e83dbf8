// What the operator decides, as typed values. Text is parsed once, here; who holds a `Settings` checks nothing again.
// Reads no files: bytes come in, values or complaints come out.

package import DNSWire

package struct Settings: Equatable, Sendable {
    /// Names without a rule go to the system resolver.
    package var onlyListed = false
    /// No provider is asked while the environment names a proxy for the whole system.
    package var directOnly = false
    package var server = Server()
    /// At least one that is no shadow; names differ. Their order means nothing.
    package var providers = Provider.builtIn
    package var systemResolver = SystemResolver()
    package var cache = Cache()
    package var prefetch = Prefetch()
    package var stale = Stale()
    package var probe = Probe()
    package var network = Network()
    package var control = Control()
    package var log = Log()
    /// Up to 1,000, in the order of the file.
    package var rules: [Rule] = []

    /// What serves when there is no file: loopback, public providers, the system's nameservers.
    package static let defaults = Settings()

    package struct Server: Equatable, Sendable {
        /// UDP and TCP on each; one or more, all different. Port 0 takes any free port.
        package var listen = [Endpoint(address: .v4(0x7F00_0001), port: 53), Endpoint(address: .loopback6, port: 53)]
        /// 0 to 256; 0 is one for each core.
        package var threads = 0
        /// Clients outside are refused.
        package var allow = ["127.0.0.0/8", "::1/128"].compactMap { Prefix($0) }
        /// Queries in a second over UDP from one client, and from one /24 or /56; nil: unlimited. Loopback always is.
        package var clientRate: Int? = 500
        package var prefixRate: Int? = 2000
        /// Who serves when root has started us; nil: httpdnsd if there is such a user, else nobody.
        package var user: String?
        package var filterAAAA = AAAAFilter.never
        package var dns64 = DNS64.off

        package enum AAAAFilter: String, CaseIterable, Sendable {
            case never
            /// While there is no way out for IPv6, names have no IPv6 address.
            case noRoute = "no-route"
        }

        package enum DNS64: String, CaseIterable, Sendable {
            case off
            /// Names without an IPv6 address get one where the network translates (RFC 6147).
            case auto
        }
    }

    package struct SystemResolver: Equatable, Sendable {
        /// Empty: those of `resolvConf`.
        package var servers: [Endpoint] = []
        package var resolvConf = "/etc/resolv.conf"
        package var standsIn = StandsIn.unreachable

        /// When it answers for a name that belongs to the providers.
        package enum StandsIn: String, CaseIterable, Sendable {
            /// No provider could be reached.
            case unreachable
            /// No provider had an answer, whatever the providers replied.
            case anyFailure = "any-failure"
            case never
        }
        /// While the providers are merely late, an unverified answer waits so long for theirs. From 0 to 4 s.
        package var patience = Duration.milliseconds(1800)
    }

    package struct Cache: Equatable, Sendable {
        /// 1 MiB to 64 GiB.
        package var sizeBytes = 32 << 20
        /// Whole seconds and up to 7 days, as are the other two; at most `maxTTL`.
        package var minTTL = Duration.zero
        package var maxTTL = Duration.seconds(24 * 3600)
        package var negativeMaxTTL = Duration.seconds(600)
        /// An absolute path; nil: memory only.
        package var store: String? = "/var/lib/httpdnsd/cache.db"
    }

    package struct Prefetch: Equatable, Sendable {
        /// Refreshes names in use before they expire.
        package var enabled = true
        /// Resolved at start; up to 1,000, none of them the root.
        package var names: [Name] = []
    }

    /// Expired answers (RFC 8767).
    package struct Stale: Equatable, Sendable {
        /// How long after its end an answer may still be used; zero, never, to 30 days.
        package var maxAge = Duration.seconds(86_400)
        /// The TTL that clients see; whole seconds, 1 s to 1 h.
        package var answerTTL = Duration.seconds(30)
        /// How long a client waits for a fresh answer first; zero to 4 s.
        package var clientTimeout = Duration.milliseconds(1800)
        /// No upstream is asked again for a name for so long after it failed; 1 s to 1 h.
        package var recheck = Duration.seconds(30)
    }

    /// TLS handshakes that show whose the addresses in answers are.
    package struct Probe: Equatable, Sendable {
        package var enabled = true
        /// 1 to 8, all different.
        package var ports: [UInt16] = [443]
        /// For a whole probe; 100 ms to 10 s.
        package var timeout = Duration.seconds(2)
        /// An absolute path; nil: the certificate authorities of the system.
        package var caFile: String?
        /// A request follows the handshake.
        package var http = false

        package init() {}
    }

    package struct Network: Equatable, Sendable {
        /// What is learned on one network is kept apart from what is learned on another. False: all is one network.
        package var watch = true
    }

    package struct Control: Equatable, Sendable {
        /// An absolute path; nil: no socket.
        package var socket: String? = "/run/httpdnsd/control.sock"
        /// Where the HTTP listener for metrics and the status page is; nil: none.
        package var metricsListen: Endpoint?
    }

    package struct Log: Equatable, Sendable {
        package enum Level: String, CaseIterable, Sendable {
            case error, warning, info, debug
        }

        package enum LineForm: String, CaseIterable, Sendable {
            case text, json
        }

        package var level = Level.info
        package var format = LineForm.text
        /// A line for every query.
        package var queries = false
        /// Queries are shown with the addresses of those who ask.
        package var clients = false
        /// An absolute path: where the flight recorder is written when something goes wrong; nil: nowhere.
        package var recorderDirectory: String? = "/var/lib/httpdnsd"
    }

    /// What is different for some names; at least one thing is. Nil: as for all others.
    package struct Rule: Equatable, Sendable {
        /// Who answers for the names.
        package enum RuleResolver: Hashable, Sendable {
            case httpdns, system
            /// The name of one of `providers`; a shadow answers for these names.
            case provider(String)
        }

        /// 1 to 1,000, all different; each stands for itself and everything under it, the root for everything.
        package var match: [Name]
        package var resolver: RuleResolver?
        package var standsIn: SystemResolver.StandsIn?
        /// Private addresses in answers from providers are handed out.
        package var allowPrivate: Bool?
        package var stale: Bool?
        /// Expired answers that say "no", too.
        package var staleNegative: Bool?
        package var prefetch: Bool?
        /// True: private addresses, too.
        package var probe: Bool?
        /// Up to 8, all different; empty: those of `probe.ports`.
        package var probePorts: [UInt16] = []
        /// Up to 7 days, as is `maxTTL`; at most that.
        package var minTTL: Duration?
        package var maxTTL: Duration?
        /// Answered when everything else has failed; up to 16.
        package var fallbackAddresses: [Address] = []

        package init(match: [Name]) {
            self.match = match
        }
    }
}

extension Settings {
    /// An empty file gives the defaults. Says everything that is wrong at once; `file` is the name used for that.
    package static func parse(bytes: [UInt8], file: String) throws(SettingsError) -> Settings {
        let document: TOMLDocument
        do throws(TOMLDocument.SyntaxError) {
            document = try TOMLDocument(bytes)
        } catch {
            throw SettingsError([
                Complaint(file: file, line: error.line, column: error.column, text: "syntax: \(error.reason)")
            ])
        }
        var findings = Findings()
        let settings = findings.settings(from: document.root)
        if findings.all.isEmpty { return settings }
        var complaints: [Complaint] = []
        for finding in findings.all {
            let place = document.place(of: finding.node, ofKey: finding.isAboutKey)
            complaints.append(Complaint(file: file, line: place.line, column: place.column, text: finding.text))
        }
        throw SettingsError(complaints)
    }

    /// The keys whose new values take effect only after a restart; the rest changes with SIGHUP.
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

extension Address {
    fileprivate static let loopback6 = Address.v6(high: 0, low: 1)
}
