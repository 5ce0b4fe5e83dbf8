// `httpdnsctl doctor`: collects the facts about this machine and passes them to each check. Changes nothing.

import Control
import Crypto
import DNSWire
import LinuxIO
import Resolver
import Settings

struct Examination {
    let settings: ExaminedSettings
    let socket: String?
    let control: DaemonCheck.Control
    /// The daemon's status; nil if the daemon gave none.
    let status: StatusReport?
    private let state: DaemonCheck.State
    private let allowsLoopback: Bool
    private let fleet: FleetCheck
    private let isSocketUnitUp: Bool
    /// The daemon's listen addresses from its `status`, else from the settings.
    private let places: [SocketAddress]
    private let ourselves: ListenAddresses
    private let sources: NameserverSources
    private let providers: ProviderDialling

    private static let controlTimeout = Duration.seconds(2)
    private static let maxStatusBytes = 1 << 20
    /// Bound on a fleet's report: enough for thousands of members.
    private static let maxFleetBytes = 4 << 20

    /// - Parameters:
    ///   - path: settings file; nil: that of the daemon at the socket, else the default path.
    ///   - socket: as on the command line; the default path means `control.socket` of the settings.
    init(settings path: String?, socket given: String) {
        let presumed = ExaminedSettings(path)
        let isDefault = given == Invocation.defaultSocket
        socket = isDefault ? presumed.settings.control.socket : given
        let control: DaemonCheck.Control
        (control, status) = Examination.ask(socket)
        fleet = FleetCheck(
            state: status?.fleet, report: status?.fleet == nil ? nil : Examination.fleet(socket))
        // A daemon that answers names its own file, which is the one that counts.
        let file = path == nil ? status?.settingsFile : nil
        settings = file.map { $0 == presumed.path ? presumed : ExaminedSettings($0) } ?? presumed
        let units = MachineFiles.unitStates()
        isSocketUnitUp = units.socket == "active"
        // An idle service with an active socket unit waits for its first query. A failed or restarting service is a
        // fault.
        let isWaitedFor = control.isAbsent && isSocketUnitUp && units.service == "inactive"
        self.control = isWaitedFor ? .startedByQuestions : control
        allowsLoopback = settings.allowsLoopback
        var state =
            status.map {
                DaemonCheck.State(
                    loopingServers: $0.loopingServers, portal: $0.portal, isSwitchedOff: !$0.switches.isEmpty,
                    unresolvedProviders: $0.providers.filter { $0.state == "unresolved" }.map(\.name),
                    failingProviders: $0.providers.filter { ["down", "blocked"].contains($0.state) }.map(\.name),
                    failingNameservers: ($0.nameservers ?? []).filter { $0.state == "down" }.map(\.name),
                    quotas: $0.quotas ?? [],
                    faultySets: ($0.nftsets ?? []).compactMap { each in
                        each.fault.map { DaemonCheck.FaultySet(name: each.set, fault: $0) }
                    },
                    faultyFiles: (($0.lists ?? []) + ($0.localNames ?? [])).compactMap(\.fault)
                        + ($0.unusedAccounts ?? []))
            } ?? .none
        state.refusesLoopback = !allowsLoopback
        self.state = state
        places =
            status?.listeners.compactMap { SocketAddress(withZone: $0) } ?? settings.settings.server.listen.addresses
        ourselves = ListenAddresses(
            places.map { ($0.address, $0.port) }, interfaces: Interfaces.addresses())
        sources = settings.sources(status?.systemServers, without: ourselves)
        providers = ProviderDialling(
            settings.usable, now: Clock.wallMilliseconds() / 1000, releasedAt: programReleasedAt)
    }

    func run() throws(SystemError) -> DoctorReport {
        let daemon =
            control == .startedByQuestions
            ? [] : places.map { DaemonQuestions(place: $0, allowsLoopback: allowsLoopback) }
        let nameservers = sources.list.servers.compactMap { NameserverQuestions($0) }
        let forwarding = ResolvConfCheck.otherServers(MachineFiles.resolvConfFile(), without: ourselves)
            .compactMap { ForwardingQuestion($0) }
        let named = settings.usable.nameservers.flatMap { nameserver in
            nameserver.servers.compactMap { NamedServerQuestions($0, of: nameserver) }
        }
        let asked =
            daemon.flatMap(\.checks) + nameservers.flatMap(\.checks) + forwarding.map(\.check)
            + named.flatMap(\.checks)
        let before = countedQueries
        try NetworkChecks(checks: asked + providers.checks).run()
        var state = self.state
        if let before, let after = countedQueries {
            let answered = daemon.flatMap { $0.listener.replies }.count { $0.reply == .ours }
            state.foreignReplies = max(0, answered - (after - before))
        }
        let resolvConf = resolvConf(Set(forwarding.filter(\.isForwarded).map(\.server)))
        let daemonCheck = DaemonCheck(
            control: control, socket: socket ?? "", listeners: daemon.map(\.listener),
            state: state)
        let findings =
            settings.check.findings + daemonCheck.findings + portCheck(daemon).findings
            + resolvConf.findings + switches.findings + providers.clock.findings + providers.authorities.findings
            + keyExchange.findings + providers.check.findings
            + NameserverCheck(servers: nameservers.map(\.server), named: named.map(\.server)).findings
            + fleet.findings + providers.routes.findings + buffers(isUp: daemonCheck.isUp).findings + files.findings
            + container(isUp: daemonCheck.isUp, resolvConf).findings + rewriters(resolvConf)
        return DoctorReport(findings)
    }

