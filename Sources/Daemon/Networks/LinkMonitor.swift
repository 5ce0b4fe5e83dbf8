// Follows the nameservers and domains that the machine's links announce: asks NetworkManager and systemd-resolved over
// the system bus and reads the files of systemd-networkd. Does nothing before a rule needs links.

import DNSWire
import LinkDNS
import LinuxIO
import Network
import Resolver

final class LinkMonitor: TimedPart {
    let timer = PartTimer()
    private(set) var isOn = false

    private let loop: EventLoop
    private let outbox: Outbox
    private var bus: SystemBus?
    private var busWatch: EventLoop.Registration?
    private var isBusReady = false { didSet { timer.changed() } }
    private var busDeadline: Instant? { didSet { timer.changed() } }
    /// When to connect again; nil while connected.
    private var retryAt: Instant? { didSet { timer.changed() } }
    /// When systemd-resolved is asked again.
    private var rereadAt: Instant? { didSet { timer.changed() } }
    private var rereads = 0
    private var files: FileWatch?
    private var filesWatch: EventLoop.Registration?
    /// Reports from the bus, by program. They are kept while the bus is not connected.
    private var ofManager = HeldReports() { didSet { timer.changed() } }
    private var ofResolved = HeldReports() { didSet { timer.changed() } }
    private var reportsOfFiles: [LinkReport] = []

    private static let properties = [
        LinkReport.ofNetworkManager, LinkReport.serversOfResolved, LinkReport.domainsOfResolved,
    ]
    private static let busSocket = "/run/dbus/system_bus_socket"
    /// Pause before another attempt to connect.
    private static let retryPause: Duration = .seconds(5)
    /// systemd-resolved reports a change of a link's servers but not of its domains. Programs set servers and domains
    /// one after the other, so systemd-resolved is asked again after these pauses; the last pause repeats. A reply
    /// costs less than 1 ms.
    private static let rereadPauses: [Duration] = [.milliseconds(200), .seconds(1), .seconds(5), .seconds(30)]
    /// Bound on links with nameservers. Each is an upstream with counters of its own, as the operator's nameservers
    /// are.
    private static let maxLinks = 16
    private static let maxFiles = 256

    init(loop: EventLoop, outbox: Outbox) { (self.loop, self.outbox) = (loop, outbox) }

    /// Whether the first reports are still to come.
    var isWaiting: Bool { bus.map { !$0.isComplete } ?? false }

    var nextDeadline: Instant? {
        if isBusReady { return .atOnce }
        let ofReports = Instant.earliest(ofManager.endsAt, ofResolved.endsAt)
        return Instant.earliest(Instant.earliest(retryAt, ofReports), Instant.earliest(busDeadline, rereadAt))
    }

    /// Begins or ends to follow the links. While they are not followed, no link announces a domain.
    func setOn(_ isNeeded: Bool, now: Instant) {
        guard isNeeded != isOn else { return }
        isOn = isNeeded
        outbox.changed(.links)
        if isNeeded {
            watchFiles()
            readFiles()
            connect(now: now)
        } else {
            disconnect()
            if let filesWatch { loop.unwatch(filesWatch) }
            (files, filesWatch, retryAt) = (nil, nil, nil)
            (ofManager, ofResolved, reportsOfFiles) = (HeldReports(), HeldReports(), [])
        }
    }

    func timePassed(now: Instant) {
        guard isOn else { return }
        if let retryAt, retryAt <= now { connect(now: now) }
        if let rereadAt, rereadAt <= now { readAgain(now: now) }
        if ofManager.timePassed(now: now) { outbox.changed(.links) }
        if ofResolved.timePassed(now: now) { outbox.changed(.links) }
        if isBusReady || busDeadline.map({ $0 <= now }) ?? false { process(now: now) }
    }

    /// Returns the links that announce domains, without the daemon itself as a server.
    ///
    /// - Parameters:
    ///   - listen: the daemon's own addresses.
    ///   - network: tells tunnels and default routes; without it, there are none.
    func links(without listen: [SocketAddress], _ network: NetworkMonitor?) -> [AnnouncingLink] {
        let ourselves = ListenAddresses(listen.map { ($0.address, $0.port) }, interfaces: Interfaces.addresses())
        let reports = LinkReport.joined(ofManager.reports + ofResolved.reports + reportsOfFiles) {
            network?.use(of: $0)?.isTunnel ?? true
        }
        let links = reports.compactMap { report -> AnnouncingLink? in
            let servers = report.servers.map { Nameserver($0, of: report.interface) }
            let usable = NameserverList(servers, without: ourselves).servers
            guard !usable.isEmpty else { return nil }
            let use = network?.use(of: report.interface)
            // The kernel knows first that a tunnel has ended.
            guard network == nil || use != nil else { return nil }
            let (isTunnel, isVPN) = (use?.isTunnel ?? false, report.connection == .vpn)
            return AnnouncingLink(
                interface: report.interface, isSharing: isVPN && !isTunnel && network != nil, servers: usable,
                domains: report.domains, isTunnel: isTunnel || isVPN, hasDefaultRoute: use?.hasDefaultRoute ?? false)
        }
        return Array(links.prefix(LinkMonitor.maxLinks))
    }

