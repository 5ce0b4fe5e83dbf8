// The host of a redirect, if it is a name.

import DNSWire
import HTTPDNS
import Testing

@testable import Upstreams

@Suite("Redirect host")
struct RedirectHostTests {
    private func host(_ status: Int, _ location: String?) -> String? {
        let fields = location.map { [HTTPHeaders.Field("location", $0)] } ?? []
        return HTTPReply(status: status, headers: HTTPHeaders(fields)).redirectHost?.description
    }

    @Test(
        "the host of the location is found, whatever stands around it",
        arguments: [
            "http://login.hotel.example/", "https://login.hotel.example:8443/?to=http://www.example/",
            "HTTP://login.hotel.example", "//login.hotel.example/path", "http://user:word@login.hotel.example?a",
            "http://login.hotel.example#fragment", "http://login.hotel.example./",
        ])
    func found(_ location: String) { #expect(host(302, location) == "login.hotel.example") }

    @Test(
        "what stays on its host, names an address, or is no host leads nowhere",
        arguments: [
            "", "/login", "login.html", "http://", "http:///", "http://10.0.0.1/login", "http://[fd00::1]/",
            "http://:80/",
            "ftp://login.hotel.example/", "mailto:a@b.example", "/back?to=http://login.hotel.example/",
            "http://log in.example/", "http://a..b/", "http://h\u{E9}.example/",
        ])
    func notFound(_ location: String) { #expect(host(302, location) == nil) }

    @Test("only a redirect redirects", arguments: [200, 204, 299, 400, 511])
    func otherStatus(_ status: Int) { #expect(host(status, "http://login.hotel.example/") == nil) }

    @Test("every redirect does", arguments: [300, 301, 302, 303, 307, 308, 399])
    func everyRedirect(_ status: Int) {
        #expect(host(status, "http://login.hotel.example/") == "login.hotel.example")
        #expect(host(status, nil) == nil)
    }
}
