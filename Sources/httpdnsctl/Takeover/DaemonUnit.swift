// State of the daemon's systemd units: active, started at boot, and with the restore unit that undoes the takeover on
// failure.

struct DaemonUnit: Equatable, Sendable {
    private let isActive: Bool
    private let isStartedAtBoot: Bool
    private let isGuarded: Bool

    static let names = ["httpdnsd.service", "httpdnsd.socket"]
    private static let guardName = "httpdnsd-restore.service"

    /// The `systemctl` arguments that produce the input of `init`.
    static let question = ["show", "--property=ActiveState,UnitFileState,OnFailure"] + names

    /// - Parameter output: output of systemctl for the service and, after an empty line, for its socket; empty without
    ///   systemd.
    init(_ output: String) {
        let units = output.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "")
        let service = units.first ?? []
        isActive = service.contains("ActiveState=active")
        isStartedAtBoot = units.contains { $0.contains("UnitFileState=enabled") }
        isGuarded = service.contains { line in
            line.hasPrefix("OnFailure=")
                && line.split { $0 == "=" || $0 == " " }.contains { $0 == DaemonUnit.guardName }
        }
    }

    var warnings: [String] {
        guard isActive else {
            return [
                "the daemon does not run as httpdnsd.service: systemd does not restart it, and after its end names do "
                    + "not resolve until \"httpdnsctl system restore\""
            ]
        }
        var warnings: [String] = []
        if !isStartedAtBoot {
            warnings.append(
                "httpdnsd.service is not enabled: the next boot restores the previous settings; "
                    + "run: systemctl enable httpdnsd.service")
        }
        if !isGuarded {
            warnings.append(
                "httpdnsd.service has no OnFailure=\(DaemonUnit.guardName): after a permanent failure "
                    + "names do not resolve until \"httpdnsctl system restore\"")
        }
        return warnings
    }
}
