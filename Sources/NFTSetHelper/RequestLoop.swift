// Main loop of the helper: answers requests, and reports changes of the ruleset.

import DNSWire
import Glibc
import LinuxIO
import SetFeed

final class RequestLoop {
    /// Bound on connections: the daemon's, and the next daemon's while the former ends.
    private static let maxConnections = 4
    /// Time without a change before a report. A change of the ruleset comes in many messages; one report follows them.
    private static let quietTime: Duration = .milliseconds(50)
    /// Pause between two reports. Each report makes the daemon send the addresses in its cache; a program that changes
    /// the sets all the time must not keep the daemon busy.
    private static let reportPause: Duration = .seconds(1)
    private static let requestsAtOnce = 16
    /// Bound on users whose refused connections are logged.
    private static let maxLogged = 16

    private let listener: PacketListener
    private let listed: ListedSets
    private let ruleset: Ruleset
    private let monitor: RulesetMonitor
    private var connections: [PacketSocket] = []
    private var loggedIDs: Set<UInt32> = []
    /// When a change is reported; nil: there is none.
    private var reportAt: Instant?
    private var reportedAt: Instant?

    init(_ listener: PacketListener, _ listed: ListedSets) throws(HelperFailure) {
        (self.listener, self.listed) = (listener, listed)
        monitor = try RulesetMonitor()
        ruleset = try Ruleset()
    }

    /// Serves until a signal ends it.
    func run() throws(HelperFailure) {
        while true {
            let descriptors = [listener.descriptor.raw, monitor.descriptor] + connections.map { $0.descriptor.raw }
            var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            do throws(SystemError) {
                let milliseconds = reportAt.map { Clock.milliseconds(from: Clock.now(), to: $0) } ?? -1
                try SystemCall.run("poll") { unsafe poll(&entries, nfds_t(entries.count), milliseconds) }
            } catch {
                throw HelperFailure("\(error)")
            }
            if entries[1].revents != 0 { watchChanges() }
            let ready = zip(connections, entries.dropFirst(2)).filter { $1.revents != 0 }.map(\.0)
            for connection in ready where !serve(connection) { connections.removeAll { $0 === connection } }
            if entries[0].revents != 0 { accept() }
            report(now: Clock.now())
        }
    }

    private func accept() {
        guard let (connection, peer) = try? listener.accept() else { return }
        if let reason = listed.refusal(ofUserID: peer.userID, now: Clock.now()) {
            tell(of: peer.userID, reason)
            return
        }
        if connections.count == RequestLoop.maxConnections { connections.removeFirst() }
        connections.append(connection)
    }

    /// Logs a refused connection once for each user: the daemon tries again every few seconds.
    private func tell(of userID: UInt32, _ reason: String) {
        guard loggedIDs.count < RequestLoop.maxLogged, loggedIDs.insert(userID).inserted else { return }
        HelperProgram.say("a connection of user ID \(userID) was refused: \(reason)")
    }

    /// Returns false if the connection is to be closed: its peer has gone, does not read, or breaks the protocol.
    private func serve(_ connection: PacketSocket) -> Bool {
        for _ in 0..<RequestLoop.requestsAtOnce {
            guard let received = try? connection.receive(maxBytes: SetRequest.maxBytes) else { return false }
            switch received {
            case .nothing: return true
            case .ended: return false
            case .message(let bytes):
                guard let request = SetRequest(bytes) else {
                    HelperProgram.say("a request that is malformed was refused, and the connection closed")
                    return false
                }
                guard (try? connection.send(reply(to: request).bytes)) == true else { return false }
            }
        }
        return true
    }

    private func reply(to request: SetRequest) -> SetReply {
        guard listed.names(request.set, now: Clock.now()) else { return .done(number: request.number, .notListed) }
        return ruleset.reply(to: request)
    }

    private func watchChanges() {
        if monitor.takeChanges(of: listed.sets, without: ruleset.port) {
            let quiet = Clock.now() + RequestLoop.quietTime
            reportAt = reportedAt.map { max(quiet, $0 + RequestLoop.reportPause) } ?? quiet
        }
    }

    private func report(now: Instant) {
        guard let reportAt, reportAt <= now else { return }
        (self.reportAt, reportedAt) = (nil, now)
        connections.removeAll { (try? $0.send(SetReply.rulesetChanged.bytes)) != true }
    }
}
