// Requests for explanations by plain DNS: their name and type, and invalid requests.

import DNSWire
import LinuxIO
import Resolver
import Testing

@testable import Daemon

struct WhyQuestionTests {
    private let key = ExplanationKey(SystemEntropy())

    /// - Parameter name: a name in which KEY stands for the key.
    private func why(_ name: String, _ type: RecordType = .txt) throws -> WhyQuestion? {
        let name = try #require(Name(name.replacing("KEY", with: key.text)))
        return WhyQuestion(Question(name, type), key: key)
    }

    private func about(_ name: String, _ type: RecordType) throws -> WhyQuestion {
        .about(Question(try #require(Name(name)), type))
    }

    @Test("a TXT question under the zone is about A of the name in front of it, in whatever case")
    func ordinary() throws {
        #expect(try why("www.example.com.KEY.why.httpdnsd.") == about("www.example.com", .a))
        #expect(try why("Www.Example.Com.KEY.WHY.HttpDNSd") == about("www.example.com", .a))
        #expect(try why("localhost.KEY.why.httpdnsd") == about("localhost", .a))
    }

    @Test("a type stands in front with an underscore; what is no type is part of the name")
    func types() throws {
        #expect(try why("_aaaa.www.example.com.KEY.why.httpdnsd") == about("www.example.com", .aaaa))
        #expect(try why("_TYPE65.www.example.com.KEY.why.httpdnsd") == about("www.example.com", .https))
        #expect(try why("_dmarc.example.com.KEY.why.httpdnsd") == about("_dmarc.example.com", .a))
        #expect(try why("_txt._dmarc.example.com.KEY.why.httpdnsd") == about("_dmarc.example.com", .txt))
        #expect(try why("_ns.KEY.why.httpdnsd") == .about(Question(.root, .ns)))
    }

    @Test("without the key of this process there is no explanation, since a forwarder may ask for others")
    func locked() throws {
        #expect(try why("www.example.com.why.httpdnsd") == .locked && why("a.KEY.b.why.httpdnsd") == .locked)
        let other = ExplanationKey(SystemEntropy())
        #expect(other.text.count == 16 && other.text != key.text)
        #expect(try why("www.example.com.\(other.text).why.httpdnsd") == .locked)
        #expect(try why("www.example.com.\(key.text.uppercased()).why.httpdnsd") == about("www.example.com", .a))
    }

    @Test("the zone itself says how to ask, other types have no answer, other names are not ours")
    func others() throws {
        #expect(try why("why.httpdnsd") == .usage)
        #expect(try why("www.example.com.why.httpdnsd", .a) == .nothing)
        #expect(try why("why.httpdnsd", .ns) == .nothing)
        #expect(try why("httpdnsd") == nil)
        #expect(try why("why.httpdnsd.example.com") == nil)
        #expect(try why("xwhy.httpdnsd") == nil)
    }

    @Test("twenty explanations come at once, and then one in 50 ms")
    func pace() {
        var limit = ExplanationLimit()
        let start = Clock.now()
        var given = 0
        for _ in 0..<30 where limit.take(now: start) { given += 1 }
        #expect(given == ExplanationLimit.perSecond)
        for (milliseconds, isGiven) in [(49, false), (50, true), (50, false), (60_000, true)] {
            let taken = limit.take(now: start + .milliseconds(milliseconds))
            #expect(taken == isGiven, "after \(milliseconds) ms")
        }
    }

    @Test("each line is a record of its own, of as many strings as it needs, with TTL 0")
    func records() throws {
        let name = try #require(Name("a.why.httpdnsd"))
        let xs = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        let answer = Answer(explaining: ["one", String(decoding: xs, as: UTF8.self)], to: name)
        #expect(answer.records[1].data == [255] + xs.prefix(255) + [45] + xs.suffix(45))
        #expect(answer.records.count == 2 && answer.records.allSatisfy { $0.owner == name })
        #expect(answer.records[0].data == [3] + Array("one".utf8) && answer.ttlSeconds == 0)
    }
}
