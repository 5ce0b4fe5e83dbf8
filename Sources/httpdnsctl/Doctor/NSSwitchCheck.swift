// Checks that the hosts line of nsswitch.conf(5) reaches resolv.conf. Accepts any bytes.

struct NSSwitchCheck: Sendable {
    /// The text of the file; nil: the file does not exist.
    let text: [UInt8]?
    /// systemd-resolved runs, so nss-resolve can reach it.
    let hasResolved: Bool
    /// systemd-resolved forwards to the daemon.
    let isResolvedOurs: Bool

    private struct Source {
        let name: String
        /// Words of actions such as "[NOTFOUND=return]", without brackets, in lower case.
        var actions: [String] = []

        /// True if the search ends here for unknown names, so later sources are not asked.
        var endsSearch: Bool {
            actions.contains("notfound=return")
                || actions.contains { $0.hasPrefix("!") && $0.hasSuffix("=return") && !$0.hasPrefix("!notfound") }
        }
    }

    /// Reads at most this many lines; a real nsswitch.conf is far shorter.
    private static let maxLines = 1024
    private static let usual: LocalizedText = "hosts: files dns in /etc/nsswitch.conf"

    var findings: [Finding] {
        guard let text else {
            return [
                Finding(
                    .warning, .nsswitch, "/etc/nsswitch.conf is missing: programs use their built-in lookup order",
                    remedy: NSSwitchCheck.usual)
            ]
        }
        guard let sources = NSSwitchCheck.hosts(text) else {
            return [
                Finding(
                    .warning, .nsswitch, "there is no hosts line: programs use their built-in lookup order",
                    remedy: NSSwitchCheck.usual)
            ]
        }
        return findings(sources)
    }

    private func findings(_ sources: [Source]) -> [Finding] {
        let names = sources.map(\.name)
        let line = "hosts: \(names.joined(separator: " "))"
        guard let dns = names.firstIndex(of: "dns") else {
            if names.contains("resolve"), isResolvedOurs { return [] }
            return [
                Finding(
                    .fault, .nsswitch, "\(line): without dns, programs do not query a nameserver",
                    remedy: NSSwitchCheck.usual)
            ]
        }
        var findings: [Finding] = []
        if let files = names.firstIndex(of: "files"), files > dns {
            findings.append(
                Finding(
                    .warning, .nsswitch, "\(line): dns comes before files, so DNS overrides /etc/hosts",
                    remedy: NSSwitchCheck.usual))
        }
        for source in sources[..<dns] where source.endsSearch {
            if let finding = hiding(source) { findings.append(finding) }
        }
        return findings
    }

    private func hiding(_ source: Source) -> Finding? {
        switch source.name {
        // These sources answer only for .local.
        case "mdns_minimal", "mdns4_minimal", "mdns6_minimal": return nil
        case "resolve":
            guard hasResolved, !isResolvedOurs else { return nil }
            return Finding(
                .warning, .nsswitch, "programs use systemd-resolved and not resolv.conf (resolve comes before dns)",
                remedy: "httpdnsctl system use, which makes systemd-resolved use the daemon; or \(NSSwitchCheck.usual)")
        default:
            return Finding(
                .fault, .nsswitch, "\(source.name) ends the search with [NOTFOUND=return]: dns is not reached",
                remedy: NSSwitchCheck.usual)
        }
    }

    /// Returns the sources of the first hosts line, the line that glibc uses; nil if there is none.
    private static func hosts(_ text: [UInt8]) -> [Source]? {
        for line in text.split(separator: UInt8(ascii: "\n")).prefix(maxLines) {
            let plain = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
            let words = plain.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map { $0.lowercased() }
            let parts = words.joined(separator: " ").split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmed == "hosts" else { continue }
            return sources(String(parts[1]))
        }
        return nil
    }

    private static func sources(_ text: String) -> [Source] {
        var sources: [Source] = []
        var rest = text[...]
        while let start = rest.firstIndex(where: { $0 != " " }) {
            rest = rest[start...]
            if rest.first == "[" {
                let end = rest.firstIndex(of: "]") ?? rest.endIndex
                let actions = rest[..<end].dropFirst().split(separator: " ").map(String.init)
                if !sources.isEmpty { sources[sources.count - 1].actions += actions }
                rest = rest[end...].dropFirst()
            } else {
                let end = rest.firstIndex { $0 == " " || $0 == "[" } ?? rest.endIndex
                sources.append(Source(name: String(rest[..<end])))
                rest = rest[end...]
            }
        }
        return sources
    }
}

extension Substring {
    fileprivate var trimmed: Substring { drop { $0 == " " }.prefix { $0 != " " } }
}
