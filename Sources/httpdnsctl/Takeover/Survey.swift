// The observed state of a machine, from which takeover and restore are planned. Does no I/O.

import DNSWire
import LinuxIO

struct Survey: Equatable, Sendable {
    /// State of each path in `SystemPaths.looked`.
    var states: [String: FileSnapshot] = [:]
    /// The final target of the link /etc/resolv.conf, existing or not; nil: not a link.
    var resolvConfDestination: String?
    /// Content of /etc/resolv.conf, links resolved; empty if it is missing.
    var resolvConfContent: [UInt8] = []
    /// Content of systemd-resolved's nameserver file; empty without it.
    var uplinkContent: [UInt8] = []
    /// Paths that are mount points.
    var mountPoints: Set<String> = []
    /// Names of running processes, cut by the kernel to 15 bytes.
    var running: Set<String> = []
    /// Output of `NetworkManager --print-config`; empty if it does not run.
    var networkManagerSettings = ""
    var daemonUnit = DaemonUnit("")
    /// Whether systemd-resolved answers at 127.0.0.53.
    var isStubAnswering = false
    var rewriterSettings = RewriterSettings()

    init() {}

    func state(_ path: String) -> FileSnapshot { states[path] ?? .absent }

    func has(_ path: String) -> Bool { state(path) != .absent }

    func isRunning(_ program: String) -> Bool { running.contains(String(program.prefix(Survey.maxNameBytes))) }

    private static let maxNameBytes = 15

    /// Returns true if a leading comment of resolv.conf contains `words`.
    func isHeaded(_ words: String) -> Bool {
        let lines = String(decoding: resolvConfContent, as: UTF8.self).split(separator: "\n")
        return lines.prefix { $0.hasPrefix("#") }.contains { $0.contains(words) }
    }
}