    // MARK: bus

    private func connect(now: Instant) {
        do throws(SystemBus.Failure) {
            let bus = try SystemBus(LinkMonitor.properties)
            (self.bus, retryAt) = (bus, nil)
            busWatch = try? loop.watch(bus.descriptor, for: .readable) { [unowned self] _ in isBusReady = true }
            process(now: now)
        } catch {
            disconnected(now: now)
        }
    }

    private func readAgain(now: Instant) {
        rereads += 1
        scheduleReread(now: now)
        do throws(SystemBus.Failure) {
            try bus?.readAgain([LinkReport.serversOfResolved, LinkReport.domainsOfResolved])
            process(now: now)
        } catch {
            disconnected(now: now)
        }
    }

    private func scheduleReread(now: Instant) {
        let pauses = LinkMonitor.rereadPauses
        let isThere = bus?.values[LinkReport.serversOfResolved] != nil
        rereadAt = isThere ? now + pauses[min(rereads, pauses.count - 1)] : nil
    }

    private func process(now: Instant) {
        isBusReady = false
        guard let bus else { return }
        do throws(SystemBus.Failure) {
            let wasComplete = bus.isComplete
            let isChanged = try bus.process()
            if bus.isComplete, isChanged || !wasComplete {
                readBus(bus, now: now)
                rereads = 0
                scheduleReread(now: now)
            }
            // The library counts without suspended time. Its deadlines only end requests.
            busDeadline = bus.deadlineMicroseconds.map {
                now + max(.zero, .microseconds(Int64(clamping: $0)) - Clock.awake())
            }
            let interest = bus.interest
            if let busWatch {
                try? loop.change(busWatch, to: interest.writes ? [.readable, .writable] : .readable)
            }
        } catch {
            disconnected(now: now)
        }
    }

    private func readBus(_ bus: SystemBus, now: Instant) {
        outbox.changed(.links)
        let (servers, domains) = (
            bus.values[LinkReport.serversOfResolved], bus.values[LinkReport.domainsOfResolved]
        )
        ofManager.take(
            bus.values[LinkReport.ofNetworkManager].map { LinkReport.reports(networkManager: $0) }, now: now)
        let resolved = servers.flatMap { servers in
            domains.map {
                LinkReport.reports(resolvedServers: servers, domains: $0) { Interfaces.name(of: $0) }
            }
        }
        ofResolved.take(resolved, now: now)
    }

    private func disconnected(now: Instant) {
        disconnect()
        retryAt = now + LinkMonitor.retryPause
    }

    private func disconnect() {
        if let busWatch { loop.unwatch(busWatch) }
        (bus, busWatch, isBusReady, busDeadline, rereadAt) = (nil, nil, false, nil, nil)
    }

    // MARK: files

    /// Begins to watch the files. Without another watch from the kernel, their changes go unnoticed.
    private func watchFiles() {
        guard let watch = try? FileWatch([LinkReport.networkdDirectory, LinkMonitor.busSocket]) else { return }
        files = watch
        filesWatch = try? loop.watch(watch.descriptor, for: .readable) { [unowned self] _ in filesChanged() }
    }

    private func filesChanged() {
        let changed = (try? files?.takeChangedPaths()) ?? []
        if changed.contains(LinkMonitor.busSocket), bus == nil { retryAt = Clock.now() }
        if changed.contains(LinkReport.networkdDirectory) { readFiles() }
    }

    private func readFiles() {
        outbox.changed(.links)
        let names = Directory.names(in: LinkReport.networkdDirectory).sorted().prefix(LinkMonitor.maxFiles)
        reportsOfFiles = names.compactMap { name in
            guard let interface = Int(name).flatMap({ Interfaces.name(of: $0) }),
                let text = try? TextFile.read(
                    LinkReport.networkdDirectory + name, maxBytes: LinkReport.maxNetworkdBytes)
            else { return nil }
            return LinkReport(networkd: text, interface: interface)
        }
    }
}

extension Nameserver {
    /// Converts a link's server. Only a link-local address needs the interface as zone.
    fileprivate init(_ server: LinkReport.Server, of interface: String) {
        self.init(
            server.address, port: server.port, zone: server.address.isLinkLocal6 ? interface : nil,
            interface: interface)
    }
}
