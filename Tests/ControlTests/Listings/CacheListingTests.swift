// Entries of the cache as text and as JSON, to the letter.

import Control
import DNSWire
import FoundationEssentials
import Testing

@Suite("Cache listings")
struct CacheListingTests {
    private var www: CacheEntryReport {
        var entry = CacheEntryReport(name: "www.example.com", type: "A", rcode: "NOERROR")
        (entry.ttlSeconds, entry.ageSeconds, entry.lifetimeSeconds) = (42, 18, 60)
        (entry.provenance, entry.partition, entry.hits) = ("provider", 1, 7)
        entry.source = "alidns"
        entry.records = [
            .init(name: "www.example.com.", ttlSeconds: 42, type: "CNAME", data: "cdn.example.net."),
            .init(name: "cdn.example.net.", ttlSeconds: 42, type: "A", data: "192.0.2.1"),
        ]
        return entry
    }

    private var gone: CacheEntryReport {
        var entry = CacheEntryReport(name: "gone.example.com", type: "AAAA", rcode: "NXDOMAIN")
        (entry.state, entry.ttlSeconds, entry.ageSeconds, entry.lifetimeSeconds) = (.expired, -30, 60, 30)
        (entry.provenance, entry.partition) = ("system", 1)
        entry.records = []
        return entry
    }

    private func listing(
        _ view: CacheView, _ pieces: [[CacheEntryReport]], of scope: QuestionScope = .everything, asJSON: Bool = false
    ) -> String {
        var listing = Listing(of: view, scope, wantsJSON: asJSON)
        return pieces.map { listing.page(of: $0) }.joined() + listing.end()
    }

    @Test("ls has one line for each entry and counts them at the end")
    func list() {
        #expect(
            listing(.list, [[www], [], [gone]]) == """
                ; name type state ttl source rcode
                www.example.com A fresh 42 alidns NOERROR
                gone.example.com AAAA expired -30 system NXDOMAIN
                ; 2 entries

                """)
        #expect(listing(.list, [[www]]).hasSuffix("\n; 1 entry\n"))
        #expect(listing(.list, [[], []]) == "; 0 entries\n")
    }

    @Test("dump has one line for each record, which says to what it belongs")
    func dump() {
        #expect(
            listing(.dump, [[www, gone]]) == """
                www.example.com. 42 IN CNAME cdn.example.net. ; www.example.com A fresh 42 alidns NOERROR
                cdn.example.net. 42 IN A 192.0.2.1 ; www.example.com A fresh 42 alidns NOERROR
                ; gone.example.com AAAA expired -30 system NXDOMAIN
                ; 2 entries

                """)
    }

    @Test("get says everything about an entry")
    func get() {
        #expect(
            listing(.get, [[www]]) == """
                www.example.com A fresh 42 alidns NOERROR
                  age 18 s of 60 s, hits 7, network 00000001
                  www.example.com. 42 IN CNAME cdn.example.net.
                  cdn.example.net. 42 IN A 192.0.2.1

                """)
    }

    @Test("get without an entry is a refusal that names what was asked")
    func getNothing() throws {
        let name = try #require(Name("x.example"))
        let text = listing(.get, [[]], of: QuestionScope(name))
        #expect(text == "error: no entry for x.example\n" && Reply.isRefusal(text.utf8))
        let object = listing(.get, [[]], of: QuestionScope(name, type: .mx), asJSON: true)
        #expect(object == "{\"error\":\"no entry for x.example MX\"}\n" && Reply.isRefusal(object.utf8))
    }

    @Test("as JSON a listing is one line however many pieces it came in, and reads back as the same entries")
    func asJSON() throws {
        struct Listing: Decodable {
            let entries: [CacheEntryReport]
        }
        for pieces in [[], [[www]], [[www], [gone]], [[], [www, gone], [], [www]]] {
            let line = listing(.dump, pieces, asJSON: true)
            #expect(line.count { $0 == "\n" } == 1 && line.hasSuffix("\n"))
            #expect(try JSONDecoder().decode(Listing.self, from: Data(line.utf8)).entries == pieces.flatMap { $0 })
        }
        var entry = gone
        entry.records = nil
        #expect(
            listing(.list, [[entry]], asJSON: true) == #"""
                {"entries":[{"age_s":60,"hits":0,"lifetime_s":30,"name":"gone.example.com","partition":1,\#
                "provenance":"system","rcode":"NXDOMAIN","state":"expired","ttl_s":-30,"type":"AAAA"}]}

                """#)
    }

    @Test("what was changed is counted in words and as JSON")
    func counts() {
        #expect(Reply.removed(0).rendered(asJSON: false) == "removed 0 entries\n")
        #expect(Reply.removed(1).rendered(asJSON: false) == "removed 1 entry\n")
        #expect(Reply.removed(2).rendered(asJSON: true) == "{\"removed\":2}\n")
        #expect(Reply.prefetching(1).rendered(asJSON: false) == "fetching 1 name\n")
        #expect(Reply.prefetching(3).rendered(asJSON: true) == "{\"names\":3}\n")
    }
}
