// Checks that resolv.conf leads programs to the daemon and that the daemon has nameservers of its own. Parses the
// file with the daemon's parser.

import DNSWire
import Resolver

struct ResolvConfCheck: Sendable {
    enum File: Sendable {
        case missing
        /// A symbolic link without a target file.
        case dangling(to: String)
        /// The system's error text.
        case unreadable(String)
        case text([UInt8], isForEverybody: Bool)
    }

    let file: File
    /// The daemon's listen addresses.
    let ourselves: ListenAddresses
    /// A listen address with port 53, for remedies; nil: none, so resolv.conf cannot point to the daemon.
    let ourPlace: String?
    /// The nameservers that the daemon itself uses.
    let sources: NameserverSources
    /// The content of systemd-resolved's resolv.conf; empty if systemd-resolved does not run.
    let resolvedServers: [UInt8]
    /// Nameservers of resolv.conf that forward queries to the daemon.
    let forwarders: Set<Nameserver>
    /// The record of `system use` exists.
    let isTakenOver: Bool
    /// The file has the immutable attribute (chattr +i).
    let isImmutable: Bool
    let isMounted: Bool

    /// Number of nameservers that programs follow (resolv.conf(5), MAXNS).
    private static let maxFollowed = 3
    private static let takeOver: LocalizedText = "httpdnsctl system use"

    var findings: [Finding] {
        switch file {
        case .missing: [fault("is missing: programs query only 127.0.0.1", ResolvConfCheck.takeOver)]
        case .dangling(let target):
            [
                fault(
                    "is a link to \(target), which does not exist",
                    "start the program that writes that file, or rm /etc/resolv.conf and \(ResolvConfCheck.takeOver)")
            ]
        case .unreadable(let why):
            [
                fault(
                    "can't be read: \(why)",
                    LocalizedText(verbatim: "ls -lL /etc/resolv.conf; chmod 644 /etc/resolv.conf"))
            ]
        case .text(let text, let isForEverybody):
            (isForEverybody
                ? []
                : [
                    fault(
                        "is readable only for root: other users find no nameserver",
                        LocalizedText(verbatim: "chmod 644 /etc/resolv.conf"))
                ])
                + lineEnds(of: text) + findings(of: NameserverList(resolvConf: text, without: ourselves), text)
                + options
        }
    }

    /// glibc takes the carriage return for a part of the address, and so finds no nameserver.
    private func lineEnds(of text: [UInt8]) -> [Finding] {
        let lines = text.split(separator: UInt8(ascii: "\n"))
        let isEnded = { (line: ArraySlice<UInt8>) in
            line.last == UInt8(ascii: "\r") && line.starts(with: "nameserver".utf8)
        }
        guard lines.contains(where: isEnded) else { return [] }
        return [
            fault(
                "has lines that end with CR LF, as on Windows: programs ignore their nameservers",
                LocalizedText(verbatim: "sed -i 's/\\r$//' /etc/resolv.conf"))
        ]
    }

    /// Returns the nameservers to test for forwarding to the daemon; omits the daemon's own addresses.
    static func otherServers(_ file: File, without ourselves: ListenAddresses) -> [Nameserver] {
        guard case .text(let text, _) = file else { return [] }
        return NameserverList(resolvConf: text, without: ourselves).servers
    }

    /// True if programs reach the daemon directly, through systemd-resolved or through another forwarder.
    var leadsToUs: Bool {
        guard case .text(let text, _) = file else { return false }
        let list = NameserverList(resolvConf: text, without: ourselves)
        return ResolvConfCheck.namesUs(list) || isThroughResolved(list) || isForwarded(list)
    }

    private func findings(of list: NameserverList, _ text: [UInt8]) -> [Finding] {
        let lines = shape(of: list)
        guard ourPlace != nil else { return lines }
        if ResolvConfCheck.namesUs(list) {
            return lines + others(beside: list, text) + loop()
        }
        if isThroughResolved(list) || isForwarded(list) { return lines + loop() }
        return lines + [elsewhere(list)]
    }

    private func shape(of list: NameserverList) -> [Finding] {
        var findings: [Finding] = []
        if !list.unreadable.isEmpty {
            findings.append(
                warning(
                    "has nameservers that are no addresses: \(list.unreadable.joined(separator: ", "))",
                    "a nameserver line takes one address, without port"))
        }
        let count = list.servers.count + list.omitted.count
        if count > ResolvConfCheck.maxFollowed {
            findings.append(
                warning(
                    "names \(count) nameservers: programs read the first \(ResolvConfCheck.maxFollowed)",
                    "remove the rest; the daemon alone is enough"))
        }
        return findings
    }

