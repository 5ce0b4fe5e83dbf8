// How systemd runs the daemon: whether names will be there after the next start, and who gives them back when it dies.

package struct DaemonUnit: Equatable, Sendable {
    private let isActive: Bool
    private let isStartedAtBoot: Bool
    private let isGuarded: Bool

    package static let names = ["httpdnsd.service", "httpdnsd.socket"]
    private static let guardName = "httpdnsd-restore.service"

    /// For `systemctl`: what `init` reads.
    package static let question = ["show", "--property=ActiveState,UnitFileState,OnFailure"] + names

    /// - Parameter said: by systemctl of the service and, after an empty line, of its socket; empty where no systemd
    ///   runs.
    package init(_ said: String) {
        let units = said.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "")
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
                "the daemon does not run as httpdnsd.service: nobody starts it again, and when it ends there are no "
                    + "names before \"httpdnsctl system restore\""
            ]
        }
        var warnings: [String] = []
        if !isStartedAtBoot {
            warnings.append(
                "httpdnsd.service is not enabled: no names after the next start of this machine; "
                    + "say: systemctl enable httpdnsd.service")
        }
        if !isGuarded {
            warnings.append(
                "httpdnsd.service has no OnFailure=\(DaemonUnit.guardName): when it fails for good there are no names "
                    + "before \"httpdnsctl system restore\"")
        }
        return warnings
    }
}
