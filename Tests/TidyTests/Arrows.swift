// The allowed imports between modules: the picture of ARCHITECTURE.md as a table. Neither a source file nor
// Package.swift may import anything else.

enum Arrows {
    /// The imports that each module or program may have. Glibc and Synchronization come with the compiler; the
    /// rest are targets of the package.
    static let allowed: [String: Set<String>] = [
        "httpdnsd": ["Daemon", "LinuxIO", "NFTSetHelper", "httpdnsctl"],
        // It parses resolv.conf, settings and handshakes with the daemon's code, so that both agree. Telemetry: it
        // reads a crash file without a daemon.
        "httpdnsctl": [
            "Control", "Crypto", "DNSWire", "Glibc", "LinuxIO", "Resolver", "Settings", "Telemetry",
        ],
        // CLinux: constants of nf_tables. It is the only program that keeps a capability.
        "NFTSetHelper": ["CLinux", "Confinement", "DNSWire", "Glibc", "LinuxIO", "SetFeed", "Settings"],
        // It is the server of each dialect, with the same code. It has an HTTP server of its own, because it breaks the
        // protocol.
        "httpdns-lab": ["CMicrohttpd", "DNSWire", "Glibc", "HTTPDNS", "LinuxIO", "Synchronization"],
        // Crypto: probes carry the bytes of a handshake.
        "Daemon": [
            "Confinement", "Control", "Crypto", "DNSWire", "Fleet", "HTTPClient", "HTTPDNS", "HTTPServer", "LinkDNS",
            "LinuxIO", "Network", "Resolver", "Serving", "SetFeed", "Settings", "Store", "Synchronization", "Telemetry",
            "Upstreams",
        ],
        // All code that asks an upstream by a protocol of its own, and the accounts. Control: reports of its state.
        // Network: addresses with a route.
        "Upstreams": [
            "Control", "Crypto", "DNSWire", "Fleet", "HTTPClient", "HTTPDNS", "LinuxIO", "Network", "PublicSuffix",
            "Redis", "Resolver", "Settings", "Telemetry",
        ],
        // Telemetry: it counts and records the queries that it answers.
        "Serving": ["DNSWire", "LinuxIO", "Synchronization", "Telemetry"],
        // Bounds are shared, and failures counted, by registrable domain.
        "PublicSuffix": ["CPSL", "DNSWire"],
        "Resolver": ["DNSWire", "PublicSuffix", "Synchronization"],
        // LinuxIO: it reads rtnetlink.
        "Network": ["CLinux", "DNSWire", "Glibc", "LinuxIO"],
        // Crypto: dialects sign and encrypt. Settings: a dialect is made of a provider's settings.
        "HTTPDNS": ["Crypto", "DNSWire", "Glibc", "JSON", "Settings"],
        "Crypto": ["COpenSSL", "Synchronization"],
        "HTTPClient": ["CNghttp2", "CZlib", "Crypto", "DNSWire", "Glibc", "LinuxIO"],
        // DNSWire: a Host header must be an address or localhost. LinuxIO: operators share connections as at the
        // control socket.
        "HTTPServer": ["CMicrohttpd", "DNSWire", "Glibc", "LinuxIO"],
        // DNSWire: a stored answer is validated against its question.
        "Store": ["CSQLite", "DNSWire"],
        "Settings": ["CTOML", "DNSWire", "InternationalNames", "JSON"],
        // Crypto: shared answers are authenticated.
        "Fleet": ["Crypto", "DNSWire"],
        "Redis": ["CHiredis", "DNSWire", "LinuxIO"],
        // The daemon and httpdnsd-nftset share it.
        "SetFeed": ["DNSWire"],
        // The daemon and httpdnsd-nftset share it.
        "Confinement": ["CSeccomp"],
        "LinkDNS": ["CSystemd", "DNSWire"],
        // DNSWire: socket addresses.
        "LinuxIO": ["CLinux", "DNSWire", "Glibc", "Synchronization"],
        "Telemetry": ["DNSWire", "Glibc", "Synchronization"],
        // Telemetry: events of the flight recorder are shown in the words of the control socket. InternationalNames:
        // commands take names as people write them.
        "Control": ["DNSWire", "Glibc", "InternationalNames", "JSON", "Telemetry"],
        // Names in settings and in commands become A-labels by the same rules.
        "InternationalNames": ["CIDN2"],
        "JSON": [],
        "DNSWire": [],
    ]

    private static let withTheCompiler: Set<String> = ["Glibc", "Synchronization"]

    static func imports(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift, let module = file.module else { return noFoundation(file) }
        guard let allowed = allowed[module] else {
            return [Complaint(path: file.path, line: 1, what: "\(module) has no line in the table of arrows")]
        }
        return Rules.complaints(file, file.codeLines) { line in
            imported(line).flatMap { allowed.contains($0) ? nil : "\(module) may not import \($0)" }
        }
    }

    /// Tests import what they test, and not Foundation.
    private static func noFoundation(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        return Rules.complaints(file, file.codeLines) { line in
            imported(line).flatMap { $0 == "Foundation" || $0 == "FoundationNetworking" ? "\($0) is too large" : nil }
        }
    }

    private static func imported(_ line: Substring) -> String? {
        let words = SwiftCode.words(line).map(\.word)
        guard let keyword = words.firstIndex(of: "import"), keyword <= 2, keyword + 1 < words.count else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "let", "var", "typealias"]
        let name = kinds.contains(words[keyword + 1]) ? keyword + 2 : keyword + 1
        return name < words.count ? String(words[name]) : nil
    }

    /// Compares the manifest's `module` and `program` lines of Sources with the table.
    static func manifest(_ file: SourceFile) -> [Complaint] {
        var found: [Complaint] = []
        for (name, dependencies) in targets(in: file.text) {
            guard let allowed = allowed[name] else { continue }
            let extra = dependencies.subtracting(allowed).sorted()
            let missing = allowed.subtracting(withTheCompiler).subtracting(dependencies).sorted()
            if !extra.isEmpty { found.append(Complaint(path: file.path, line: 1, what: "\(name) gets \(extra)")) }
            if !missing.isEmpty { found.append(Complaint(path: file.path, line: 1, what: "\(name) lacks \(missing)")) }
        }
        let declared = Set(targets(in: file.text).map(\.name))
        for name in allowed.keys.sorted() where !declared.contains(name) {
            found.append(Complaint(path: file.path, line: 1, what: "\(name) is in the table and not here"))
        }
        return found
    }

    /// Each call of `module` or `program`, with the quoted names in its array.
    private static func targets(in manifest: String) -> [(name: String, dependencies: Set<String>)] {
        let lines = manifest.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }
        let flat = " " + lines.joined(separator: " ")
        return ["module(", "program("].flatMap { call in
            parts(of: flat, after: call).compactMap { text -> (String, Set<String>)? in
                let call = text.prefix { $0 != ")" }
                let quoted = quotes(in: call)
                guard call.drop(while: { $0 == " " }).hasPrefix("\""), let name = quoted.first else { return nil }
                let array = call.drop { $0 != "[" }.prefix { $0 != "]" }
                return (name, Set(quotes(in: array)))
            }
        }
    }

    private static func parts(of text: String, after call: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = text[...]
        while let found = rest.firstRange(of: " " + call) {
            rest = rest[found.upperBound...]
            parts.append(rest)
        }
        return parts
    }

    private static func quotes(in text: Substring) -> [String] {
        let pieces = text.split(separator: "\"", omittingEmptySubsequences: false)
        return pieces.indices.filter { !$0.isMultiple(of: 2) }.map { String(pieces[$0]) }
    }
}
