// The usage and summary of every command, as `help` shows them. `RequestFields` does the parsing.

extension Command.Word {
    var forms: [CommandForm] {
        switch self {
        case .status: [CommandForm("status", "version, listeners, providers and cache in a few lines")]
        case .stats: [stats]
        case .cache:
            [
                CommandForm("cache ls [NAME]", "entries: name, type, state, remaining TTL, source, response code"),
                CommandForm("cache get NAME [TYPE]", "all details of a name's entries"),
                CommandForm("cache dump", "the records of every entry"),
            ]
        case .flush:
            [
                CommandForm(
                    "flush [--fleet] [--tree] [--type TYPE] NAME",
                    "removes a name's entries (--tree: and below; --fleet: on all machines)"),
                CommandForm("flush [--fleet] --all", "removes every entry"),
            ]
        case .prefetch: [CommandForm("prefetch NAME...", "resolves up to 100 names into the cache")]
        case .httpdns:
            [
                CommandForm(
                    "httpdns off [NAME] [--for DURATION]",
                    "stops using providers, for all names or one and its subdomains"),
                CommandForm("httpdns on [NAME]", "uses providers again"),
            ]
        case .rule: rule
        case .providers: providers
        case .network: network
        case .fleet: [CommandForm("fleet", "what the fleet shares and saves, and its members")]
        case .verify: [CommandForm("verify NAME", "probes the addresses of a name now: verdict, times, certificate")]
        case .verdicts: [CommandForm("verdicts [NAME]", "address verdicts, places in answers, and reasons")]
        case .report:
            [CommandForm("report NAME ADDRESS", "reports that an address failed; the daemon probes it at once")]
        case .evidence: [CommandForm("evidence", "the last 256 mismatched addresses, with the source of each")]
        case .audit: [CommandForm("audit", "which provider forges, denies names, is late or dear, and what to set")]
        case .whois: [CommandForm("whois ADDRESS", "the names that resolved to an address")]
        case .explain:
            [
                CommandForm(
                    "explain NAME [TYPE] [--client ADDRESS]",
                    "how a name is answered, and why; --client: to this client of a view")
            ]
        case .query: [query]
        case .top: [CommandForm("top", "rates of the last second; on a terminal full screen, q quits")]
        case .inflight: [CommandForm("inflight", "lookups in progress")]
        case .watch: [watch]
        case .recorder: recorder
        case .log: [log]
        case .reload: [CommandForm("reload", "reloads the settings and reports the result")]
        case .help: [CommandForm("help [COMMAND]", "this list, or help for one command")]
        case .system: system
        case .doctor: [doctor]
        case .setup: [setup]
        case .reportBug: [reportBug]
        }
    }

    private var providers: [CommandForm] {
        [
            CommandForm("providers", "state of each provider: share, latency, success, addresses"),
            CommandForm("providers reset [NAME]", "clears the measurements of one provider or of all"),
            CommandForm("providers test NAME", "tests the features and latency of a provider"),
        ]
    }

    private var network: [CommandForm] {
        [
            CommandForm("network", "the network in use, its routes and nameservers, and known networks"),
            CommandForm("network history", "network changes: time, cause, time until the first fresh answer"),
            CommandForm(
                "network names [--write]", "names that only this network has, with evidence",
                [("--write", "adds rules that send them to the system resolver")]),
        ]
    }

    private var rule: [CommandForm] {
        let duration = ("--for DURATION", "for this time; then the rule is removed")
        return [
            CommandForm(
                "rule add NAME KEY=VALUE... [--for DURATION]",
                "adds a rule for a name and its subdomains, with keys of [[rule]]", [duration]),
            CommandForm("rule ls", "the rules that were added"),
            CommandForm("rule rm NAME", "removes the rule that was added for this name"),
        ]
    }

    private var doctor: CommandForm {
        CommandForm(
            "doctor [--config FILE]", "run by httpdnsctl: finds problems of name resolution on this machine",
            [("--config FILE", "the daemon's settings file")])
    }

