// The steps that make a machine use the daemon as its resolver. Each step is atomic. Does no I/O.

import LinuxIO

struct TakeoverPlan: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case put(TakenPath)
        case run(ProgramCall)
    }

    let manager: ResolvConfWriter
    /// The daemon's addresses for the settings, preferred first; the port is always 53.
    let addresses: [String]
    let steps: [Step]
    /// Parts of the result that will not last, each with its remedy.
    let warnings: [String]

    /// - Parameter addresses: addresses of this machine at which the daemon answers on port 53; at least one.
    init(_ survey: Survey, addresses: [String]) {
        let addresses = Array(addresses.prefix(ResolvConfText.maxServers))
        manager = ResolvConfWriter(survey)
        self.addresses = addresses
        let copy = TakenPath(
            path: SystemPaths.formerNameservers, role: .copy, former: survey.state(SystemPaths.formerNameservers),
            ours: .file(survey.knownNameservers(manager), .rootFile))
        let steps: [Step] =
            switch manager {
            case .plainFile, .debianResolvconf: [.put(survey.ownResolvConf(addresses))]
            case .resolved: survey.resolvedSteps(addresses)
            case .networkManager: survey.networkManagerSteps(addresses)
            case .openresolv: survey.openresolvSteps(addresses)
            }
        self.steps = [.put(copy)] + steps
        warnings = survey.warnings(manager) + survey.daemonUnit.warnings
    }

    /// Paths that a restore could not bring back: neither a file within the size limit nor a link.
    var untouchable: [String] {
        record.paths.filter { path in
            path.former == .other || (path.former == .directory && path.role != .folder)
        }.map(\.path)
    }

    /// The record that is written before the first step.
    var record: TakeoverRecord {
        let paths = steps.compactMap { if case .put(let path) = $0 { path } else { nil } }
        let calls = steps.compactMap { if case .run(let call) = $0 { call } else { nil } }
        return TakeoverRecord(manager: manager, addresses: addresses, isComplete: false, paths: paths, calls: calls)
    }

    /// One line for each step, and the warnings.
    var lines: [String] {
        let head =
            "resolv.conf manager: \(manager.rawValue); "
            + "steps to use httpdnsd at \(addresses.joined(separator: " and ")):"
        let numbered = steps.enumerated().map { "  \($0.offset + 1). \($0.element.words)" }
        return [head] + numbered + warnings.map { "warning: \($0)" }
    }
}

extension TakeoverPlan.Step {
    var words: String {
        switch self {
        case .run(let call): return "run \(call.line)"
        case .put(let path):
            switch (path.role, path.ours) {
            case (.folder, _): return "make the directory \(path.path)"
            case (.copy, _): return "save the current nameservers in \(path.path), for the daemon's system resolver"
            case (.generated, _): return "the program above writes \(path.path)"
            case (_, .link(let target, _)): return "make \(path.path) a link to \(Quoted.plain(target))"
            case (.sharedSettings, _): return "add lines to \(path.path)"
            case (.resolvConf, _):
                guard case .link(let target, _) = path.former else {
                    return (path.isWrittenOver ? "overwrite " : "replace ") + path.path
                }
                return "replace \(path.path), a link to \(Quoted.plain(target)), by a file"
            case (.ownSettings, _): return "write \(path.path)"
            }
        }
    }
}

extension Survey {
    /// Returns the current nameservers. For systemd-resolved, reads its uplink list, which excludes its own stub. If
    /// another program manages resolv.conf, that list may remain but be empty.
    fileprivate func knownNameservers(_ manager: ResolvConfWriter) -> [UInt8] {
        let isResolved = manager == .resolved && ResolvConfText.firstNameserver(uplinkContent) != nil
        return ResolvConfText.nameservers(of: isResolved ? uplinkContent : resolvConfContent)
    }

    fileprivate func taken(_ path: String, _ role: TakenPath.Role, _ ours: FileSnapshot) -> TakenPath {
        TakenPath(path: path, role: role, former: state(path), ours: ours, isWrittenOver: mountPoints.contains(path))
    }

