// Carries out the probes that the resolver requests: opens, watches, times and ends connections, and reports the
// results. The Resolver module chooses targets and consequences. Each started probe ends once.

import Control
import Crypto
package import DNSWire
package import LinuxIO
package import Resolver
import Telemetry

package final class Probes: TimedPart {
    package let timer = PartTimer()

    /// Limit of probes. The resolver stays below it; each probe holds a descriptor and an OpenSSL connection.
    static let maxRunning = 64

    private let loop: EventLoop
    private let wallMilliseconds: () -> Int64
    private var doubt = ClockDoubt(releasedAt: programReleasedAt)
    private var setup = ProbeSetup.off
    private var connections: [ProbeID: ProbeConnection] = [:] { didSet { timer.changed() } }
    /// Durations from a probe's first packet to its result; refused and abandoned probes are not included.
    private(set) var durations = LatencyHistogram()
    private var finished: [(id: ProbeID, result: ProbeResult)] = []

    /// - Parameter wallMilliseconds: returns the wall time in milliseconds since 1970.
    package init(loop: EventLoop, wallMilliseconds: @escaping () -> Int64 = Clock.wallMilliseconds) {
        self.loop = loop
        self.wallMilliseconds = wallMilliseconds
    }

    /// Sets how probes that begin from now on are made.
    package func configure(_ setup: ProbeSetup) { self.setup = setup }

    var running: Int { connections.count }

    package var nextDeadline: Instant? { connections.values.map(\.deadline).min() }

    /// Starts a probe. It yields one entry of `takeFinished`, possibly before this returns.
    package func start(_ id: ProbeID, _ target: ProbeTarget, now: Instant) {
        precondition(connections[id] == nil, "a probe's number was used twice")
        doubt.read(wallMilliseconds: wallMilliseconds(), now: now)
        guard let terms = setup.terms else { return refuse(id, setup.problem ?? "probes are off") }
        guard connections.count < Probes.maxRunning else { return refuse(id, "too many concurrent probes") }
        let serverName = target.method == .connection ? "" : target.name.serverName
        guard let name = serverName else { return refuse(id, "no certificate can have this name") }
        do throws(SystemError) {
            let socket = try StreamSocket(connectingTo: SocketAddress(target.address, port: target.port))
            let registration = try loop.watch(socket.descriptor.raw, for: .writable) { [unowned self] _ in
                self.ready(id)
            }
            connections[id] = ProbeConnection(
                socket, registration, name: name, port: target.port, by: target.method, terms, now: now)
        } catch {
            finished.append((id, ProbeResult(notConnected: error, isAtOnce: true)))
        }
    }

    /// Notices that the wall clock was set. Call it in each turn of the loop; it reads the clock once a second.
    func readClock(now: Instant) {
        guard doubt.isDue(now) else { return }
        doubt.read(wallMilliseconds: wallMilliseconds(), now: now)
    }

    /// Ends probes that have timed out.
    package func timePassed(now: Instant) {
        let reading = read(now: now)
        let late = connections.filter { $0.value.deadline <= now }
        for (id, connection) in late.sorted(by: { $0.key.number < $1.key.number }) {
            end(id, connection.timedOut(loop, reading), now: now)
        }
    }

    /// Ends all probes: their results would concern another network.
    func abandonAll() {
        for id in connections.keys.sorted(by: { $0.number < $1.number }) {
            end(id, ProbeResult(.unprobed, detail: "abandoned"), now: nil)
        }
    }

    package var hasFinished: Bool { !finished.isEmpty }

    package func takeFinished() -> [(id: ProbeID, result: ProbeResult)] {
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    private func ready(_ id: ProbeID) {
        let reading = read(now: Clock.now())
        guard let result = connections[id]?.proceed(loop, reading) else { return }
        end(id, result, now: reading.now)
    }

    /// - Parameter now: nil if the probe ended without a finding.
    private func end(_ id: ProbeID, _ result: ProbeResult, now: Instant?) {
        let connection = connections.removeValue(forKey: id)
        if let connection, let now { durations.record(connection.startedAt.duration(to: now)) }
        connection?.close(loop)
        finished.append((id, result))
    }

    private func refuse(_ id: ProbeID, _ reason: String) {
        finished.append((id, ProbeResult(.unprobed, detail: reason)))
    }

    private func read(now: Instant) -> ProbeConnection.Reading {
        let wall = wallMilliseconds()
        doubt.read(wallMilliseconds: wall, now: now)
        return ProbeConnection.Reading(now: now, wallSeconds: wall / 1000, isDoubtful: doubt.isDoubtful(now: now))
    }
}
