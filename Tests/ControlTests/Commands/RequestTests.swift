// The meaning of a command line, and the exact error text for a line without one.

import Control
import DNSWire
import TestSupport
import Testing

private let cacheUsage = "allowed: cache ls [NAME], cache get NAME [TYPE], cache dump"
private let flushUsage = "allowed: flush [--fleet] [--tree] [--type TYPE] NAME, flush [--fleet] --all"

@Suite("Requests")
struct RequestTests {
    @Test(
        "a line is understood as words and as JSON",
        arguments: [
            ("status", "status"), ("stats\n", "stats"), ("  stats \t--json\r\n", "stats as JSON"), ("help", "help"),
            ("status --json", "status as JSON"), ("{\"command\":\"stats\"}", "stats as JSON"),
            ("{ \"command\" : \"help\", \"later\": 1 }\n", "help as JSON"),
            ("stats --prometheus", "stats for Prometheus"), ("explain www.example.com", "explain www.example.com A"),
            ("explain www.example.com aaaa", "explain www.example.com AAAA"),
            ("explain a.example --client 192.0.2.1", "explain a.example A for 192.0.2.1"),
            ("explain Bücher.example", "explain xn--bcher-kva.example A"),
            ("explain 例子。测试 AAAA", "explain xn--fsqu00a.xn--0zwm56d AAAA"),
            ("query example.com MX --provider alidns", "query example.com MX of alidns"),
            ("query --no-cache example.com", "query example.com A of all past the cache"),
            (
                "{\"command\":\"query\",\"name\":\"a.example\",\"no_cache\":true}",
                "query a.example A of all past the cache as JSON"
            ),
            ("top", "top"), ("inflight", "inflight"), ("watch", "watch all"),
            ("{\"command\":\"watch\",\"name\":\"*.example.com\"}", "watch some as JSON"),
            ("watch --name *.example.com --clients", "watch some with clients"), ("recorder dump", "recorder"),
            ("recorder dump --clients", "recorder with clients"), ("log debug", "log debug until changed"),
            ("log info --for 10m", "log info 600 s"), ("reload", "reload"), ("fleet", "fleet"),
            ("fleet --json", "fleet as JSON"), ("{\"command\":\"fleet\"}", "fleet as JSON"),
        ])
    func understood(_ line: String, _ expected: String) {
        #expect(outcome(line) == expected)
    }

    @Test(
        "a line that means nothing is refused with what is allowed and the nearest command",
        arguments: [
            ("", "error: no command; \(allowed)\n"),
            (" \n", "error: no command; \(allowed)\n"),
            ("statz", "error: unknown command \"statz\"; did you mean \"stats\"? \(allowed)\n"),
            ("sttus", "error: unknown command \"sttus\"; did you mean \"status\"? \(allowed)\n"),
            ("hlp", "error: unknown command \"hlp\"; did you mean \"help\"? \(allowed)\n"),
            ("detonate", "error: unknown command \"detonate\"; \(allowed)\n"),
            ("STATS", "error: unknown command \"STATS\"; \(allowed)\n"),
            ("fleet --all", "error: unknown argument \"--all\" of fleet; allowed: --json\n"),
            ("stats --reset", "error: unknown argument \"--reset\" of stats; allowed: stats [--json|--prometheus]\n"),
            (
                "stats -x --json",
                "{\"error\":\"unknown argument \\\"-x\\\" of stats; allowed: stats [--json|--prometheus]\"}\n"
            ),
            (
                "stats --prometheus --json",
                "{\"error\":\"--prometheus is not allowed in JSON; allowed: stats [--json|--prometheus]\"}\n"
            ),
            (
                "{\"command\":\"stats\",\"prometheus\":true}",
                "{\"error\":\"--prometheus is not allowed in JSON; allowed: stats [--json|--prometheus]\"}\n"
            ),
            ("--json", "{\"error\":\"unknown command \\\"--json\\\"; \(allowed)\"}\n"),
            ("a\u{1B}[2Jb", "error: unknown command \"a\\u{1B}[2Jb\"; \(allowed)\n"),
            (
                "{\"command\":\"stat\"}",
                "{\"error\":\"unknown command \\\"stat\\\"; did you mean \\\"stats\\\"? \(allowed)\"}\n"
            ),
            (
                "{\"command\":\"explain\",\"name\":\"\"}",
                "{\"error\":\"explain needs a name; allowed: explain NAME [TYPE] [--client ADDRESS]\"}\n"
            ),
            ("{", "{\"error\":\"not a JSON object like {\\\"command\\\":\\\"stats\\\"}\"}\n"),
            ("{}", "{\"error\":\"not a JSON object like {\\\"command\\\":\\\"stats\\\"}\"}\n"),
            ("{\"command\":1}", "{\"error\":\"not a JSON object like {\\\"command\\\":\\\"stats\\\"}\"}\n"),
        ])
    func refused(_ line: String, _ expected: String) {
        #expect(outcome(line) == expected)
        #expect(Reply.isRefusal(outcome(line).utf8))
    }

