// Asks nameservers one question: selects servers, sets timeouts and validates replies. Owns no socket and
// no clock; the caller reports events and carries out actions.

import DNSWire
import Resolver

/// Each exchange is one query with its own ID, over a socket of its own or, with TLS, over the server's connection:
///
///     datagram --reply--> finished             (with TLS it begins as a stream)
///        |-- TC ------------------------------> stream to the same server --reply--> finished
///        |-- too many forged replies ---------> likewise, and the datagram's socket is still listened to
///        |-- FORMERR and the like ------------> the same server without EDNS
///        |-- server failure, refused ---------> next server; this one is not asked again
///        `-- no reply, or an ICMP error ------> next server, and this one over TCP at the same time; after
///                                               silence, the exchange stays open for a late reply
///
/// Servers that did not reply are asked in further rounds, the second with a longer wait. The lookup ends with the
/// first usable answer, when no server is left, or at its deadline. Every opened exchange is closed exactly once.
struct NameserverLookup: Sendable {
    enum Event: Equatable, Sendable {
        /// The first event, once.
        case started
        /// A datagram on the exchange's connected socket, or one whole message from its stream.
        case received(ExchangeID, [UInt8])
        /// The query was not sent, was refused (ICMP) or not connected, or the stream ended.
        case failed(ExchangeID, FetchFailure)
        /// The instant in `nextDeadline` has come.
        case timePassed
    }

    enum Action: Equatable, Sendable {
        /// Send from a new socket, connected to the server, with a random port.
        case sendDatagram(ExchangeID, Nameserver, [UInt8])
        /// Connect, and send the message with its length before it; with TLS, over a connection that may be open.
        case openStream(ExchangeID, Nameserver, [UInt8])
        /// Close the socket. Data that still arrive from it are ignored.
        case close(ExchangeID)
        /// The last action.
        case finished(FetchResult)
    }

    /// The number of an exchange, counted up from 0 within one lookup.
    struct ExchangeID: Hashable, Sendable {
        let number: Int
    }

    /// Mismatched replies to one query before it is asked again over a stream. One or two may be late or damaged; a
    /// forger needs thousands.
    static let maxForeignReplies = 8

    let question: Question
    /// Messages that did not match the query of their exchange.
    private(set) var foreignReplies = 0

    private let servers: [Nameserver]
    private let options: NameserverOptions
    private let isTest: Bool
    private let trustsAuthenticData: Bool
    /// Servers that replied without an answer or cannot be reached. The later rounds skip them.
    private var spent: Set<Nameserver> = []
    private var asked: Set<Way> = []
    private var exchanges: [Exchange] = []
    private let deadline: Instant
    private var phase = Phase.new
    /// The next server to ask, counted through all rounds.
    private var turn = 0
    private var lastFailure: FetchFailure?
    /// A server's error reply about the name. It takes precedence over the failure of another server.
    private var nameFailure: NameFailure?

    private enum Phase: Equatable {
        case new
        /// The lookup waits for the newest exchange, until the instant.
        case awaiting(ExchangeID, until: Instant)
        /// All servers were asked; late replies are still accepted until the deadline.
        case lingering
        case finished
    }

    private struct Exchange {
        let id: ExchangeID
        let server: Nameserver
        let queryID: UInt16
        let isStream: Bool
        let hasEDNS: Bool
        let askedAt: Instant
        /// When the next server is asked.
        let patienceEnd: Instant
        var foreignReplies = 0
        var hasReplied = false
        /// The wait is over, or the exchange failed, without a reply.
        var isUnheard = false
        var isOpen = true
    }

    private struct Way: Hashable {
        let server: Nameserver
        let isStream: Bool
    }

    /// - Parameters:
    ///   - servers: the servers in the order to ask; the first `NameserverList.maxServers` count.
    ///   - isTest: the lookup asks each server once, over UDP first even if it replies over TCP only.
    ///   - deadline: the end of the lookup at the latest.
    ///   - trustsAuthenticData: AD is copied from the replies of all servers, over TLS.
    init(
        _ question: Question, servers: [Nameserver], _ options: NameserverOptions = NameserverOptions(),
        isTest: Bool = false, deadline: Instant, trustsAuthenticData: Bool = false
    ) {
        self.question = question
        self.options = options
        self.isTest = isTest
        self.trustsAuthenticData = trustsAuthenticData
        self.servers = Array(servers.prefix(NameserverList.maxServers))
        self.deadline = deadline
    }

    /// When `timePassed` is due; nil before the start and after the end.
    var nextDeadline: Instant? {
        switch phase {
        case .new, .finished: nil
        case .awaiting(_, let until): min(until, deadline)
        case .lingering: deadline
        }
    }