    private var setup: CommandForm {
        CommandForm(
            "setup [--replace] [--dry-run] [--output FILE] [ANSWERS]",
            "run by httpdnsctl: asks four questions and writes the settings",
            [
                ("--replace", "writes a new file if one exists, and keeps the former one"),
                ("--dry-run", "prints the file and changes nothing"),
                ("--output FILE", "writes this file instead of /etc/httpdnsd/httpdnsd.toml; - prints it, as --dry-run"),
                ("--providers LIST", "names in httpdnsd-providers(7), https:// URLs, sdns:// stamps, or none"),
                ("--provider-addresses LIST", "HOST=ADDR for hosts of such URLs, separated by commas"),
                ("--account SERVICE", "an account with a vendor, or no; see httpdnsctl(1)"),
                ("--account-id ID", "the id of the account"),
                ("--access-key ID", "for alidns: the AccessKey id"),
                ("--url URL", "the service's URL, if it is not the usual one"),
                ("--addresses LIST", "the service's IP addresses"),
                ("--key-file FILE", "the absolute path of the account's key, or credential:NAME"),
                ("--lan LIST", "addresses at which other machines may query: ADDR, ADDR:PORT, or no"),
                ("--allow LIST", "networks of these machines; default: those of the addresses"),
                ("--take-over ANSWER", "yes: runs system use afterwards; or no"),
            ])
    }

    private var reportBug: CommandForm {
        CommandForm(
            "report-bug [--output FILE] [--config FILE]",
            "run by httpdnsctl: writes a file for a bug report, without secrets",
            [
                ("--output FILE", "the file to create; -: prints the report itself, without --json"),
                ("--config FILE", "the daemon's settings file"),
            ])
    }

    private var system: [CommandForm] {
        let dryRun = ("--dry-run", "shows the steps without executing them")
        return [
            CommandForm("system status", "run by httpdnsctl: resolv.conf manager; whether programs use the daemon"),
            CommandForm(
                "system use [--dry-run]", "run by httpdnsctl: makes the daemon this machine's resolver", [dryRun]),
            CommandForm(
                "system restore [--dry-run] [--if-dead]", "run by httpdnsctl: restores the previous settings",
                [dryRun, ("--if-dead", "only if the daemon does not answer; the restore unit uses it")]),
        ]
    }

    private var stats: CommandForm {
        CommandForm(
            "stats [--json|--prometheus]", "all counters",
            [
                ("--prometheus", "in the Prometheus text format"),
                ("--watch", "run by httpdnsctl: changed counters and their rates each second, until Ctrl-C"),
            ])
    }

    private var query: CommandForm {
        CommandForm(
            "query NAME [TYPE] [--provider NAME] [--no-cache]", "resolves a name as for a client",
            [("--provider NAME", "only with this provider"), ("--no-cache", "without reading the cache")])
    }

    private var watch: CommandForm {
        CommandForm(
            "watch [--name GLOB] [--clients]", "queries when they are answered, until Ctrl-C",
            [
                ("--name GLOB", "only matching names: * is any string, ? is one character"),
                ("--clients", "with client addresses"),
            ])
    }

    private var recorder: [CommandForm] {
        let clients = [("--clients", "with client addresses")]
        return [
            CommandForm("recorder dump [--clients]", "the last 10,000 events of each thread", clients),
            CommandForm(
                "recorder read FILE [--clients]", "run by httpdnsctl: the events in a file", clients
            ),
        ]
    }

    private var log: CommandForm {
        CommandForm(
            "log LEVEL [--for DURATION]",
            "sets the log level until the next change or reload",
            [
                ("LEVEL", CommandForm.levels),
                ("--for DURATION", "for this time; then the level of the settings applies"),
            ])
    }
}

extension Command.Word {
    /// A command line that works unchanged; a test parses each.
    package var example: String {
        switch self {
        case .status: "status"
        case .stats: "stats --watch"
        case .cache: "cache get www.example.com"
        case .flush: "flush --tree example.com"
        case .prefetch: "prefetch www.example.com"
        case .httpdns: "httpdns off example.com --for 10m"
        case .rule: "rule add ads.example.com answer=nxdomain --for 1h"
        case .providers: "providers test cloudflare"
        case .network: "network history"
        case .fleet: "fleet"
        case .verify: "verify www.example.com"
        case .verdicts: "verdicts www.example.com"
        case .report: "report www.example.com 192.0.2.1"
        case .evidence: "evidence"
        case .audit: "audit"
        case .whois: "whois 192.0.2.1"
        case .explain: "explain www.example.com AAAA"
        case .query: "query www.example.com --no-cache"
        case .top: "top"
        case .inflight: "inflight"
        case .watch: "watch --name '*.example.com'"
        case .recorder: "recorder dump"
        case .log: "log debug --for 5m"
        case .reload: "reload"
        case .help: "help explain"
        case .system: "system use --dry-run"
        case .doctor: "doctor"
        case .setup: "setup --providers alidns,google --account no --lan no --take-over no --dry-run"
        case .reportBug: "report-bug"
        }
    }
}

extension CommandForm {
    /// The log levels: "error, warning, info, debug".
    static let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
}
