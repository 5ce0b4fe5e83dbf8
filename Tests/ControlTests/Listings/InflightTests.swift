// The output of `inflight` and `query`, as text and as JSON.

import Testing

@testable import Control

struct InflightTests {
    private var report: InflightReport {
        var report = InflightReport(total: 3)
        report.lookups = [
            InflightReport.Lookup(
                name: "www.example.com", type: "A", ageMilliseconds: 812, waiters: 2, isRefresh: false,
                fetches: [
                    InflightReport.Fetch(upstream: "alidns", ageMilliseconds: 812),
                    InflightReport.Fetch(upstream: "system", ageMilliseconds: 12),
                ]),
            InflightReport.Lookup(
                name: "b.example", type: "AAAA", ageMilliseconds: 3, waiters: 0, isRefresh: true, fetches: []),
        ]
        return report
    }

    @Test("lookups are shown with their clients, upstreams and times, and with the number of left-out ones")
    func text() {
        #expect(
            report.rendered(asJSON: false) == """
                www.example.com A 812 ms, for a client, 2 waiters, asks alidns 812 ms, system 12 ms
                b.example AAAA 3 ms, for a refresh, 0 waiters, asks no upstream
                ; 3 lookups
                and 1 more

                """)
        #expect(InflightReport(total: 0).rendered(asJSON: false) == "; 0 lookups\n")
    }

    @Test("JSON has the same")
    func json() {
        #expect(
            report.rendered(asJSON: true) == #"{"lookups":[{"age_ms":812,"fetches":[{"age_ms":812,"#
                + #""upstream":"alidns"},{"age_ms":12,"upstream":"system"}],"name":"www.example.com","refresh":false,"#
                + #""type":"A","waiters":2},{"age_ms":3,"fetches":[],"name":"b.example","refresh":true,"#
                + #""type":"AAAA","waiters":0}],"total":3}"# + "\n")
    }

    @Test("a query shows records, source and time, and why the answer is not plain")
    func query() {
        var report = QueryReport(name: "a.example", type: "A", rcode: "NOERROR", source: "cache", milliseconds: 7)
        report.records = [CacheEntryReport.Record(name: "a.example.", ttlSeconds: 30, type: "A", data: "192.0.2.1")]
        report.staleCause = "failure"
        report.extendedError = QueryReport.ExtendedErrorReport(code: 3, text: "expired")
        #expect(
            report.text == """
                a.example. 30 IN A 192.0.2.1
                ; NOERROR for a.example A, from cache in 7 ms, expired (failure)
                ; EDE 3: expired

                """)
        #expect(
            report.jsonLine == #"{"ede":{"code":3,"text":"expired"},"ms":7,"name":"a.example","rcode":"NOERROR","#
                + #""records":[{"data":"192.0.2.1","name":"a.example.","ttl_s":30,"type":"A"}],"source":"cache","#
                + #""stale":"failure","type":"A"}"# + "\n")
    }

    @Test("a query without records says NODATA, also behind a CNAME, but not for NXDOMAIN")
    func noData() {
        var report = QueryReport(name: "a.example", type: "MX", rcode: "NOERROR", source: "alidns", milliseconds: 7)
        let end = "; NODATA: a.example has no MX records\n; NOERROR for a.example MX, from alidns in 7 ms\n"
        #expect(report.text == end)
        report.records = [
            CacheEntryReport.Record(name: "a.example.", ttlSeconds: 30, type: "CNAME", data: "b.example.")
        ]
        #expect(report.text == "a.example. 30 IN CNAME b.example.\n" + end)
        report.type = "CNAME"
        #expect(!report.text.contains("NODATA"))
        let absent = QueryReport(name: "a.example", type: "MX", rcode: "NXDOMAIN", source: "alidns", milliseconds: 7)
        #expect(absent.text == "; NXDOMAIN for a.example MX, from alidns in 7 ms\n")
    }
}
