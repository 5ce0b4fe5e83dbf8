// A provider at run time: the choice of its address, and the end of its connections.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Network
import Resolver
import Settings
import Testing

@testable import Upstreams

@Suite("Provider")
struct ProviderTests {
    private func provider() throws -> Provider {
        let account = try ProviderAccount(Settings.Provider.builtIn[0])
        return Provider(id: ProviderID(1), account, seed: 0)
    }

    private func fail(_ provider: Provider, at endpoint: HTTPEndpoint, isAddress: Bool) {
        provider.failed(.timeout, "time-out", at: endpoint, isAddress: isAddress, now: Clock.now())
    }

    private func chosen(_ provider: Provider) throws -> HTTPEndpoint {
        try #require(provider.chooseEndpoints(now: Clock.now())).first.endpoint
    }

    @Test("an address that fails makes room for the next one, and what is not its fault does not")
    func addresses() throws {
        let provider = try provider()
        let first = try chosen(provider)
        #expect(first.address == "223.5.5.5")
        fail(provider, at: first, isAddress: false)
        #expect(try chosen(provider) == first)
        fail(provider, at: first, isAddress: true)
        #expect(try chosen(provider).address == "223.6.6.6")
        #expect(provider.addressStates.map(\.isWorking) == [false, true])
        #expect(provider.counts.failures == [.timeout: 2] && provider.counts.lastReason == "time-out")
    }

    @Test("a request that fails in part has been answered, and every request counts once")
    func results() throws {
        let provider = try provider()
        let endpoint = try chosen(provider)
        fail(provider, at: endpoint, isAddress: false)
        provider.counts.failedInPart(.server)
        provider.replied(nil, at: endpoint, after: .milliseconds(3), now: Clock.now())
        #expect(provider.counts.failedRequests == [.timeout: 1] && provider.counts.answeredRequests == 1)
        #expect(provider.counts.failures == [.timeout: 1, .server: 1])
    }

    @Test("success is the share of the last 64 requests, and only an answer for some name counts")
    func success() throws {
        let provider = try provider()
        let endpoint = try chosen(provider)
        #expect(provider.counts.latest.share == nil)
        for _ in 0..<5 { fail(provider, at: endpoint, isAddress: false) }
        #expect(provider.counts.latest.share == 0)
        provider.reset()
        for _ in 0..<5 { provider.replied(.server, at: endpoint, after: .milliseconds(3), now: Clock.now()) }
        #expect(provider.counts.latest.share == 0 && provider.counts.failedRequests[.server] == 5)
        for _ in 0..<3 { provider.replied(nil, at: endpoint, after: .milliseconds(3), now: Clock.now()) }
        #expect(provider.counts.latest.share == 0.375)
        for _ in 0..<64 { provider.replied(nil, at: endpoint, after: .milliseconds(3), now: Clock.now()) }
        #expect(provider.counts.latest.share == 1)
    }

    @Test("without a setting, the budget admits refreshes after an outage as fast as the resolver schedules them")
    func refreshesAfterOutage() throws {
        #expect(Bounds.retryStep * (try provider().traits.budgetPerSecond) >= .seconds(1))
    }

    @Test("clients that hide their subnet make every provider get length 0, whatever the settings say")
    func hiddenSubnet() throws {
        let client = try #require(Address("93.184.216.34"))
        let hidden = [ClientGroup(view: 0, hidesSubnet: true), ClientGroup(view: 1, hidesSubnet: true)]
        for (setting, told) in [
            ("", nil), ("203.0.113.0/24", "203.0.113.0/24"), ("auto", "93.184.216.0/24"), ("::/0", "::/0"),
        ] {
            let text = """
                [[provider]]
                name = "p"
                dialect = "json"
                url = "http://192.0.2.1/resolve"
                client-subnet = "\(setting)"
                """
            let settings = try Settings.parse(bytes: Array(text.utf8), file: "test")
            let provider = Provider(id: ProviderID(1), try ProviderAccount(settings.providers[0]), seed: 0)
            #expect(provider.subnetSent(for: ClientGroup(of: client))?.description == told)
            for group in hidden { #expect(provider.subnetSent(for: group) == .nowhere) }
        }
    }

    private func account(_ names: String, scheme: String = "https") throws -> Provider {
        let text = """
            [[provider]]
            name = "paid"
            dialect = "baidu"
            url = "\(scheme)://192.0.2.1/v4/resolve"
            addresses = ["192.0.2.1", "192.0.2.2"]
            account = "1"
            key-file = "/k"
            \(names)
            """
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "test").providers[0]
        return Provider(id: ProviderID(1), try ProviderAccount(settings), seed: 0)
    }

