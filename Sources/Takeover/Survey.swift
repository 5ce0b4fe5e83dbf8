// What was seen of a machine, before anything is decided. It looks at nothing itself.

package struct Survey: Equatable, Sendable {
    /// By path: those of `SystemPaths.looked`.
    package var states: [String: FileState] = [:]
    /// Where the link /etc/resolv.conf ends, whether or not there is something; nil: it is no link.
    package var resolvConfDestination: String?
    /// What programs read there; empty where nothing is.
    package var resolvConfContent: [UInt8] = []
    /// What systemd-resolved says of the nameservers that it knows; empty without it.
    package var uplinkContent: [UInt8] = []
    /// Others are mounted over these paths.
    package var mountPoints: Set<String> = []
    /// Names of running programs, cut to the 15 bytes that the kernel keeps.
    package var running: Set<String> = []
    /// As `NetworkManager --print-config` has it; empty where it does not run.
    package var networkManagerSettings = ""
    package var daemonUnit = DaemonUnit("")
    /// Whether systemd-resolved answers at 127.0.0.53.
    package var isStubAnswering = false
    package var rewriterSettings = RewriterSettings()

    package init() {}

    func state(_ path: String) -> FileState { states[path] ?? .absent }

    func has(_ path: String) -> Bool { state(path) != .absent }

    func isRunning(_ program: String) -> Bool { running.contains(String(program.prefix(Survey.maxNameBytes))) }

    private static let maxNameBytes = 15

    /// Whether one of the comments at the top of resolv.conf has `words`.
    func isHeaded(_ words: String) -> Bool {
        let lines = String(decoding: resolvConfContent, as: UTF8.self).split(separator: "\n")
        return lines.prefix { $0.hasPrefix("#") }.contains { $0.contains(words) }
    }
}
