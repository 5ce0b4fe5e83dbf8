// The requests that get a page, and the replies to all others.

import HTTPServer
import Testing

@Suite("Requests for pages")
struct PageRequestTests {
    @Test("GET and HEAD of what is there are served", arguments: ["GET", "HEAD"])
    func served(_ method: String) throws {
        for page in Page.allCases {
            let request = PageRequest(
                method: method, path: page.rawValue, host: "127.0.0.1:9353", isFromThisMachine: true)
            #expect(try request.page() == page)
        }
    }

    @Test("other methods are refused with those that are allowed", arguments: ["POST", "PUT", "OPTIONS", "get", ""])
    func methods(_ method: String) {
        let reply = refusal(PageRequest(method: method, path: "/", host: "localhost"))
        #expect(reply?.status == 405)
        #expect(reply?.headers.contains { $0 == ("Allow", "GET, HEAD") } == true)
    }

    @Test(
        "other paths are not found, however they are written",
        arguments: ["", "//", "/metrics/", "/Metrics", "/..", "/../etc/passwd", "/status.json\0", "*", "/%6detrics"])
    func paths(_ path: String) {
        #expect(refusal(PageRequest(method: "GET", path: path, host: nil))?.status == 404)
    }

    @Test(
        "addresses and localhost are names of ours",
        arguments: ["127.0.0.1", "192.0.2.1:9353", "[::1]", "[2001:db8::1]:80", "localhost", "LocalHost:9353"])
    func ours(_ host: String) throws {
        #expect(try PageRequest(method: "GET", path: "/", host: host).page() == .status)
    }

    @Test(
        "any other Host name is refused: it may be DNS rebinding",
        arguments: [
            "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "localhost:80:80", "localhost:x", "",
            "::1", "[::1", "[127.0.0.1]", "[::1]evil.example", "[]", "127.0.0.1@evil.example", " localhost",
            "1270.0.0.1",
        ])
    func rebinding(_ host: String) {
        #expect(refusal(PageRequest(method: "GET", path: "/", host: host))?.status == 421)
    }

    @Test(
        "another web site gets nothing but the page and the metrics, so that it cannot use up explanations",
        arguments: Page.allCases)
    func otherSites(_ page: Page) throws {
        func request(_ site: String?) -> PageRequest {
            PageRequest(
                method: "GET", path: page.rawValue, host: "localhost", fetchSite: site, isFromThisMachine: true)
        }
        for site in [nil, "none", "same-origin"] { #expect(try request(site).page() == page) }
        for site in ["cross-site", "same-site"] {
            let status: UInt32? = page == .status || page == .metrics ? nil : 403
            #expect(refusal(request(site))?.status == status, "\(site)")
        }
    }

    @Test("names are for clients on this machine", arguments: Page.allCases)
    func otherMachines(_ page: Page) {
        let refusal = refusal(
            PageRequest(method: "GET", path: page.rawValue, host: "192.0.2.1", isFromThisMachine: false))
        #expect(refusal?.status == ([.names, .explanation].contains(page) ? 403 : nil))
        if let refusal { #expect(String(decoding: refusal.body, as: UTF8.self).contains("ssh -L")) }
    }

    @Test("the page is below 60 kB, and tells its script whether to request names")
    func size() {
        for showsNames in [true, false] {
            let body = StatusPage.reply(nonce: (1, 2), showsNames: showsNames).body
            #expect(body.count < 60_000)
            let mark = "<html lang=\"en\" data-names=\"\(showsNames ? "yes" : "no")\">"
            #expect(String(decoding: body, as: UTF8.self).contains(mark))
        }
    }

    @Test("every reply is for one use by one site: nothing is kept, guessed or framed")
    func headers() throws {
        let replies = [
            PageReply.metrics("x"), .json("{}"), StatusPage.reply(nonce: (1, 2), showsNames: true),
            try #require(refusal(PageRequest(method: "GET", path: "/x", host: nil))),
        ]
        for reply in replies {
            let headers = Dictionary(uniqueKeysWithValues: reply.headers.map { ($0.name, $0.value) })
            #expect(headers["Cache-Control"] == "no-store")
            #expect(headers["X-Content-Type-Options"] == "nosniff")
            #expect(headers["Connection"] == "close")
            #expect(headers["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
            #expect(headers["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
            #expect(headers["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test("the page runs only what it came with, by a word that changes from reply to reply")
    func nonce() {
        let reply = StatusPage.reply(nonce: (0xAB, 1), showsNames: true)
        let word = "00000000000000ab0000000000000001"
        let document = String(decoding: reply.body, as: UTF8.self)
        #expect(document.contains("<script nonce=\"\(word)\">"))
        #expect(document.contains("<style nonce=\"\(word)\">"))
        #expect(reply.headers.contains { $0.value.contains("script-src 'nonce-\(word)'") })
        #expect(!document.contains("NONCE"))
        // The page loads nothing from elsewhere, and nothing that its content policy would have to allow.
        for forbidden in ["://", "innerHTML", "insertAdjacent", "document.write", "eval(", " style=", " onclick="] {
            #expect(!document.contains(forbidden) || forbidden == "://" && onlyNamespaces(document), "\(forbidden)")
        }
    }

    /// Whether the only URL in the document is SVG's namespace name, which browsers never fetch.
    private func onlyNamespaces(_ document: String) -> Bool {
        document.split(separator: "://").dropFirst().allSatisfy { $0.hasPrefix("www.w3.org/2000/svg") }
    }

    private func refusal(_ request: PageRequest) -> PageReply? {
        do throws(PageReply) {
            _ = try request.page()
            return nil
        } catch {
            return error
        }
    }
}