    /// Lets a request for each name fail at all addresses; returns whether each failure is an outage.
    private func outages(of provider: Provider, _ names: String...) throws -> [Bool] {
        try names.map { name in
            let failed = provider.endpoints
            return provider.gaveNoUsableReply(about: try #require(Name(name)), at: failed, now: Clock.now())
        }
    }

    @Test("three names in a row without a usable reply from any address are an outage of an account with one domain")
    func outage() throws {
        let provider = try account(#"names = ["shop.example"]"#)
        #expect(
            try outages(of: provider, "a.shop.example", "a.shop.example", "b.shop.example") == [false, false, false])
        #expect(provider.addressStates.map(\.isWorking) == [true, true])
        #expect(try outages(of: provider, "c.shop.example", "a.shop.example") == [true, true])
        #expect(provider.isOutOfOrder && !provider.hasWorkingAddress)
        provider.replied(nil, at: provider.endpoints[0], after: .milliseconds(3), now: Clock.now())
        #expect(!provider.isOutOfOrder && provider.hasWorkingAddress)
        #expect(try outages(of: provider, "c.shop.example", "d.shop.example") == [false, false])
    }

    @Test("one name is all that some accounts have; names of one domain are not all that a shared provider has")
    func subjects() throws {
        #expect(try outages(of: account(#"names = ["=shop.example"]"#), "shop.example") == [true])
        let shared = try account("")
        #expect(try outages(of: shared, "a.shop.example", "b.shop.example", "c.shop.example").allSatisfy { !$0 })
        #expect(try outages(of: shared, "one.example", "two.example") == [false, true])
    }

    @Test("the resolver hears that all names fail, unless a captive portal may have replied")
    func outageOfAllNames() throws {
        let (secure, plain) = try (
            account(#"names = ["a.example"]"#), account(#"names = ["a.example"]"#, scheme: "http")
        )
        let failures: [(FetchFailure, FetchFailure, FetchFailure)] = [
            (.status, .server, .server), (.garbage, .server, .garbage), (.redirected, .redirected, .redirected),
        ]
        for (failure, overTLS, overTCP) in failures {
            #expect(secure.failureOfAllNames(.failure(failure)) == .failure(overTLS))
            #expect(plain.failureOfAllNames(.failure(failure)) == .failure(overTCP))
            #expect(try account("").failureOfAllNames(.failure(failure)) == .failure(failure))
        }
    }

    @Test("after a reset no address is left alone")
    func reset() throws {
        let provider = try provider()
        fail(provider, at: try chosen(provider), isAddress: true)
        provider.resetAddresses()
        #expect(provider.addressStates.map(\.isWorking) == [true, true])
        #expect(try chosen(provider).address == "223.5.5.5")
    }

    @Test("a list of nodes goes before the settings' addresses, which stand in when all nodes fail")
    func nodes() throws {
        let provider = try provider()
        let old = try chosen(provider)
        let nodes = [("203.0.113.1", nil), ("203.0.113.2", 8443)].compactMap { text, port in
            Address(text).flatMap { provider.account.endpoint($0, port: port) }
        }
        #expect(provider.setEndpoints(nodes, fallback: provider.configuredEndpoints))
        #expect(!provider.setEndpoints(nodes, fallback: provider.configuredEndpoints))
        #expect(provider.endpoints.map(\.address) == ["203.0.113.1", "203.0.113.2", "223.5.5.5", "223.6.6.6"])
        #expect(provider.endpoints.map(\.port) == [443, 8443, 443, 443])
        #expect(Set(provider.endpoints.map(\.host)) == [old.host])
        fail(provider, at: old, isAddress: true)
        #expect(provider.addressStates.map(\.isWorking) == [true, true, false, true])
        for _ in 0..<2 {
            let node = try chosen(provider)
            #expect(provider.endpoints.prefix(2).contains(node))
            fail(provider, at: node, isAddress: true)
        }
        #expect(try chosen(provider).address == "223.6.6.6")
        #expect(provider.configuredEndpoints.first == old)
    }

    @Test("addresses that stay keep their failures, and the one in use stays in use")
    func otherAddresses() throws {
        let provider = try provider()
        let configured = provider.configuredEndpoints
        fail(provider, at: configured[0], isAddress: true)
        #expect(try chosen(provider) == configured[1] && provider.hasWorkingAddress)
        let new = try #require(Address("203.0.113.1").flatMap { provider.account.endpoint($0) })
        #expect(provider.setEndpoints([new, configured[1], configured[0]], fallback: []))
        #expect(try chosen(provider) == configured[1])
        #expect(provider.addressStates.map(\.isWorking) == [true, true, false])
        #expect(provider.setEndpoints([configured[0]], fallback: []) && !provider.hasWorkingAddress)
        #expect(provider.setEndpoints([configured[0], new], fallback: []) && provider.hasWorkingAddress)
        provider.setReach(Reachability(reach: NetworkReach(prefixes: [try #require(Prefix("223.0.0.0/8"))])))
        #expect(!provider.hasWorkingAddress, "no route leads to the other one")
        #expect(provider.setEndpoints([], fallback: []))
        #expect(provider.chooseEndpoints(now: Clock.now()).map(\.first.endpoint) == nil && !provider.hasWorkingAddress)
    }

    @Test("a listed node of Tencent's has a certificate for its own address, and not for that of the URL")
    func ownCertificates() throws {
        var settings = Settings.Provider.builtIn[0]
        settings.dialect = .dnspodHTTPS
        settings.url = try #require(Settings.ProviderURL("https://119.29.29.99/d"))
        #expect(try ProviderAccount(settings).nodesHaveOwnCertificates)
        settings.url = try #require(Settings.ProviderURL("https://httpdns.example/d"))
        #expect(try !ProviderAccount(settings).nodesHaveOwnCertificates)
    }

    @Test(
        "which failures speak of the address that was dialled",
        arguments: [
            (TransferFailure.refused, true), (.unreachable, true), (.unacknowledged, true), (.timeout, true),
            (.tls("expired"), true), (.reset, true), (.garbage("gzip"), false), (.oversized, false),
            (.networkChanged, false), (.busy, false),
        ])
    func addressFailures(failure: TransferFailure, isAddress: Bool) {
        #expect(failure.isAddress == isAddress)
    }

    @Test("open connections are distrusted until they are too old to be used")
    func distrust() throws {
        let provider = try provider()
        let now = Clock.now()
        #expect(!provider.distrustsConnections(now: now))
        provider.distrustConnections(now: now)
        #expect(provider.distrustsConnections(now: now + .seconds(10) - .milliseconds(1)))
        #expect(!provider.distrustsConnections(now: now + .seconds(10)))
    }

    @Test("a request goes to an endpoint that did not fail the same question, if a route leads there")
    func otherEndpoint() throws {
        let provider = try provider()
        let first = try chosen(provider)
        let (second, others, _) = try #require(
            provider.chooseEndpoints(avoiding: [first], now: Clock.now()))
        #expect(second.endpoint.address == "223.6.6.6" && others.isEmpty)
        #expect(provider.hasEndpoint(otherThan: [first]) && !provider.hasEndpoint(otherThan: [first, second.endpoint]))
        provider.contradicted(first, now: Clock.now())
        #expect(provider.addressStates.map(\.isWorking) == [false, true])
    }

    @Test(
        "which errors another node may not have",
        arguments: [
            (DialectError.status(500), true), (.status(503), true), (.garbage("HTML"), true), (.wrongQuestion, true),
            (.wrongNode, true), (.status(404), false), (.status(403), false), (.clock, false), (.account("x"), false),
            (.forbidden, false), (.notServed, false),
            (.throttled(retryAfterSeconds: nil), false), (.serverFailure(.serverFailure), false),
        ])
    func nodeErrors(error: DialectError, otherNodeMayAnswer: Bool) {
        #expect(error.otherNodeMayAnswer == otherNodeMayAnswer)
    }

    @Test("a name that the account does not have is no failure of the provider")
    func foreignName() {
        #expect(FetchResult(Result<Answer, DialectError>.failure(.notServed)) == .notServed)
        #expect(FetchResult(Result<Answer, DialectError>.failure(.forbidden)) == .failure(.status))
    }

    @Test("the certificate of Baidu's addresses is for the vendor's name")
    func vendorName() throws {
        var settings = Settings.Provider.builtIn[0]
        settings.dialect = .baidu
        settings.url = try #require(Settings.ProviderURL("https://180.76.76.200/v4/resolve"))
        let literal = try ProviderAccount(settings)
        let address = try #require(Address("180.76.76.200"))
        #expect(literal.endpoint(address)?.verifyName == "httpdns.baidubce.com")
        settings.verifyName = "own.example"
        #expect(try ProviderAccount(settings).endpoint(address)?.verifyName == "own.example")
    }

    @Test(
        "a policy of a provider that serves other names concerns the name, until three names in a row are refused")
    func forbiddenNames() throws {
        let now = Clock.now()
        let provider = try provider()
        let refusal = Result<Answer, DialectError>.failure(.status(403))
        let names = try ["a.example", "b.example", "c.example", "d.example"].map { try #require(Name($0)) }
        func results(at now: Instant) -> [FetchResult] {
            names.map { provider.result(refusal, for: $0, isClockRight: true, now: now) }
        }
        #expect(results(at: now).allSatisfy { $0 == .failure(.status) })
        func answer(_ name: Name) {
            _ = provider.result(.success(Answer(negative: .noData)), for: name, now: now)
        }
        answer(names[0])
        let refused = FetchResult.nameFailed(NameFailure(.refused))
        #expect(results(at: now) == [refused, refused, .failure(.status), .failure(.status)], "three in a row")
        names.forEach(answer)
        #expect(results(at: now) == [refused, refused, .failure(.status), .failure(.status)])
        #expect(results(at: now + .seconds(3600)).allSatisfy { $0 == .failure(.status) })
    }

    @Test("a status that may concern the time, the key or the name is a fault from the third name on")
    func forbiddenAccount() throws {
        let now = Clock.now()
        let refusal = Result<Answer, DialectError>.failure(.forbidden)
        let names = try ["a.x.example", "b.x.example", "c.x.example", "d.x.example"].map { try #require(Name($0)) }
        var provider = try provider()
        func result(_ name: Name, isClockRight: Bool = true, at now: Instant) -> FetchResult {
            provider.result(refusal, for: name, isClockRight: isClockRight, now: now)
        }
        // A single refused name, however often it comes, does not concern the account: the reply may be forged, or the
        // name belong to another account.
        for _ in 0..<100 { #expect(result(names[0], at: now) == .notServed) }
        #expect(result(names[1], at: now) == .notServed)
        #expect(result(names[2], at: now) == .failure(.server))
        #expect(result(names[0], at: now) == .failure(.server))
        _ = provider.result(.success(Answer(negative: .noData)), for: names[0], now: now)
        // The account works, so all other refused names belong to other accounts.
        for name in names.dropFirst() { #expect(result(name, at: now) == .notServed) }
        #expect(result(names[0], at: now) == .notServed)
        // The account is closed: its own names are refused, with other names between them.
        for name in names { _ = provider.result(.success(Answer(negative: .noData)), for: name, now: now) }
        #expect(names.map { result($0, at: now) }.suffix(2) == [.failure(.server), .failure(.server)])
        // The machine's clock may be wrong.
        provider = try self.provider()
        for _ in 0..<100 { #expect(result(names[0], isClockRight: false, at: now) == .failure(.status)) }
    }
}
