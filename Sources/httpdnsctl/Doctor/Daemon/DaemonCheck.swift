// Checks that the daemon runs, by its control socket and by the replies at its listen addresses.

import Control

struct DaemonCheck: Equatable, Sendable {
    enum Control: Equatable, Sendable {
        case answers
        /// The settings disable the control socket.
        case none
        /// The connection was refused, or the socket file does not exist; holds the system's error text.
        case absent(String)
        case denied
        /// The connection was accepted, and no reply came.
        case silent
        /// The daemon does not run; httpdnsd.socket listens for it, and the first query starts it.
        case startedByQuestions

        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    /// The reply to `version.bind. CH TXT`.
    enum Reply: Equatable, Sendable {
        case ours
        /// Another DNS server answers.
        case foreign
        /// REFUSED: the daemon's reply to queries about itself from non-loopback clients, and to clients that are not
        /// allowed.
        case declined
        /// The port is closed.
        case refused
        case silent
        /// No interface has the listen address.
        case addressMissing
        /// The query could not be sent; holds the system's error text.
        case unsent(LocalizedText)
    }

    struct Listener: Equatable, Sendable {
        /// "127.0.0.1:53"
        let place: String
        let udp: Reply
        let tcp: Reply

        var replies: [(transport: String, reply: Reply)] { [("UDP", udp), ("TCP", tcp)] }
    }

    /// A set of nftables that gets no addresses.
    struct FaultySet: Equatable, Sendable {
        let name: String
        /// The daemon's text.
        let fault: String
    }

    /// State that the daemon reports over the control socket; `none` without a report.
    struct State: Equatable, Sendable {
        /// Nameservers that forward queries back to the daemon.
        let loopingServers: [String]
        /// The reason why the daemon suspects a captive portal; nil: none suspected.
        let portal: String?
        /// The operator has switched providers off, at least for some names.
        let isSwitchedOff: Bool
        /// Providers whose host names have no known address.
        let unresolvedProviders: [String]
        /// Providers whose replies or connections fail, or that refuse the account.
        var failingProviders: [String] = []
        /// Nameservers of the operator and of links without a server that answers.
        var failingNameservers: [String] = []
        /// Quotas of which 80 % or all are used.
        var quotas: [QuotaWarning] = []
        var faultySets: [FaultySet] = []
        /// Faults of files with names and of unused accounts.
        var faultyFiles: [String] = []
        /// Programs of this machine may not query.
        var refusesLoopback = false
        /// Replies in the daemon's form that this daemon has not given: another daemon answers at its addresses.
        var foreignReplies = 0

        static let none = State(loopingServers: [], portal: nil, isSwitchedOff: false, unresolvedProviders: [])
    }

    let control: Control
    let socket: String
    let listeners: [Listener]
    var state = State.none

    var isUp: Bool {
        control == .answers || control == .startedByQuestions
            || listeners.contains { $0.udp == .ours || $0.tcp == .ours }
    }

    var findings: [Finding] {
        guard isUp else { return [absence] }
        return (controlFinding.map { [$0] } ?? []) + listeners.flatMap(silences) + unanswered + ownFindings
    }

    /// Programs of this machine do not get this daemon's answers.
    private var unanswered: [Finding] {
        var findings: [Finding] = []
        if state.refusesLoopback {
            findings.append(
                Finding(
                    .fault, .daemon, "server.allow has no loopback network: programs of this machine are refused",
                    remedy: """
                        add "127.0.0.0/8" and "::1/128" to allow under [server]; then systemctl restart httpdnsd
                        """))
        }
        if state.foreignReplies > 0 {
            findings.append(
                Finding(
                    .fault, .port,
                    state.foreignReplies == 1
                        ? """
                        another httpdnsd answers at this daemon's addresses: it has counted 1 query less than were \
                        answered
                        """
                        : """
                        another httpdnsd answers at this daemon's addresses: it has counted \(state.foreignReplies) \
                        queries less than were answered
                        """,
                    remedy: PortCheck.redirection))
        }
        return findings
    }

