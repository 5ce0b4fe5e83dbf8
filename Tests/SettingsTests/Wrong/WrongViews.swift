// Views of the operator without a required key, with invalid ones, or in contradiction to providers, rules, each other
// or server.allow.

private let allow = "[server]\nallow = [\"192.168.0.0/16\", \"127.0.0.0/8\"]\n"

private func view(_ clients: String, name: String = "guests", _ rest: String = "") -> String {
    "[[view]]\nname = \"\(name)\"\nclients = [\"\(clients)\"]\n\(rest)"
}

private func provider(_ name: String, _ rest: String) -> String {
    "[[provider]]\nname = \"\(name)\"\ndialect = \"json\"\nurl = \"https://192.0.2.1/\"\n\(rest)\n"
}

private let known = #"allowed: "alidns", "dnspod", "google", "cloudflare""#

let wrongViews: [Case] = [
    Case(
        "[[view]]\nproviders = [\"alidns\"]",
        "f:1:1: this [[view]] has no clients; write, for example, clients = [\"192.168.7.0/24\"]",
        "f:1:1: this [[view]] has no name; write, for example, name = \"guests\""),
    Case(
        "[view]\nname = \"a\"",
        "f:1:1: view: found a table; allowed: tables [[view]]; two brackets on each side: write [[view]]"),
    Case(
        allow + view("192.168.7.1/24"),
        #"f:5:12: view.clients: found "192.168.7.1/24"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or "#
            + #""fd00::/8"; bits after the prefix are set: write "192.168.7.0/24""#),
    Case(
        view("192.168.7.0/24"),
        #"f:3:12: view.clients: found "192.168.7.0/24", whose clients may not query; add it to server.allow"#),
    Case(
        allow + view("127.0.0.0/8"),
        #"f:5:12: view.clients: found "127.0.0.0/8"; allowed: other machines, as this one is in no view"#),
    Case(
        allow + view("192.168.7.0/24") + view("192.168.8.0/24"),
        #"f:7:8: view.name: found "guests" for the second time; allowed: names that differ"#),
    Case(
        allow + view("192.168.7.0/24") + view("192.168.7.0/24", name: "other"),
        #"f:8:12: view.clients: found "192.168.7.0/24", which view "guests" has; allowed: in one of both"#),
    Case(
        allow + view("192.168.7.0/24", "providers = [\"alidsn\"]"),
        "f:6:14: view.providers: found \"alidsn\"; \(known); did you mean \"alidns\"?"),
    Case(
        allow + view("192.168.7.0/24", "client-subnet = \"192.0.2.1\""),
        #"f:6:17: view.client-subnet: found "192.0.2.1"; allowed: "ADDR/LENGTH", such as "192.0.2.0/24", or "auto""#),
    Case(
        allow + view("192.168.7.0/24") + "[[rule]]\nmatch = [\"a.example\"]\nview = \"guest\"\nstale = false",
        #"f:8:8: rule.view: found "guest"; allowed: "guests"; did you mean "guests"?"#),
    Case(
        "[[rule]]\nmatch = [\"a.example\"]\nview = \"guest\"\nstale = false",
        #"f:3:8: rule.view: found "guest"; allowed: the name of a [[view]]"#),
    Case(
        allow + view("192.168.7.0/24") + "[[rule]]\nmatch = [\"a.example\"]\nview = \"guests\"",
        "f:6:1: this [[rule]] changes nothing; add one or more of resolver, query, tags, app-id, stands-in, order, "
            + "family, allow-private, stale, stale-negative, prefetch, probe, probe-ports, connect, min-ttl, max-ttl, "
            + "fallback-addresses, expect, prefer-addresses, answer, extended-error, cname, txt, srv, nftset"),
    Case(
        allow + view("192.168.7.0/24")
            + "[[rule]]\nmatch = [\"a.example\"]\nview = \"guests\"\nnftset = \"ip#a#b\"",
        "f:9:10: rule.nftset: found with view; allowed: without, as the packet filter is for all clients"),
    Case(
        allow + provider("a", "names = [\"a.example\"]") + provider("b", "")
            + view("192.168.7.0/24", "providers = [\"a\"]"),
        "f:16:13: view.providers: found only providers with names or shadow; allowed: with at least one without, for "
            + "all other names"),
    Case(
        allow + provider("a", "shadow = 0.5") + provider("b", "") + view("192.168.7.0/24", "providers = [\"a\"]"),
        "f:16:13: view.providers: found only providers with names or shadow; allowed: with at least one without, for "
            + "all other names"),
    Case(
        provider("a", "views-only = true"),
        "f:5:1: provider.views-only: found in every [[provider]]; allowed: with at least one for clients without a view"
    ),
    Case(
        provider("a", "names = [\"a.example\"]\nviews-only = true") + provider("b", ""),
        "f:6:14: provider.views-only: found with names; allowed: without"),
    Case(
        allow + view("192.168.7.0/24") + provider("a", "")
            + "[[rule]]\nmatch = [\"a.example\"]\nresolver = \"a\"\ntags = [\"x\"]\nview = \"guests\"",
        "f:14:8: rule.tags: found with dialect \"json\"; allowed: with \"alicloud-v2\", \"volcengine\"",
        "f:15:8: rule.view: found with query, tags or app-id; allowed: without, as these are sent for all clients"),
]
