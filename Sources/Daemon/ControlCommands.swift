// Carries out what a line on the control socket asks for, if its sender may ask for that.

import AnswerCache
import Control
import DNSWire
import LinuxIO
import Resolver

struct ControlCommands {
    let statistics: Statistics
    let resolving: ResolvingLoop
    let cache: AnswerCache
    let now: Instant

    /// Everything that is sent back for one request line.
    func answer(to line: [UInt8], from peer: LocalSocket.Peer) -> ControlAnswer {
        do throws(Refusal) {
            let request = try Request(line: line)
            let own = Machine.user
            let rights = Rights(userID: own.userID, groupID: own.groupID)
            if let refusal = rights.refusal(of: request, userID: peer.userID, groupID: peer.groupID) { throw refusal }
            return carryOut(request)
        } catch {
            return whole(.refusal(error), asJSON: error.wantsJSON)
        }
    }

    private func carryOut(_ request: Request) -> ControlAnswer {
        switch request.command {
        case .help: return whole(.help, asJSON: request.wantsJSON)
        case .stats: return whole(.stats(statistics.stats), asJSON: request.wantsJSON)
        case .status: return whole(.status(statistics.status), asJSON: request.wantsJSON)
        case .cache(let view, let scope):
            let listing = CacheListing(view, scope, wantsJSON: request.wantsJSON)
            return .pieces(
                AnyIterator(CachePieces(of: cache, listing, nowMilliseconds: Clock.millisecondsSinceBoot(now))))
        case .flush(let scope): return whole(.removed(flush(scope)), asJSON: request.wantsJSON)
        case .prefetch(let names):
            resolving.prefetch(names, now: now)
            return whole(.prefetching(names.count), asJSON: request.wantsJSON)
        case .httpdns, .providers: return whole(.refusal(Refusal("not available")), asJSON: request.wantsJSON)
        }
    }

    /// Removes entries, and what is remembered of failures: who flushes wants the next question to be asked upstream.
    /// - Returns: how many entries went.
    private func flush(_ scope: QuestionScope) -> Int {
        resolving.handle(.forgotten(scope), now: now)
        resolving.store?.forget(scope, now: now)
        return cache.remove(scope)
    }

    private func whole(_ reply: Control.Reply, asJSON: Bool) -> ControlAnswer {
        .pieces(AnyIterator(CollectionOfOne(reply.rendered(asJSON: asJSON)).makeIterator()))
    }
}
