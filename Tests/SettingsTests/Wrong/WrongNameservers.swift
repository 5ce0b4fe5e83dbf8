// Nameservers of the operator without a required key, with invalid ones, or in contradiction to a provider, a rule or
// each other.

private let server =
    "allowed: \"ADDR[:PORT]\" or \"tls://ADDR[:PORT][#NAME]\", with an IPv6 address in brackets before a port"
private let hiddenServer = "nameserver.servers: found \(hidden); \(server)"

private func nameserver(_ servers: String, name: String = "corp", _ rest: String = "") -> String {
    "[[nameserver]]\nname = \"\(name)\"\nservers = [\"\(servers)\"]\n\(rest)"
}

let wrongNameservers: [Case] =
    [
        ("dns.corp.example", "nameserver.servers: found \"dns.corp.example\"; \(server)"),
        ("192.0.2.1:0", "nameserver.servers: found \"192.0.2.1:0\"; \(server)"),
        ("tls://192.0.2.1#", hiddenServer), ("tls://192.0.2.1#a b", hiddenServer),
        ("tls://192.0.2.1#192.0.2.1", hiddenServer),
        ("tls://dns.example", "nameserver.servers: found \"tls://dns.example\"; \(server)"),
        ("https://192.0.2.1/dns-query", "nameserver.servers: found \"https://192.0.2.1/dns-query\"; \(server)"),
        (
            "192.0.2.1#dns.example",
            "nameserver.servers: found \"192.0.2.1#dns.example\"; \(server); a name of a certificate needs TLS: "
                + "write \"tls://192.0.2.1:853#dns.example\""
        ),
        (
            "fe80::1%eth0",
            "nameserver.servers: found \"fe80::1%eth0\"; \(server); write \"[fe80::1]:53\", and interface = \"eth0\" "
                + "on a line of its own"
        ),
        (
            "192.0.2.1@5353",
            "nameserver.servers: found \"192.0.2.1@5353\"; \(server); a port follows a colon: "
                + "write \"192.0.2.1:5353\""
        ),
        (
            "tls://192.0.2.1@8853#dns.example",
            "\(hiddenServer); a port follows a colon: write \"tls://192.0.2.1:8853#dns.example\""
        ),
    ].map { Case(nameserver($0), "f:3:12: \($1)") } + [
        Case(
            "[[nameserver]]\nnames = [\"corp.example\"]",
            "f:1:1: this [[nameserver]] has no name; write, for example, name = \"corp\"",
            "f:1:1: this [[nameserver]] has no servers; write, for example, servers = [\"192.0.2.53\"]"),
        Case(
            "[nameserver]\nname = \"corp\"",
            "f:1:1: nameserver: found a table; allowed: tables [[nameserver]]; two brackets on each side: "
                + "write [[nameserver]]"),
        Case(
            nameserver("192.0.2.1", name: "system"),
            "f:2:8: nameserver.name: found \"system\"; allowed: 1 to 32 letters, digits, \"-\", \"_\" or \".\"; "
                + "not \"httpdns\", \"system\" or \"link\""),
        Case(
            nameserver("192.0.2.1", name: "alidns"),
            "f:2:8: nameserver.name: found \"alidns\", the name of a [[provider]]; "
                + "allowed: another name, as rules name both"),
        Case(
            nameserver("192.0.2.1") + nameserver("192.0.2.2"),
            "f:5:8: nameserver.name: found \"corp\" for the second time; allowed: names that differ"),
        Case(
            "[[nameserver]]\nname = \"corp\"\nservers = [\"192.0.2.1\", \"192.0.2.1:53\"]",
            "f:3:25: nameserver.servers: found \"192.0.2.1:53\" for the second time; allowed: each once"),
        Case(
            nameserver("192.0.2.1", "names = [\"*.corp.example\"]"),
            "f:4:10: nameserver.names: found \"*.corp.example\"; allowed: a domain name, such as \"example.com\", "
                + "or \".\" for every name; a name includes its subdomains: write \"corp.example\""),
        Case(
            nameserver("192.0.2.1", "names = [\"a.example\", \"A.example\"]"),
            "f:4:23: nameserver.names: found \"A.example\" for the second time; allowed: each once"),
        Case(
            nameserver("192.0.2.1", "names = [\"a.example\"]\n")
                + nameserver("192.0.2.2", name: "other", "names = [\"a.example\"]"),
            "f:8:10: nameserver.names: found \"a.example\", a name of nameserver \"corp\"; "
                + "allowed: in one [[nameserver]]; list all servers there"),
        Case(
            nameserver("192.0.2.1", "ca-file = \"/ca.pem\""),
            "f:4:11: nameserver.ca-file: found without a server \"tls://...\"; allowed: with one"),
        Case(
            nameserver("192.0.2.1", "interface = \"tun/0\""),
            "f:4:13: nameserver.interface: found \"tun/0\"; allowed: the name of a network interface: 1 to 15 "
                + "printable characters, but not \"/\", \":\", \"%\" or a space"),
        Case(
            nameserver("fe80::1"),
            "f:3:11: nameserver.servers: found \"[fe80::1]:53\", a link-local address, without interface; write, for "
                + "example, interface = \"eth0\""),
        Case(
            nameserver("192.0.2.1", "trust-ad = true"),
            "f:4:12: nameserver.trust-ad: found true with a server without TLS, whose replies a host on the path can "
                + "forge; allowed: with servers \"tls://...\" only"),
        Case(
            "[[rule]]\nmatch = [\"b.example\", \"a.example\"]\nresolver = \"system\"\n"
                + nameserver("192.0.2.1", "names = [\"a.example\"]"),
            "f:2:23: rule.match: found \"a.example\" with another resolver than nameserver \"corp\", which has it in "
                + "names; allowed: in one of both"),
        Case(
            nameserver("192.0.2.1") + "[[rule]]\nmatch = [\"a.example\"]\nresolver = \"crop\"",
            "f:6:12: rule.resolver: found \"crop\"; allowed: \"httpdns\", \"system\", \"link\", \"alidns\", "
                + "\"dnspod\", \"google\", \"cloudflare\", \"corp\"; did you mean \"corp\"?"),
        Case(
            nameserver("192.0.2.1") + "[[rule]]\nmatch = [\"a.example\"]\nresolver = \"corp\"\ntags = [\"x\"]",
            "f:4:1: this [[rule]] has query, tags or app-id and no provider that gets them; "
                + "write resolver = with the name of a [[provider]]"),
    ]