    @Test("a line of 32 KiB is read, a longer one refused, and what is shown of it is short")
    func length() {
        let long = String(repeating: "x", count: 32_768)
        #expect(outcome(long) == "error: unknown command \"\(long.prefix(60))\"...; \(allowed)\n")
        #expect(outcome(long + "x") == "error: the line is longer than 32768 bytes\n")
        #expect(outcome(String(repeating: " ", count: 32_762) + "status") == "status")
    }

    @Test("bytes that are not UTF-8 are refused")
    func notUTF8() {
        #expect(outcome([0x73, 0xFF]) == "error: the line is not UTF-8\n")
        #expect(outcome([0x7B, 0xC3]) == "error: the line is not UTF-8\n")
    }

    @Test("a line of nothing but nesting is refused, however deep", arguments: ["[", "{\"a\":", "[{\"a\":"])
    func nesting(_ piece: String) {
        let pieces = (Request.maxLineBytes - 20) / piece.utf8.count
        for count in [10, 511, 512, 513, 10_000, pieces - 1] where count < pieces {
            let line = "{\"command\":" + String(repeating: piece, count: count - 5)
            #expect(outcome(line).hasPrefix("{\"error\":\"not a JSON object"), "\(count)")
            #expect(outcome("{\"later\":" + String(repeating: piece, count: count - 5)).hasPrefix("{\"error\":"))
        }
    }

    @Test("numbers without end are no trouble")
    func numbers() {
        for number in [String(repeating: "9", count: 30_000), "-1e999999", "0." + String(repeating: "0", count: 9_000)]
        {
            #expect(outcome("{\"command\":\(number)}").hasPrefix("{\"error\":"))
            #expect(!outcome("{\"command\":\"status\",\"later\":\(number)}").isEmpty)
        }
    }

    @Test("random bytes are a request or a refusal of one printable line")
    func randomBytes() {
        let seed: UInt64 = 0xC0_57_20
        var random = SeededRandom(seed: seed)
        let pieces = [
            "stats", "cache", "get ", "flush ", "httpdns ", "off ", "--for ", "providers ", "test ", "10m", "--type",
            "--tree", "a.example", " ", "--json", "{", "}", "\"", ":",
            "command", "[", "\\u00", "1", "\0", "\n", "é",
        ]
        for round in 0..<3000 {
            var line = (0..<Int.random(in: 0..<12, using: &random)).flatMap { _ in
                Array((pieces.randomElement(using: &random) ?? "").utf8)
            }
            if round.isMultiple(of: 4) { line.append(UInt8.random(in: 0...255, using: &random)) }
            let text = outcome(line)
            let isPrintable = text.unicodeScalars.dropLast().allSatisfy { $0.value >= 0x20 && $0.value < 0x7F }
            #expect(isPrintable, "seed \(seed) round \(round): \(text)")
        }
    }
}

