// The number of requests on one connection to an endpoint with a limit.

import DNSWire
import HTTPClient
import LinuxIO
import Testing

@Suite struct RequestCapTests {
    private let loop = PollLoop()

    private func makeRequest(_ nginx: Nginx, cap: Int) throws -> TransferRequest {
        let endpoint = try #require(
            HTTPEndpoint(
                scheme: .https, host: "one.example", port: nginx.port, address: "127.0.0.1", caFile: nginx.caFile,
                maxRequestsPerConnection: cap))
        return TransferRequest(HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(15), connectTimeout: .seconds(15))
    }

    private func numberOnConnection(_ reply: TransferReply?) -> Int? {
        reply?.header("X-Number-On-Connection").flatMap { Int($0) }
    }

    @Test("HTTP/1.1 requests in a row move to a new connection when the bound is reached")
    func inARow() throws {
        let answer = StubServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        // The server's script would answer ten requests.
        let script = (0..<10).flatMap { _ in [.awaitRequest, answer] }
        try StubServer.with(script) { server in
            let endpoint = try #require(
                HTTPEndpoint(
                    scheme: .http, host: "provider.example", port: server.port, address: "127.0.0.1",
                    maxRequestsPerConnection: 3))
            let request = TransferRequest(
                HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(10), connectTimeout: .seconds(10))
            #expect((0..<7).map { _ in loop.reply(to: request)?.newConnections } == [1, 0, 0, 1, 0, 0, 1])
            #expect(loop.client.connections(to: endpoint) == ConnectionCounts(open: 1, opened: 3, reused: 4))
        }
    }

    @Test("of HTTP/2 requests at once none is lost, and no connection carries more than the bound")
    func atOnce() throws {
        let nginx = Nginx()
        let request = try makeRequest(nginx, cap: 7)
        let ids = (0..<40).map { _ in loop.start(request) }
        #expect(loop.client.transfersInFlight == 40)
        loop.run { loop.results.count == ids.count }
        let replies = ids.compactMap { try? loop.results[$0]?.get() }
        #expect(replies.count == 40 && replies.allSatisfy { $0.status == 200 && $0.httpVersion == .http2 })
        let numbers = replies.compactMap(numberOnConnection).sorted()
        #expect(numbers == (1...7).flatMap { [Int](repeating: $0, count: $0 <= 5 ? 6 : 5) })
        // Five connections reached the limit and are closed; the sixth has room for two more requests.
        #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 6, reused: 34))
        #expect((0..<3).map { _ in numberOnConnection(loop.reply(to: request)) } == [6, 7, 1])
        #expect(loop.client.connections == ConnectionCounts(open: 1, opened: 7, reused: 36))
    }

    @Test("connections are as few as allowed although each carries one request and the protocol is unknown")
    func oneRequestEach() throws {
        let nginx = Nginx()
        let request = try makeRequest(nginx, cap: 1)
        let ids = (0..<80).map { _ in loop.start(request) }
        var most = 0
        loop.run {
            most = max(most, loop.client.connections.open)
            return loop.results.count == ids.count
        }
        #expect(ids.allSatisfy { loop.reply($0)?.status == 200 } && most == 32)
        #expect(loop.client.connections.opened == ids.count)
    }

    @Test("what runs on full connections can be cancelled, is renewed with the rest, and ends with its time")
    func retiredOnesAreHeld() throws {
        try StubServer.with([.hang]) { server in
            let endpoint = try #require(
                HTTPEndpoint(
                    scheme: .http, host: "provider.example", port: server.port, address: "127.0.0.1",
                    maxRequestsPerConnection: 2))
            let patient = TransferRequest(
                HTTPRequest(url: "/"), to: endpoint, timeout: .seconds(10), connectTimeout: .seconds(10))
            let hasty = TransferRequest(
                HTTPRequest(url: "/"), to: endpoint, timeout: .milliseconds(50), connectTimeout: .seconds(10))
            let ids = [patient, hasty, patient, patient, patient].map { loop.start($0) }
            #expect(loop.client.connections(to: endpoint) == ConnectionCounts(open: 5, opened: 5))
            loop.run { loop.results[ids[1]] != nil }
            #expect(loop.failure(ids[1]) == .timeout)
            loop.client.cancel(ids[0], now: Clock.now())
            #expect(loop.client.transfersInFlight == 3 && loop.client.connections.open == 3)
            loop.client.renewConnections(now: Clock.now())
            loop.collect()
            #expect(ids[2...].allSatisfy { loop.failure($0) == .networkChanged } && loop.results[ids[0]] == nil)
            #expect(loop.client.connections == ConnectionCounts(opened: 5) && loop.watchedDescriptors == 0)
            #expect(loop.client.nextDeadline == nil)
        }
    }
}
