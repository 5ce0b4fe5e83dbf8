// The usage and summary of every command, as `help` shows them. `RequestFields` does the parsing.

extension Command.Word {
    var forms: [CommandForm] {
        switch self {
        case .status: [CommandForm("status", "version, listeners, providers and cache in a few lines")]
        case .stats: [stats]
        case .cache:
            [
                CommandForm("cache ls [NAME]", "entries: name, type, state, TTL left, provenance, code"),
                CommandForm("cache get NAME [TYPE]", "everything about the entries of a name"),
                CommandForm("cache dump", "the records of every entry"),
            ]
        case .flush:
            [
                CommandForm(
                    "flush [--tree] [--type TYPE] NAME", "removes the entries of a name, with --tree all under it"),
                CommandForm("flush --all", "removes every entry"),
            ]
        case .prefetch: [CommandForm("prefetch NAME...", "resolves up to 100 names, so that the cache has them")]
        case .httpdns:
            [
                CommandForm(
                    "httpdns off [--for DURATION] [--rule NAME]",
                    "asks no provider, or none for a name and all under it"),
                CommandForm("httpdns on [--rule NAME]", "asks providers again"),
            ]
        case .providers: providers
        case .network:
            [
                CommandForm("network", "which network is in use, what leads out of it, which are known"),
                CommandForm("network history", "when it changed, why, and how long the first fresh answer took"),
            ]
        case .verify: [CommandForm("verify NAME", "probes the addresses of a name now: verdict, times, certificate")]
        case .verdicts:
            [CommandForm("verdicts [NAME]", "what is known of addresses: verdict, place in answers, and why")]
        case .report:
            [CommandForm("report NAME ADDRESS", "says that an address of a name failed: it is probed at once")]
        case .evidence: [CommandForm("evidence", "the last 256 times that a source led to somebody else's address")]
        case .whois: [CommandForm("whois ADDRESS", "the names that have led to an address")]
        case .explain:
            [CommandForm("explain NAME [TYPE]", "why a name is answered as it is, and what the next query will do")]
        case .query: [query]
        case .top: [CommandForm("top", "what changes from second to second: on a terminal a screen, which q ends")]
        case .inflight: [CommandForm("inflight", "the lookups that are under way")]
        case .watch: [watch]
        case .recorder: recorder
        case .log: [log]
        case .reload: [CommandForm("reload", "reads the settings again, and says what came of it")]
        case .help: [CommandForm("help [COMMAND]", "this list, or more about one command")]
        case .system: system
        case .doctor: [doctor]
        }
    }

    private var providers: [CommandForm] {
        [
            CommandForm("providers", "how each provider does: share, latency, success, addresses"),
            CommandForm("providers reset [NAME]", "forgets what was measured of one provider or of all"),
            CommandForm("providers test NAME", "tries out what a provider can do and how fast it is"),
        ]
    }

    private var doctor: CommandForm {
        CommandForm(
            "doctor [--config FILE]", "by httpdnsctl: what stands in the way of names on this machine",
            [("--config FILE", "the settings that the daemon reads")])
    }

    private var system: [CommandForm] {
        let dryRun = ("--dry-run", "shows the steps and takes none")
        return [
            CommandForm("system status", "by httpdnsctl: who keeps resolv.conf, and whether it leads to the daemon"),
            CommandForm(
                "system use [--dry-run]", "by httpdnsctl: makes the daemon the resolver of this machine", [dryRun]),
            CommandForm(
                "system restore [--dry-run] [--if-dead]", "by httpdnsctl: gives back what was before",
                [dryRun, ("--if-dead", "only where the daemon does not answer: for the guard unit")]),
        ]
    }

    private var stats: CommandForm {
        CommandForm(
            "stats [--json|--prometheus]", "every counter",
            [
                ("--prometheus", "as Prometheus reads it"),
                ("--watch", "by httpdnsctl: each second the counters that changed, with their rates, until Ctrl-C"),
            ])
    }

    private var query: CommandForm {
        CommandForm(
            "query NAME [TYPE] [--provider NAME] [--no-cache]", "resolves a name as for a client",
            [("--provider NAME", "by this provider alone"), ("--no-cache", "anew, whatever the cache has")])
    }

    private var watch: CommandForm {
        CommandForm(
            "watch [--name GLOB] [--clients]", "queries as they are answered, until Ctrl-C",
            [
                ("--name GLOB", "those for names of this form: * stands for anything, ? for one character"),
                ("--clients", "with the addresses of those who ask"),
            ])
    }

    private var recorder: [CommandForm] {
        let clients = [("--clients", "with the addresses of those who ask")]
        return [
            CommandForm("recorder dump [--clients]", "the last 10,000 events of each thread", clients),
            CommandForm(
                "recorder read FILE [--clients]", "by httpdnsctl: those in a file that a crash or a burst left", clients
            ),
        ]
    }

    private var log: CommandForm {
        CommandForm(
            "log LEVEL [--for DURATION]",
            "sets what is logged, until the next change or reload",
            [
                ("LEVEL", CommandForm.levels),
                ("--for DURATION", "for so long; the level of the settings comes after it"),
            ])
    }
}

extension CommandForm {
    /// "error, warning, info, debug"
    static let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
}