@Suite("Requests about the cache")
struct CacheRequestTests {
    @Test(
        "words and JSON objects mean the same",
        arguments: [
            ("cache ls", "{\"command\":\"cache\",\"verb\":\"ls\"}", "cache ls under . all types"),
            (
                "cache ls Example.com.", "{\"command\":\"cache\",\"verb\":\"ls\",\"name\":\"Example.com\"}",
                "cache ls under Example.com all types"
            ),
            (
                "cache get x.example", "{\"command\":\"cache\",\"verb\":\"get\",\"name\":\"x.example\"}",
                "cache get x.example all types"
            ),
            (
                "cache get x.example aaaa",
                "{\"command\":\"cache\",\"verb\":\"get\",\"name\":\"x.example\",\"type\":\"AAAA\"}",
                "cache get x.example AAAA"
            ),
            ("cache dump", "{\"command\":\"cache\",\"verb\":\"dump\"}", "cache dump under . all types"),
            ("flush x.example", "{\"command\":\"flush\",\"name\":\"x.example\"}", "flush x.example all types"),
            (
                "flush x.example --type TYPE65 --tree",
                "{\"command\":\"flush\",\"name\":\"x.example\",\"tree\":true,\"type\":\"https\"}",
                "flush under x.example HTTPS"
            ),
            ("flush --all", "{\"command\":\"flush\",\"all\":true}", "flush under . all types"),
            ("flush .", "{\"command\":\"flush\",\"name\":\".\",\"all\":false}", "flush . all types"),
            (
                "prefetch a.example b.example",
                "{\"command\":\"prefetch\",\"names\":[\"a.example\",\"b.example\"]}",
                "prefetch [a.example, b.example]"
            ),
            ("prefetch a.example", "{\"command\":\"prefetch\",\"name\":\"a.example\"}", "prefetch [a.example]"),
        ])
    func understood(_ line: String, _ object: String, _ expected: String) {
        #expect(outcome(line) == expected)
        #expect(outcome(line + " --json") == expected + " as JSON")
        #expect(outcome(object) == expected + " as JSON")
    }

    @Test(
        "what is missing, too much, contradictory or no name is refused",
        arguments: [
            ("cache", "cache needs a verb; \(cacheUsage)"),
            ("cache list", "unknown verb \"list\" of cache; \(cacheUsage)"),
            ("cache get", "cache get needs a name; allowed: cache get NAME [TYPE]"),
            ("cache get a b c", "unknown argument \"c\" of cache; \(cacheUsage)"),
            ("cache get a..b", "\"a..b\" \(isNoName)"),
            ("explain a.example --client", "--client needs an address"),
            ("explain a.example --client guests", "\"guests\" is not an IP address"),
            ("explain a\u{FF0E}\u{FF0E}b", "\"a\\u{FF0E}\\u{FF0E}b\" \(isNoName)"),
            ("cache get a b", "\"b\" \(isNoType)"),
            ("cache ls a A", "too many arguments of cache ls; allowed: cache ls [NAME]"),
            ("cache dump a", "too many arguments of cache dump; allowed: cache dump"),
            ("cache ls --tree", "unknown argument \"--tree\" of cache; \(cacheUsage)"),
            ("flush", "flush needs a name; \(flushUsage)"),
            ("flush --tree", "flush needs a name; \(flushUsage)"),
            ("flush a b", "unknown argument \"b\" of flush; \(flushUsage)"),
            ("flush --tre a", "unknown argument \"--tre\" of flush; \(flushUsage)"),
            ("flush a --type", "--type needs a record type"),
            ("flush a --type AA", "\"AA\" \(isNoType)"),
            ("flush --all a", "--all takes no name, --tree or --type; \(flushUsage)"),
            ("flush --all --type A", "--all takes no name, --tree or --type; \(flushUsage)"),
            ("flush --all --tree", "--all takes no name, --tree or --type; \(flushUsage)"),
            ("prefetch", "prefetch needs a name; allowed: prefetch NAME..."),
            ("prefetch a b..c", "\"b..c\" \(isNoName)"),
        ])
    func refused(_ line: String, _ reason: String) {
        #expect(outcome(line) == "error: \(reason)\n")
    }

    @Test("an object that means nothing is refused as JSON")
    func refusedObjects() {
        for object in [
            "{\"command\":\"flush\"}", "{\"command\":\"flush\",\"tree\":true}",
            "{\"command\":\"flush\",\"all\":true,\"name\":\"a\"}", "{\"command\":\"flush\",\"name\":1}",
            "{\"command\":\"cache\"}", "{\"command\":\"cache\",\"verb\":\"get\"}",
            "{\"command\":\"prefetch\",\"names\":[]}", "{\"command\":\"prefetch\",\"names\":\"a\"}",
        ] {
            #expect(outcome(object).hasPrefix("{\"error\":"), "\(object)")
        }
    }