    private var ownFindings: [Finding] {
        var findings = state.loopingServers.map { server in
            Finding(
                .warning, .daemon, "the nameserver \(server) forwards queries back to the daemon; not used",
                remedy: "configure another upstream there, or another nameserver under [system-resolver]")
        }
        findings += state.unresolvedProviders.map { provider in
            Finding(
                .warning, .providers,
                "\(provider) waits for an address of its host name: no nameserver and no other provider has one",
                remedy: "dig the name at a nameserver of this network, or set addresses of the provider")
        }
        findings += state.failingProviders.map { provider in
            Finding(
                .warning, .providers,
                "\(provider) gives the daemon no usable replies: unreachable, or wrong account or key",
                remedy: "httpdnsctl providers test \(provider) shows its reply, and the daemon's log the reason")
        }
        findings += state.failingNameservers.map { nameserver in
            Finding(
                .warning, .nameservers, "\(nameserver) gives the daemon no answers: its names fail",
                remedy: "httpdnsctl stats shows the failures, and the daemon's log the reason")
        }
        findings += state.faultySets.map { set in
            Finding(
                .warning, .daemon, "nftables set \(set.name) gets no addresses: \(set.fault)",
                remedy: "without the helper: systemctl enable --now httpdnsd-nftset.socket; otherwise as it says")
        }
        findings += state.faultyFiles.map { fault in
            Finding(
                .warning, .daemon, "the daemon does without a file as it is now: \(fault)",
                remedy: "repair it; httpdnsctl status shows what is in force")
        }
        if let portal = state.portal {
            findings.append(
                Finding(
                    .warning, .daemon, "a captive portal is suspected: \(portal)",
                    remedy: "open http://example.com in a browser and sign in to the network"))
        }
        findings += state.quotas.map { quota in
            Finding(
                .warning, .daemon, DaemonCheck.text(quota),
                remedy: """
                    httpdnsctl providers shows what caused them; buy more, raise quota in the settings, or give the \
                    provider names
                    """)
        }
        if state.isSwitchedOff {
            findings.append(
                Finding(
                    .note, .daemon, "providers are switched off for some or all names",
                    remedy: "httpdnsctl status shows the names; httpdnsctl httpdns on"))
        }
        return findings
    }

    private static func text(_ quota: QuotaWarning) -> LocalizedText {
        let questions = LineFormat.grouped(quota.questions)
        return quota.isUsedUp
            ? """
            provider \(quota.provider) is over its quota, and is not asked until the period ends: \
            \(questions) questions are billed of the quota \(quota.quota)
            """
            : """
            provider \(quota.provider) has used 80 % of its quota: \(questions) questions are billed of the \
            quota \(quota.quota)
            """
    }

    private var absence: Finding {
        if control == .silent {
            return Finding(
                .fault, .daemon, "a program holds \(socket), but answers neither there nor to queries",
                remedy: LocalizedText(verbatim: "systemctl restart httpdnsd"))
        }
        return Finding(
            .fault, .daemon,
            control == .none
                ? "does not run: no answer at its listen addresses (control.socket is off)"
                : "does not run: no answer at \(socket) nor at its listen addresses",
            remedy: """
                systemctl start httpdnsd (journalctl -u httpdnsd shows why it ended); if resolv.conf names it, \
                httpdnsctl system restore makes names resolve without it
                """)
    }

    private var controlFinding: Finding? {
        switch control {
        case .answers, .none: nil
        case .startedByQuestions:
            Finding(
                .note, .daemon, "not checked, because a query would start it: httpdnsd.socket listens for it",
                remedy: "systemctl start httpdnsd, and run doctor again")
        case .denied:
            Finding(.note, .daemon, "this user can't open \(socket)", remedy: "run httpdnsctl doctor as root")
        case .absent(let why):
            Finding(
                .warning, .daemon, "answers queries, but not at \(socket) (\(why))",
                remedy: "httpdnsctl --socket PATH doctor, with control.socket of the settings")
        case .silent:
            Finding(
                .warning, .daemon, "answers queries, but sends nothing at \(socket)",
                remedy: LocalizedText(verbatim: "systemctl restart httpdnsd"))
        }
    }

    private var isReachedElsewhere: Bool {
        listeners.contains { $0.replies.contains { $0.reply == .ours || $0.reply == .declined } }
    }

    /// Reports a listen address that may come later, by DHCP, or not at all, such as [::1] with IPv6 off.
    private func absentAddress(_ listener: Listener, _ transport: String) -> Finding {
        Finding(
            isReachedElsewhere ? .note : .fault, .daemon,
            "\(listener.place) over \(transport): no interface has the address",
            remedy: "none needed if it comes later; or remove it from server.listen or httpdnsd.socket")
    }

    private func silences(_ listener: Listener) -> [Finding] {
        listener.replies.compactMap { transport, reply in
            let what: LocalizedText
            switch reply {
            // PortCheck reports a foreign server.
            case .ours, .declined, .foreign: return nil
            case .refused: what = "connection refused"
            case .silent: what = "no answer"
            case .addressMissing: return absentAddress(listener, transport)
            case .unsent(let why): what = "can't be queried: \(why)"
            }
            return Finding(
                .fault, .daemon, "\(listener.place) over \(transport): \(what)",
                remedy: "allow traffic on lo in the firewall (nft list ruleset); else systemctl restart httpdnsd")
        }
    }
}
