// A fast path over a cache of its own, asked one packet at a time: the work of a serving thread without sockets.

package import DNSWire
package import Serving

package struct ServingStand: ~Copyable {
    package let cache: AnswerCache
    package let serving: ServingState
    private var path: FastPath
    package let partition: Partition

    package static let loopback = Address.v4(0x7F00_0001)
    package static let version = "1.2.3"

    package init(
        limitBytes: Int = 1 << 20, allow: [Prefix] = Prefix.everywhere, partition: Partition = Partition(rawValue: 1),
        gate: ClientRateLimit? = nil
    ) {
        cache = AnswerCache(limitBytes: limitBytes, seed: (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210))
        serving = ServingState(partition, seed: 0x0123_4567_89AB_CDEF)
        path = FastPath(
            cache: cache, access: AccessList(allow), serving: serving, gate: gate, version: ServingStand.version)
        self.partition = partition
    }

    /// Passes the packet to the fast path. The output has exactly the room that the fast path asks for, so one more
    /// byte ends the process.
    package mutating func ask(
        _ packet: [UInt8], from client: Address = ServingStand.loopback, atSeconds seconds: Double = 0,
        over transport: Transport = .udp
    ) -> (outcome: FastPath.Outcome, reply: [UInt8]) {
        var outcome: FastPath.Outcome?
        let room = transport.isStream ? StreamFraming.maxMessageBytes : EDNS.ourPayloadBytes
        let reply = [UInt8](capacity: room) { output in
            outcome = path.respond(
                to: packet.span, from: client, over: transport, nowMilliseconds: Int64(seconds * 1000),
                into: &output)
        }
        return (outcome ?? .dropped(.short), reply)
    }

    package mutating func group(of client: Address, hidesSubnet: Bool = false) -> ClientGroup {
        path.group(of: client, hidesSubnet: hidesSubnet)
    }

    /// Asks again for a question that was handed over, as the main thread does.
    package mutating func askAgain(
        _ query: Query, _ packet: [UInt8], from client: Address, atSeconds seconds: Double
    ) -> (outcome: FastPath.Outcome, reply: [UInt8]) {
        var outcome: FastPath.Outcome?
        let reply = [UInt8](capacity: EDNS.ourPayloadBytes) { output in
            outcome = path.respond(
                to: query, in: packet.span, from: client, nowMilliseconds: Int64(seconds * 1000), into: &output)
        }
        return (outcome ?? .dropped(.short), reply)
    }

    /// The number of this thread's allocations while the fast path answers the packet `count` times into one buffer;
    /// the packets are announced before. The age of cached answers grows from run to run, so that TTLs count down.
    package mutating func allocations(
        answering packet: [UInt8], over transport: Transport = .udp, count: Int, counter: () -> UInt64
    ) -> UInt64 {
        let room = transport.isStream ? StreamFraming.maxMessageBytes : EDNS.ourPayloadBytes
        var allocations: UInt64 = 0
        _ = [UInt8](capacity: room) { output in
            let before = counter()
            for run in 0..<count {
                output.removeAll()
                path.announce(packet.span)
                path.prefetch()
                _ = path.respond(
                    to: packet.span, from: ServingStand.loopback, over: transport, nowMilliseconds: Int64(run),
                    into: &output)
            }
            allocations = counter() - before
        }
        return allocations
    }

    package func keep(
        _ answer: Answer, for question: Question, atSeconds seconds: Double = 0, sourceClass: SourceClass = .provider
    ) {
        cache.store(
            RenderedAnswer(answer, to: question), lifetimeSeconds: answer.ttlSeconds, for: question,
            partition: serving.partition(for: question.clients), sourceClass: sourceClass,
            nowMilliseconds: Int64(seconds * 1000))
    }
}

extension Prefix {
    package static let everywhere = ["0.0.0.0/0", "::/0"].compactMap { Prefix($0) }
}