    private var keyExchange: KeyExchangeCheck {
        KeyExchangeCheck(
            isPostQuantum: TLSContext.hasGroup(TLSContext.postQuantumGroup), version: TLSContext.libraryVersion,
            hasSecureProviders: settings.usable.providers.contains(where: \.url.isSecure))
    }

    private static func ask(_ socket: String?) -> (DaemonCheck.Control, StatusReport?) {
        guard let socket else { return (.none, nil) }
        do throws(SystemError) {
            let answer = try LocalExchange.ask(
                "status --json", at: socket, timeout: controlTimeout, maxBytes: maxStatusBytes)
            guard let status = StatusReport(answer: answer) else { return (.silent, nil) }
            return (.answers, status)
        } catch {
            if error.isPermissionDenied { return (.denied, nil) }
            return (error.call == "connect" ? .absent(error.description) : .silent, nil)
        }
    }

    /// The daemon's count of queries; nil if the daemon does not answer.
    private var countedQueries: Int? {
        guard case .answers = control, let socket else { return nil }
        let answer = try? LocalExchange.ask(
            "stats --json", at: socket, timeout: Examination.controlTimeout, maxBytes: Examination.maxStatusBytes)
        return answer.flatMap { StatsReport(answer: $0)?["queries.total"] }
    }

    /// Returns the fleet's report; nil if the daemon does not know the command, or its answer is no report.
    private static func fleet(_ socket: String?) -> FleetReport? {
        guard let socket else { return nil }
        let answer = try? LocalExchange.ask(
            "fleet --json", at: socket, timeout: controlTimeout, maxBytes: maxFleetBytes)
        return answer.flatMap { FleetReport(answer: $0) }
    }

    /// Searches for the process that holds a port, only if the daemon does not answer there.
    private func portCheck(_ questions: [DaemonQuestions]) -> PortCheck {
        var holdings: [PortCheck.Holding] = []
        for question in questions {
            for (check, reply) in [(question.udp, question.listener.udp), (question.tcp, question.listener.tcp)]
            where reply != .ours {
                let kind: PortHolder.Transport = check.transport == .udp ? .udp : .tcp
                let holder = PortHolder.describe(question.place, kind)
                guard holder != nil || reply == .foreign else { continue }
                var holding = PortCheck.Holding(
                    place: "\(question.place)", transport: check.transport.rawValue, holder: holder)
                holding.isForeign = reply == .foreign
                holdings.append(holding)
            }
        }
        return PortCheck(places: places.map { "\($0)" }, holdings: holdings, isSocketUnitUp: isSocketUnitUp)
    }

    private func resolvConf(_ forwarders: Set<Nameserver>) -> ResolvConfCheck {
        ResolvConfCheck(
            file: MachineFiles.resolvConfFile(), ourselves: ourselves,
            ourPlace: places.first { $0.port == Nameserver.standardPort }.map { "\($0.address)" },
            sources: sources, resolvedServers: MachineFiles.bytes(MachineFiles.resolvedServers),
            forwarders: forwarders,
            isTakenOver: MachineFiles.exists(MachineFiles.takeoverRecord),
            isImmutable: FileStatus.isImmutable(MachineFiles.resolvConf), isMounted: isResolvConfMounted)
    }

    private var isResolvConfMounted: Bool {
        MountTable.points().contains(MachineFiles.resolvConf)
    }

    private var isResolvedOurs: Bool {
        let servers = MachineFiles.bytes(MachineFiles.resolvedServers)
        return NameserverList(resolvConf: servers, without: ourselves).omitted.contains { $0.why == .ourselves }
    }

    private var switches: NSSwitchCheck {
        let path = "/etc/nsswitch.conf"
        return NSSwitchCheck(
            text: MachineFiles.exists(path) ? MachineFiles.bytes(path) : nil,
            hasResolved: MachineFiles.exists("/run/systemd/resolve/io.systemd.Resolve"), isResolvedOurs: isResolvedOurs)
    }

    private func buffers(isUp: Bool) -> BufferCheck {
        let requested = Int(DatagramSocket.receiveBufferBytes)
        return BufferCheck(
            allowedBytes: MachineFiles.number("/proc/sys/net/core/rmem_max") ?? requested, requestedBytes: requested,
            lostDatagrams: isUp ? DatagramLoss.count(at: places) : 0)
    }

    private var files: FileCheck {
        let units = ["/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system"]
        let named = settings.settings.server.user
        let name = named ?? "httpdnsd"
        let user = FileCheck.User(
            name: name, passwd: MachineFiles.text("/etc/passwd"), group: MachineFiles.text("/etc/group"))
        let isInstalled = units.contains { MachineFiles.exists("\($0)/httpdnsd.service") }
        return FileCheck(
            user: user, userName: name, isUserNeeded: named != nil || isInstalled, places: settings.places)
    }

    private func container(isUp: Bool, _ resolvConf: ResolvConfCheck) -> ContainerCheck {
        ContainerCheck(
            kind: MachineFiles.containerKind(), isResolvConfMounted: isResolvConfMounted,
            leadsToUs: resolvConf.leadsToUs,
            firstFreePort: MachineFiles.number("/proc/sys/net/ipv4/ip_unprivileged_port_start") ?? 0,
            lowestPort: places.map { Int($0.port) }.min() ?? 0,
            canBindLowPorts: ContainerCheck.canBindLowPorts(MachineFiles.text("/proc/self/status")), isUp: isUp)
    }

    private func rewriters(_ check: ResolvConfCheck) -> [Finding] {
        guard check.leadsToUs, let survey = try? SystemFiles.survey() else { return [] }
        return survey.rewriters.map { Finding(.warning, .rewriters, $0.text, remedy: $0.remedy) }
    }
}