    /// Returns our resolv.conf as a plain file, also with Debian's resolvconf. Resolvconf keeps collecting
    /// nameservers, where the daemon reads them. It only warns if /etc/resolv.conf is not a link. Its data cannot
    /// hold a local server that persists across reboots.
    fileprivate func ownResolvConf(_ addresses: [String]) -> TakenPath {
        let path = SystemPaths.resolvConf
        var owner = FileRights.rootFile
        if case .file(_, let former) = state(path) { owner = former }
        let text = ResolvConfText.ours(addresses: addresses, keeping: resolvConfContent)
        return taken(path, .resolvConf, .file(text, owner))
    }

    /// Returns a drop-in file, and its directory if that is missing.
    fileprivate func dropIn(_ path: String, in folder: String, _ text: String) -> [TakeoverPlan.Step] {
        let file = taken(path, .ownSettings, .file(Array((Survey.origin + text).utf8), .rootFile))
        return (has(folder) ? [] : [.put(taken(folder, .folder, .directory))]) + [.put(file)]
    }

    private static let origin = """
        # Written by "httpdnsctl system use"; to remove it, run: httpdnsctl system restore

        """

    /// Configures systemd-resolved (resolved.conf(5)). An empty DNS= clears servers from other files. The domain ~.
    /// routes here all names that no link claims; links keep their own domains.
    fileprivate func resolvedSteps(_ addresses: [String]) -> [TakeoverPlan.Step] {
        let text = "[Resolve]\nDNS=\nDNS=\(addresses.joined(separator: " "))\nDomains=~.\n"
        var steps = dropIn(SystemPaths.resolvedSettings, in: SystemPaths.resolvedFolder, text)
        // Programs that read the list of all nameservers would bypass systemd-resolved and the daemon.
        if resolvConfDestination != SystemPaths.resolvedStub, isStubAnswering {
            let link = FileSnapshot.link(target: Array((".." + SystemPaths.resolvedStub).utf8), .rootLink)
            steps.append(.put(taken(SystemPaths.resolvConf, .resolvConf, link)))
        }
        // systemd refuses the sixth start within ten seconds, so the counter is reset first.
        return steps
            + ["reset-failed", "try-restart"].map {
                .run(ProgramCall(name: "systemctl", arguments: [$0, "systemd-resolved.service"]))
            }
    }

    /// With rc-manager=unmanaged NetworkManager keeps its lists in /run, where the daemon reads them
    /// (NetworkManager.conf(5)).
    fileprivate func networkManagerSteps(_ addresses: [String]) -> [TakeoverPlan.Step] {
        dropIn(
            SystemPaths.networkManagerSettings, in: SystemPaths.networkManagerFolder, "[main]\nrc-manager=unmanaged\n")
            + [
                .run(ProgramCall(name: "systemctl", arguments: ["try-reload-or-restart", "NetworkManager.service"])),
                .put(ownResolvConf(addresses)),
            ]
    }

    /// openresolv writes only a local name_servers unless configured otherwise (resolvconf.conf(5)).
    fileprivate func openresolvSteps(_ addresses: [String]) -> [TakeoverPlan.Step] {
        let path = SystemPaths.openresolvSettings
        let lines = "name_servers=\"\(addresses.joined(separator: " "))\"\nresolv_conf_local_only=YES\n"
        let (old, owner): ([UInt8], FileRights) =
            if case .file(let bytes, let owner) = state(path) { (bytes, owner) } else { ([], .rootFile) }
        let newLine = UInt8(ascii: "\n")
        let text = old + (old.last.map { $0 == newLine } ?? true ? [] : [newLine]) + Array((Survey.origin + lines).utf8)
        return [
            .put(taken(path, .sharedSettings, .file(text, owner))),
            .run(ProgramCall(name: "resolvconf", arguments: ["-u"])),
            .put(taken(SystemPaths.resolvConf, .generated, state(SystemPaths.resolvConf))),
        ]
    }
}