    @Test("a hundred of the longest names are taken, and one more name is refused")
    func manyNames() {
        let label = String(repeating: "a", count: 63)
        let longest = "\(label).\(label).\(label).\(label.dropLast(2))"
        #expect(!outcome("prefetch" + String(repeating: " \(longest)", count: 100)).hasPrefix("error"))
        #expect(
            outcome("prefetch" + String(repeating: " a.example", count: 101))
                == "error: found 101 names; allowed: 1 to 100\n")
    }

    @Test("what changes state is for root and the daemon's own user and group, and reading for everyone")
    func rights() throws {
        let rights = Rights(userID: 998, groupID: 997)
        for line in [
            "flush --all", "flush a", "prefetch a", "httpdns off", "httpdns on", "providers reset", "providers test a",
            "verify a", "rule add a answer=nodata", "rule rm a", "network names --write",
        ] {
            let request = try Request(line: Array(line.utf8))
            for (user, group) in [(0, 1000), (998, 1000), (1000, 997)] as [(UInt32, UInt32)] {
                #expect(rights.refusal(of: request, userID: user, groupID: group) == nil, "\(line) by \(user)")
            }
            for (user, group) in [(1000, 1000), (997, 998), (1000, 0), (65_534, 65_534)] as [(UInt32, UInt32)] {
                let refusal = rights.refusal(of: request, userID: user, groupID: group)
                #expect(
                    refusal?.reason == "\(request.command.reservedWords ?? "") is for root, user 998 and group 997; "
                        + "you are user \(user), group \(group)")
            }
        }
        for line in [
            "status", "stats", "help", "cache ls", "cache get a", "cache dump", "providers", "verdicts", "verdicts a",
            "report a 192.0.2.1", "evidence", "whois 192.0.2.1", "network", "network history",
            "network names", "rule ls",
        ] {
            let request = try Request(line: Array(line.utf8))
            #expect(rights.refusal(of: request, userID: 1000, groupID: 1000) == nil, "\(line)")
        }
    }
}

@Suite("Requests about providers")
struct ProviderRequestTests {
    private let usage = "allowed: httpdns off [NAME] [--for DURATION], httpdns on [NAME]"
    private let providersUsage = "allowed: providers, providers reset [NAME], providers test NAME"
    private let durations = "is not a duration from 1s to 30d, such as 30s, 10m, 2h or 1d"

    @Test(
        "words and JSON objects mean the same",
        arguments: [
            ("httpdns off", "{\"command\":\"httpdns\",\"verb\":\"off\"}", "off all until on"),
            (
                "httpdns off --for 10m corp.example",
                "{\"command\":\"httpdns\",\"verb\":\"off\",\"for\":\"10m\",\"name\":\"corp.example\"}",
                "off corp.example 600 s"
            ),
            (
                "httpdns off --for 10m --rule corp.example",
                "{\"command\":\"httpdns\",\"verb\":\"off\",\"for\":\"10m\",\"rule\":\"corp.example\"}",
                "off corp.example 600 s"
            ),
            (
                "httpdns --rule . off --for 1d",
                "{\"command\":\"httpdns\",\"verb\":\"off\",\"for\":\"24h\",\"rule\":\".\"}", "off all 86400 s"
            ),
            ("httpdns on", "{\"command\":\"httpdns\",\"verb\":\"on\"}", "on all"),
            (
                "httpdns on a", "{\"command\":\"httpdns\",\"verb\":\"on\",\"name\":\"a.\"}", "on a"
            ),
            ("providers", "{\"command\":\"providers\"}", "providers list"),
            ("providers reset", "{\"command\":\"providers\",\"verb\":\"reset\"}", "providers reset(nil)"),
            (
                "providers reset alidns", "{\"command\":\"providers\",\"verb\":\"reset\",\"name\":\"alidns\"}",
                "providers reset(Optional(\"alidns\"))"
            ),
            (
                "providers test alidns", "{\"command\":\"providers\",\"verb\":\"test\",\"name\":\"alidns\"}",
                "providers test(\"alidns\")"
            ),
        ])
    func understood(_ line: String, _ object: String, _ expected: String) {
        #expect(outcome(line) == expected)
        #expect(outcome(line + " --json") == expected + " as JSON")
        #expect(outcome(object) == expected + " as JSON")
    }