    private func others(beside list: NameserverList, _ text: [UInt8]) -> [Finding] {
        guard !list.servers.isEmpty else { return [] }
        let names = list.servers.map { "\($0.address)" }.joined(separator: ", ")
        let first = firstServers(in: text)
        guard first.isEmpty else {
            let names = first.map { "\($0.address)" }.joined(separator: ", ")
            return [
                fault(
                    "names \(names) before the daemon: programs query the daemon only if \(names) is silent",
                    "leave the daemon as the only nameserver: \(ResolvConfCheck.takeOver)")
            ]
        }
        return [
            warning(
                "names \(names) in addition to the daemon: programs query these, too, if an answer is late",
                "leave the daemon as the only nameserver: \(ResolvConfCheck.takeOver)")
        ]
    }

    /// Options of the daemon's own nameservers, in whichever file these are.
    private var options: [Finding] {
        let unheeded = sources.list.options.unheeded
        guard !unheeded.isEmpty else { return [] }
        return [
            Finding(
                .note, .resolvConf,
                "has options that the daemon does not follow: \(unheeded.joined(separator: ", "))",
                remedy: "none is needed: other programs still follow them")
        ]
    }

    /// The nameservers in front of the daemon.
    private func firstServers(in text: [UInt8]) -> [Nameserver] {
        var before: [UInt8] = []
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let list = NameserverList(resolvConf: before + line, without: ourselves)
            if ResolvConfCheck.namesUs(list) { return list.servers }
            before += line + [UInt8(ascii: "\n")]
        }
        return []
    }

    private func loop() -> [Finding] {
        guard sources.list.servers.isEmpty else { return [] }
        return [
            warning(
                "names only the daemon, and no file has another nameserver: the daemon has no system resolver",
                "servers = [\"ADDRESS\"] under [system-resolver] in the settings, with the network's nameserver")
        ]
    }

    private func elsewhere(_ list: NameserverList) -> Finding {
        let names = list.servers.map { "\($0.address)" }.joined(separator: ", ")
        if isTakenOver {
            return fault(
                names.isEmpty
                    ? "was set to the daemon and has been rewritten since: it names no nameserver"
                    : "was set to the daemon and has been rewritten since: it names \(names)",
                hindered("\(ResolvConfCheck.takeOver), which shows the program that writes the file"))
        }
        if list.servers.isEmpty {
            return fault("names no nameserver: programs query 127.0.0.1", hindered(ResolvConfCheck.takeOver))
        }
        if list.servers.contains(where: { $0.address == .v4(0x7F00_000B) }) {
            return warning(
                "names 127.0.0.11, Docker's own resolver: programs do not use the daemon",
                "run the container with --dns \(ourPlace ?? "127.0.0.1"), or dns: in the compose file")
        }
        if list.servers.contains(where: ResolvConfCheck.isStub) {
            return warning(
                "names systemd-resolved (\(names)), which does not use the daemon", hindered(ResolvConfCheck.takeOver))
        }
        return warning("names \(names), not the daemon: programs do not use it", hindered(ResolvConfCheck.takeOver))
    }

    /// Returns the remedy with what keeps it from being carried out.
    private func hindered(_ remedy: LocalizedText) -> LocalizedText {
        if isImmutable {
            return "\(remedy); first run chattr -i /etc/resolv.conf, because the file is immutable"
        }
        if isMounted {
            return "\(remedy); it is mounted from the host: set the nameserver there (docker run --dns)"
        }
        return remedy
    }

    private func isForwarded(_ list: NameserverList) -> Bool { list.servers.contains(where: forwarders.contains) }

    /// True if resolv.conf names systemd-resolved and systemd-resolved asks the daemon.
    private func isThroughResolved(_ list: NameserverList) -> Bool {
        list.servers.contains(where: ResolvConfCheck.isStub)
            && ResolvConfCheck.namesUs(NameserverList(resolvConf: resolvedServers, without: ourselves))
    }

    private static func namesUs(_ list: NameserverList) -> Bool { list.omitted.contains { $0.why == .ourselves } }

    /// Whether the server is the stub of systemd-resolved (systemd-resolved.service(8)).
    private static func isStub(_ server: Nameserver) -> Bool {
        server.address == .v4(0x7F00_0035) || server.address == .v4(0x7F00_0036)
    }

    private func fault(_ text: LocalizedText, _ remedy: LocalizedText) -> Finding {
        Finding(.fault, .resolvConf, text, remedy: remedy)
    }

    private func warning(_ text: LocalizedText, _ remedy: LocalizedText) -> Finding {
        Finding(.warning, .resolvConf, text, remedy: remedy)
    }
}
