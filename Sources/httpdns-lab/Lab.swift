// Answers a request: selects provider and dialect, resolves the questions, and finds the fault. Uses no sockets.

package import DNSWire
package import HTTPDNS
import Synchronization

package final class Lab: Sendable {
    struct State: Sendable {
        var zone: Zone
        var faults = FaultTable()
        var counters = Counters()
        /// Incremented by each reset; waiting requests compare it.
        var resets = 0
    }

    /// Requests arrive on many threads; each takes the lock briefly for lookups.
    private let state: Mutex<State>
    private let original: Zone

    /// The provider of a request without a `/p/NAME` prefix.
    package static let defaultProvider = "default"

    package init(_ zone: Zone) {
        original = zone
        state = Mutex(State(zone: zone))
    }

    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Restores zone, faults and counters to the initial state, and releases hanging requests.
    package func reset() {
        state.withLock { state in
            state = State(zone: original, resets: state.resets + 1)
        }
    }

    /// Incremented by each reset.
    package var resets: Int { state.withLock { $0.resets } }

    /// Returns the reply, and the fault that the listener must carry out. Faults of the content are in the reply
    /// already.
    package func respond(to request: HTTPRequest, in context: DialectContext) -> (reply: HTTPReply, fault: Fault?) {
        let (provider, path) = Lab.provider(in: URLQuery.path(of: request.url))
        let general = state.withLock { state in
            state.counters.note(request)
            return state.faults.fault(provider: provider, name: nil)
        }
        var now = context
        if case .clock(let seconds) = general { now = context.later(bySeconds: seconds) }
        var (reply, fault) = respond(to: request, at: path, of: provider, in: now)
        reply.date(now)
        return (reply, fault)
    }

    private func respond(
        to request: HTTPRequest, at path: Substring, of provider: String, in context: DialectContext
    ) -> (reply: HTTPReply, fault: Fault?) {
        if let reply = AliCloudNodes.labReply(to: request, at: path) {
            let fault = state.withLock { state in
                state.counters.count(provider: provider, questions: [])
                return state.faults.fault(provider: provider, name: nil)
            }
            return (reply, fault)
        }
        guard let dialect = request.labDialect(at: path) else {
            return (HTTPReply(status: 404, body: Array("no dialect at this path\n".utf8)), nil)
        }
        do throws(DialectError) {
            let asked = try dialect.questions(from: request, in: context)
            let (resolutions, fault) = state.withLock { state in
                state.counters.count(provider: provider, questions: asked)
                // A fault of one name affects the whole request, because its names share one reply.
                let faults = asked.compactMap { state.faults.fault(provider: provider, name: $0.name) }
                return (asked.map { state.zone.resolve($0) }, faults.first)
            }
            let (questions, answers) = Falsehood.claims(under: fault, asked, resolutions)
            return (dialect.reply(to: questions, with: answers, in: context), fault)
        } catch {
            return (dialect.reply(to: error), nil)
        }
    }

    /// `/p/NAME/d` is the provider NAME at `/d`.
    private static func provider(in path: Substring) -> (name: String, path: Substring) {
        guard path.hasPrefix("/p/") else { return (defaultProvider, path) }
        let rest = path.dropFirst(3)
        let name = rest.prefix { $0 != "/" }
        return (String(name), rest[name.endIndex...])
    }
}

extension DialectContext {
    fileprivate func later(bySeconds seconds: Int64) -> DialectContext {
        DialectContext(
            unixMilliseconds: unixMilliseconds + seconds * 1000, nonce: makeNonce(), clientSubnet: clientSubnet)
    }
}

extension HTTPReply {
    /// Uses the provider's clock; libmicrohttpd would use the machine's.
    fileprivate mutating func date(_ context: DialectContext) {
        var dated = headers
        dated.add("Date", HTTPDate(unixSeconds: context.unixMilliseconds / 1000).description)
        self = HTTPReply(status: status, headers: dated, body: body)
    }
}