    /// - Parameter standings: the known state of the servers; the lookup adds its results.
    mutating func handle(
        _ event: Event, now: Instant, _ standings: inout NameserverStandings,
        randomness: inout some RandomNumberGenerator, actions: inout [Action]
    ) {
        guard phase != .finished else { return }
        switch event {
        case .started:
            precondition(phase == .new, "a lookup starts once")
            askNext(now, &standings, &randomness, &actions)
        case .received(let id, let message): received(message, on: id, now, &standings, &randomness, &actions)
        case .failed(let id, let failure):
            guard let index = openExchange(id) else { return }
            giveUp(index, failure, now, &standings, &randomness, &actions)
        case .timePassed:
            guard let due = nextDeadline, now >= due else { return }
            lastFailure = .timeout
            if case .awaiting(let id, let until) = phase, until <= now {
                unheard(id.number, now, &standings, &randomness, &actions)
            }
            askNext(now, &standings, &randomness, &actions)
        }
    }

    // MARK: replies

    private mutating func received(
        _ message: [UInt8], on id: ExchangeID, _ now: Instant, _ standings: inout NameserverStandings,
        _ randomness: inout some RandomNumberGenerator,
        _ actions: inout [Action]
    ) {
        guard let index = openExchange(id) else { return }
        do throws(UpstreamReplyError) {
            let isTrusted = trustsAuthenticData && exchanges[index].server.tls != nil
            let answer = try UpstreamReply.answer(
                in: message, to: question, id: exchanges[index].queryID, trustsAuthenticData: isTrusted)
            heard(index, now, &standings)
            finish(.success(answer), &actions)
        } catch {
            if case .foreign = error {} else { heard(index, now, &standings) }
            switch error {
            case .foreign: foreignReply(index, now, &standings, &randomness, &actions)
            case .truncated where exchanges[index].isStream:
                giveUp(index, .garbage, now, &standings, &randomness, &actions)
            case .truncated:
                close(index, &actions)
                askOverStream(index, now, &randomness, &actions)
            case .serverFailure(let code, _) where code.mayBeAboutEDNS && exchanges[index].hasEDNS:
                retryWithoutEDNS(index, now, &randomness, &actions)
            case .serverFailure(let code, let extendedError):
                nameFailure = NameFailure(code, extendedError).combined(with: nameFailure)
                giveUp(index, .server, now, &standings, &randomness, &actions)
            case .lame: giveUp(index, .server, now, &standings, &randomness, &actions)
            case .malformed: giveUp(index, .garbage, now, &standings, &randomness, &actions)
            }
        }
    }

    private mutating func heard(_ index: Int, _ now: Instant, _ standings: inout NameserverStandings) {
        exchanges[index].hasReplied = true
        let server = exchanges[index].server
        // A flood of forged replies may have displaced the true reply.
        let silent = exchanges.first {
            !$0.isStream && $0.server == server && !$0.hasReplied
                && $0.foreignReplies <= NameserverLookup.maxForeignReplies
        }
        standings.replied(
            server, overStream: exchanges[index].isStream, silentSince: silent?.askedAt, now: now)
        // Without the reply of another server, the name itself might be slow.
        for exchange in exchanges where exchange.isUnheard && !exchange.hasReplied && exchange.server != server {
            standings.failed(exchange.server, overStream: exchange.isStream, askedAt: exchange.askedAt, now: now)
        }
    }

    /// Asks a server that did not reply over the other transport, once.
    private mutating func unheard(
        _ index: Int, _ now: Instant, _ standings: inout NameserverStandings,
        _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) {
        let exchange = exchanges[index]
        let server = exchange.server
        let isKnown = standings.usesOnlyStreams(server)
        exchanges[index].isUnheard = true
        guard server.tls == nil, !options.usesStreams, !(isTest && isKnown),
            !asked.contains(Way(server: server, isStream: !exchange.isStream)),
            exchange.isStream || isKnown || standings.takeStreamTrial(server, askedAt: exchange.askedAt, now: now)
        else { return }
        open(
            server, isStream: !exchange.isStream, hasEDNS: exchange.hasEDNS, for: .zero, now, &randomness, &actions)
    }

    /// Handles a reply that does not match. It never ends the wait. Many such replies mean that an attacker guesses
    /// IDs: a stream is safe from that, but the server may have none, so the true reply is still taken from the
    /// datagram's socket, too.
    private mutating func foreignReply(
        _ index: Int, _ now: Instant, _ standings: inout NameserverStandings,
        _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) {
        foreignReplies += 1
        exchanges[index].foreignReplies += 1
        let count = exchanges[index].foreignReplies
        if exchanges[index].isStream {
            if count > NameserverLookup.maxForeignReplies {
                giveUp(index, .garbage, now, &standings, &randomness, &actions)
            }
        } else if count == NameserverLookup.maxForeignReplies + 1 {
            askOverStream(index, now, &randomness, &actions)
        }
    }