    @Test("a switch that is missing something, has too much or contradicts itself is refused")
    func refusedSwitches() {
        for (line, reason) in [
            ("httpdns", "httpdns needs a verb; \(usage)"),
            ("httpdns of", "unknown verb \"of\" of httpdns; \(usage)"),
            ("httpdns off a b", "unknown argument \"b\" of httpdns; \(usage)"),
            (
                "httpdns off a --rule b",
                "too many arguments of httpdns off; allowed: httpdns off [NAME] [--for DURATION]"
            ),
            ("httpdns off --until 7", "unknown argument \"--until\" of httpdns; \(usage)"),
            ("httpdns off --for", "--for needs a duration"),
            ("httpdns off --rule", "--rule needs a name"),
            ("httpdns off --rule a..b", "\"a..b\" \(isNoName)"),
            ("httpdns on --for 10m", "too many arguments of httpdns on; allowed: httpdns on [NAME]"),
        ] {
            #expect(outcome(line) == "error: \(reason)\n")
        }
        let object = "{\"command\":\"httpdns\",\"verb\":\"off\",\"names\":[\"corp.example\"]}"
        #expect(outcome(object).hasPrefix("{\"error\":\"too many arguments of httpdns off"))
    }

    @Test("an action on providers that is missing something or has too much is refused")
    func refusedActions() {
        for (line, reason) in [
            ("providers alidns", "unknown verb \"alidns\" of providers; \(providersUsage)"),
            ("providers test", "providers test needs a name; allowed: providers test NAME"),
            ("providers test a b", "unknown argument \"b\" of providers; \(providersUsage)"),
            ("providers reset --all", "unknown argument \"--all\" of providers; \(providersUsage)"),
            ("provider", "unknown command \"provider\"; did you mean \"providers\"? \(allowed)"),
        ] {
            #expect(outcome(line) == "error: \(reason)\n")
        }
        #expect(outcome("{\"command\":\"providers\",\"name\":\"a\"}").hasPrefix("{\"error\":\"providers needs a verb"))
    }

    @Test(
        "a duration is 1 s to 30 d with its unit",
        arguments: [
            ("1s", 1), ("30d", 2_592_000), ("720h", 2_592_000), ("0s", nil), ("31d", nil), ("721h", nil), ("10", nil),
            ("m", nil), ("", nil), ("1.5h", nil), ("-1h", nil), ("+1h", nil), ("1h30m", nil), ("10ms", nil),
            ("99999999999999999999s", nil), ("9223372036854775807d", nil), ("١m", nil), ("1 m", nil),
        ] as [(String, Int?)])
    func duration(_ text: String, _ seconds: Int?) {
        let object = "{\"command\":\"httpdns\",\"verb\":\"off\",\"for\":\"\(text)\"}"
        if let seconds {
            #expect(outcome(object) == "off all \(seconds) s as JSON")
        } else {
            #expect(outcome(object).contains(durations), "\(text): \(outcome(object))")
        }
    }

    @Test("only what waits for others answers in steps")
    func steps() throws {
        for (line, isAnsweredInSteps) in [
            ("providers test a", true), ("{\"command\":\"providers\",\"verb\":\"test\",\"name\":\"a\"}", true),
            ("verify a", true), ("report a 192.0.2.1", true), ("providers", false), ("providers reset a", false),
            ("cache dump", false), ("verdicts a", false), ("evidence", false), ("whois 192.0.2.1", false),
            ("network", false), ("network history", false), ("network names --write", false),
        ] {
            #expect(try Request(line: Array(line.utf8)).command.isAnsweredInSteps == isAnsweredInSteps, "\(line)")
        }
    }
}

@Suite("Command line of httpdnsctl")
struct InvocationTests {
    private func outcome(_ arguments: String...) -> String {
        do throws(UsageError) {
            return "\(try Invocation(arguments: arguments))"
        } catch {
            return "usage: \(error.reason)"
        }
    }

    @Test("options come before the command, and the rest goes to the daemon")
    func options() {
        let socket = "/run/httpdnsd/control.sock"
        #expect(outcome("status") == "ask(line: \"status\", socket: \"\(socket)\")")
        #expect(outcome("--json", "stats") == "ask(line: \"stats --json\", socket: \"\(socket)\")")
        #expect(outcome("stats", "--json") == "ask(line: \"stats --json\", socket: \"\(socket)\")")
        #expect(outcome("--json", "stats", "--json") == "ask(line: \"stats --json\", socket: \"\(socket)\")")
        #expect(outcome("--socket", "/s", "flush", "a") == "ask(line: \"flush a\", socket: \"/s\")")
        #expect(outcome("--version") == "showVersion")
        #expect(outcome("-h") == "showUsage")
        #expect(outcome("--help", "x") == "showUsage")
        #expect(outcome("top") == "top(socket: \"\(socket)\")")
        #expect(outcome("--json", "top") == "ask(line: \"top --json\", socket: \"\(socket)\")")
        #expect(outcome("top", "x") == "ask(line: \"top x\", socket: \"\(socket)\")")
        for words in [
            ["--json", "stats", "--watch"], ["stats", "--watch", "--json"], ["stats", "--json", "--watch"],
        ] {
            #expect((try? Invocation(arguments: words)) == .watchStats(socket: socket, wantsJSON: true))
        }
        #expect(outcome("stats", "--watch") == "watchStats(socket: \"\(socket)\", wantsJSON: false)")
    }