    private mutating func askOverStream(
        _ index: Int, _ now: Instant, _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) {
        ask(
            exchanges[index].server, isStream: true, hasEDNS: exchanges[index].hasEDNS,
            for: options.patience(overStream: true), now, &randomness, &actions)
    }

    /// Asks again without EDNS: old forwarders in home routers answer an OPT record with FORMERR (RFC 6891 section 7).
    private mutating func retryWithoutEDNS(
        _ index: Int, _ now: Instant, _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) {
        let (server, isStream) = (exchanges[index].server, exchanges[index].isStream)
        close(index, &actions)
        ask(
            server, isStream: isStream, hasEDNS: false, for: options.patience(overStream: isStream), now, &randomness,
            &actions)
    }

    private mutating func giveUp(
        _ index: Int, _ failure: FetchFailure, _ now: Instant, _ standings: inout NameserverStandings,
        _ randomness: inout some RandomNumberGenerator,
        _ actions: inout [Action]
    ) {
        lastFailure = failure
        close(index, &actions)
        // The server's datagram exchange is under attack, and still open for the true reply.
        let other = exchanges.first { $0.isOpen && !$0.isStream && $0.server == exchanges[index].server }
        if other == nil || !exchanges[index].isStream { spent.insert(exchanges[index].server) }
        if failure.isUnheard { unheard(index, now, &standings, &randomness, &actions) }
        guard isNewest(index) || phase == .lingering else { return }
        if let other, exchanges[index].isStream, other.patienceEnd > now {
            phase = .awaiting(other.id, until: other.patienceEnd)
        } else {
            askNext(now, &standings, &randomness, &actions)
        }
    }

    /// The lookup waits for this exchange before it asks the next server.
    private func isNewest(_ index: Int) -> Bool {
        guard case .awaiting(let id, _) = phase else { return false }
        return id == exchanges[index].id
    }

    // MARK: asking

    private mutating func askNext(
        _ now: Instant, _ standings: inout NameserverStandings,
        _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) {
        let rounds = isTest ? 1 : options.rounds
        while now < deadline, turn < servers.count * rounds {
            let server = servers[turn % servers.count]
            let round = turn / servers.count
            turn += 1
            guard !spent.contains(server) else { continue }
            let isStream =
                server.tls != nil || options.usesStreams || !isTest && standings.usesOnlyStreams(server)
            ask(
                server, isStream: isStream, hasEDNS: true, for: options.patience(round: round, overStream: isStream),
                now, &randomness, &actions)
            return
        }
        phase = .lingering
        guard now >= deadline || !exchanges.contains(where: \.isOpen) else { return }
        finish(nameFailure.map(FetchResult.nameFailed) ?? .failure(lastFailure ?? .unreachable), &actions)
    }

    private mutating func ask(
        _ server: Nameserver, isStream: Bool, hasEDNS: Bool, for patience: Duration, _ now: Instant,
        _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) {
        let exchange = open(
            server, isStream: isStream, hasEDNS: hasEDNS, for: patience, now, &randomness, &actions)
        phase = .awaiting(exchange.id, until: exchange.patienceEnd)
    }

    /// Asks without waiting for the reply before the next server is asked.
    @discardableResult
    private mutating func open(
        _ server: Nameserver, isStream: Bool, hasEDNS: Bool, for patience: Duration, _ now: Instant,
        _ randomness: inout some RandomNumberGenerator, _ actions: inout [Action]
    ) -> Exchange {
        let exchange = Exchange(
            id: ExchangeID(number: exchanges.count), server: server,
            queryID: .random(in: 0...(.max), using: &randomness),
            isStream: isStream, hasEDNS: hasEDNS, askedAt: now, patienceEnd: now + patience)
        exchanges.append(exchange)
        asked.insert(Way(server: server, isStream: isStream))
        let message = UpstreamQuery.message(
            for: question, id: exchange.queryID, payloadSize: hasEDNS ? UInt16(EDNS.ourPayloadBytes) : nil,
            paddedTo: server.tls == nil ? nil : UpstreamQuery.paddingBlockBytes,
            wantsAuthenticData: trustsAuthenticData)
        actions.append(
            isStream ? .openStream(exchange.id, server, message) : .sendDatagram(exchange.id, server, message))
        return exchange
    }

    // MARK: ending

    private func openExchange(_ id: ExchangeID) -> Int? {
        exchanges.indices.contains(id.number) && exchanges[id.number].isOpen ? id.number : nil
    }

    private mutating func close(_ index: Int, _ actions: inout [Action]) {
        exchanges[index].isOpen = false
        actions.append(.close(exchanges[index].id))
    }

    private mutating func finish(_ result: FetchResult, _ actions: inout [Action]) {
        for index in exchanges.indices where exchanges[index].isOpen { close(index, &actions) }
        phase = .finished
        actions.append(.finished(result))
    }
}