    @Test("the client's own reports take files")
    func files() throws {
        let socket = Invocation.defaultSocket
        #expect(
            try Invocation(arguments: ["doctor", "--config", "/a"])
                == .doctor(settings: "/a", socket: socket, wantsJSON: false))
        #expect(
            try Invocation(arguments: ["report-bug"])
                == .reportBug(output: nil, settings: nil, socket: socket, wantsJSON: false))
        #expect(
            try Invocation(
                arguments: ["--socket", "/s", "report-bug", "--config", "/a", "--output", "b", "--json"])
                == .reportBug(output: "b", settings: "/a", socket: "/s", wantsJSON: true))
        let noJSON = "usage: report-bug --output - prints the report, which is text; leave out --json"
        #expect(outcome("report-bug", "--output", "-", "--json") == noJSON)
        #expect(outcome("--json", "report-bug", "--output", "-") == noJSON)
        let usage = "usage: unknown arguments of report-bug; allowed: report-bug [--output FILE] [--config FILE]"
        #expect(outcome("report-bug", "--output") == usage)
        #expect(outcome("report-bug", "--output", "") == usage)
        #expect(outcome("report-bug", "--output", "a", "--output", "b") == usage)
        #expect(outcome("report-bug", "a") == usage)
        #expect(outcome("doctor", "--output", "a").hasPrefix("usage: unknown arguments of doctor; allowed: doctor"))
    }

    @Test("--socket precedes the environment, which precedes the default")
    func sockets() throws {
        #expect(try Invocation(arguments: ["status"], socket: "/e") == .ask(line: "status", socket: "/e"))
        #expect(
            try Invocation(arguments: ["--socket", "/s", "status"], socket: "/e") == .ask(line: "status", socket: "/s"))
        #expect(
            try Invocation(arguments: ["status"], socket: "")
                == .ask(line: "status", socket: "/run/httpdnsd/control.sock"))
    }

    @Test("help needs no daemon, and every command has one with an example that is a command")
    func help() throws {
        #expect(try Invocation(arguments: ["help"]) == .help(nil, wantsJSON: false))
        #expect(try Invocation(arguments: ["--json", "help", "log"]) == .help(.log, wantsJSON: true))
        #expect(try Invocation(arguments: ["flush", "a", "--help"]) == .help(.flush, wantsJSON: false))
        #expect(try Invocation(arguments: ["help", "-h"]) == .help(nil, wantsJSON: false))
        for word in Command.Word.allCases where word != .help {
            #expect(try Invocation(arguments: [word.rawValue, "-h"]) == .help(word, wantsJSON: false))
            #expect(Reply.help(word).rendered(asJSON: false).contains("Example: httpdnsctl \(word.rawValue)"))
            let example = word.example.split(separator: " ").map { $0.filter { $0 != "'" } }
            guard case .ask(let line, _) = try Invocation(arguments: example) else { continue }
            #expect(throws: Never.self) { try Request(line: Array(line.utf8)) }
        }
        #expect(outcome("nonsense", "--help").hasPrefix("usage: no command \"nonsense\""))
    }

    @Test("what cannot be meant is a usage error")
    func usage() {
        #expect(outcome() == "usage: no command")
        #expect(outcome("--json") == "usage: no command")
        #expect(outcome("--socket") == "usage: --socket needs a path")
        #expect(outcome("--socket", "") == "usage: --socket needs a path")
        #expect(outcome("--jsn", "stats") == "usage: unknown option --jsn")
        #expect(outcome("a\nb") == "usage: a command is one line")
        #expect(
            outcome("stats", "--watch", "--prometheus") == "usage: --watch of stats takes no other argument than --json"
        )
    }
}
