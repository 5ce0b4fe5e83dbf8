// Invalid settings of refreshing, expired answers and exceptions, with the exact complaints.

let wrongPolicies: [Case] = [
    Case(
        "local-zone = [\"lan\", \"a.lan\", \"LAN\", \".\"]",
        #"f:1:38: local-zone: found "."; allowed: a domain name, such as "www.example.com""#),
    Case(
        "local-zone = [\"lan\", \"a.lan\", \"LAN\"]\nlease-files = [\"/l\", \"/l\"]",
        #"f:1:31: local-zone: found "LAN" for the second time; allowed: each once"#,
        #"f:2:22: lease-files: found "/l" for the second time; allowed: each once"#),
    Case(
        """
        local-zone = "lan"
        [[nameserver]]
        name = "corp"
        servers = ["192.0.2.53"]
        names = ["corp.lan", "lan"]
        [[rule]]
        match = ["Lan", "x.lan", "."]
        resolver = "system"
        [[rule]]
        match = ["lan"]
        stale = false
        """,
        """
        f:5:22: nameserver.names: found "lan", which local-zone keeps on this machine; allowed: names below it; for \
        the whole of it, remove it from local-zone
        """,
        """
        f:7:10: rule.match: found "lan" with another resolver than nameserver "corp", which has it in names; \
        allowed: in one of both
        """,
        """
        f:7:10: rule.match: found "lan", which local-zone keeps on this machine; allowed: names below it; for the \
        whole of it, remove it from local-zone
        """),
    Case(
        "[prefetch]\nenabled = \"true\"",
        #"f:2:11: prefetch.enabled: found "true"; allowed: true or false; leave out the quotes"#),
    Case(
        "[prefetch]\nenabled = 1",
        "f:2:11: prefetch.enabled: found 1; allowed: true or false"),
    Case(
        "[prefetch]\nnames = [\"www.example.com\", \".\", \"https://example.com/\", 7]",
        #"f:2:29: prefetch.names: found "."; allowed: a domain name, such as "www.example.com""#,
        #"f:2:34: prefetch.names: found "https://example.com/"; allowed: a domain name, such as "www.example.com""#,
        #"f:2:58: prefetch.names: found 7; allowed: a domain name, such as "www.example.com""#),
    Case(
        "[prefetch]\nname = []",
        #"f:2:1: unknown key "name" in [prefetch]; did you mean "names"? allowed: enabled, names, keep"#),
    Case(
        "[stale]\nmaxage = \"1h\"",
        """
        f:2:1: unknown key "maxage" in [stale]; did you mean "max-age"? allowed: max-age, answer-ttl, \
        client-timeout, recheck, last-known-good
        """),
    Case(
        "[stale]\nlast-known-good = \"61m\"",
        """
        f:2:19: stale.last-known-good: found "61m"; allowed: a duration from 0s to 1h with its unit \
        (ms, s, m, h, d)
        """),
    Case(
        "[stale]\nmax-age = \"31d\"",
        #"f:2:11: stale.max-age: found "31d"; allowed: a duration from 0s to 720h with its unit (ms, s, m, h, d)"#),
    Case(
        "[stale]\nmax-age = false",
        #"f:2:11: stale.max-age: found false; allowed: a duration from 0s to 720h with its unit (ms, s, m, h, d)"#),
    Case(
        "[stale]\nanswer-ttl = \"1500ms\"",
        #"f:2:14: stale.answer-ttl: found "1500ms"; allowed: a duration from 1s to 1h with its unit (s, m, h, d)"#),
    Case(
        "[stale]\nanswer-ttl = \"0s\"",
        #"f:2:14: stale.answer-ttl: found "0s"; allowed: a duration from 1s to 1h with its unit (s, m, h, d)"#),
    Case(
        "[stale]\nclient-timeout = \"4001ms\"",
        """
        f:2:18: stale.client-timeout: found "4001ms"; allowed: a duration from 0s to 4s with its unit \
        (ms, s, m, h, d)
        """),
    Case(
        "[stale]\nclient-timeout = \"1.8s\"",
        """
        f:2:18: stale.client-timeout: found "1.8s"; allowed: a duration from 0s to 4s with its unit \
        (ms, s, m, h, d)
        """),
    Case(
        "[stale]\nrecheck = \"999ms\"",
        #"f:2:11: stale.recheck: found "999ms"; allowed: a duration from 1s to 1h with its unit (ms, s, m, h, d)"#),
    Case(
        "[stale]\nrecheck = 30",
        """
        f:2:11: stale.recheck: found 30; allowed: a duration from 1s to 1h with its unit (ms, s, m, h, d); \
        a unit is missing: write "30s"
        """),
    Case(
        "[cache]\nstore = \"cache.db\"",
        #"f:2:9: cache.store: found "cache.db"; allowed: an absolute path of at most 4095 bytes"#),
    Case(
        "[[provider]]\nname = \"a\"\ndialect = \"json\"\nurl = \"https://192.0.2.1/\"\nbudget = 50",
        """
        f:5:10: provider.budget: found 50; allowed: a rate from 1/s to 10000/s with its unit (/s); a unit \
        is missing: write "50/s"
        """),
    Case(
        "[[provider]]\nname = \"a\"\ndialect = \"json\"\nurl = \"https://192.0.2.1/\"\nbudget = \"0/s\"",
        #"f:5:10: provider.budget: found "0/s"; allowed: a rate from 1/s to 10000/s with its unit (/s)"#),
    Case(
        "[[provider]]\nname = \"a\"\ndialect = \"json\"\nurl = \"https://192.0.2.1/\"\nbudget = \"10001/s\"",
        #"f:5:10: provider.budget: found "10001/s"; allowed: a rate from 1/s to 10000/s with its unit (/s)"#),
]

let wrongProbes: [Case] = [
    Case("probe = true", "f:1:1: probe: found true; allowed: a table [probe]"),
    Case(
        "[probe]\nenable = true",
        """
        f:2:1: unknown key "enable" in [probe]; did you mean "enabled"? allowed: enabled, ports, timeout, \
        ca-file, http
        """),
    Case("[probe]\nenabled = \"yes\"", #"f:2:11: probe.enabled: found "yes"; allowed: true or false; write true"#),
    Case("[probe]\nhttp = 1", "f:2:8: probe.http: found 1; allowed: true or false"),
    Case(
        "[probe]\nports = 443",
        "f:2:9: probe.ports: found 443; allowed: an array of 1 to 8 ports; brackets are missing: write [443]"),
    Case("[probe]\nports = []", "f:2:9: probe.ports: found 0 elements; allowed: an array of 1 to 8 ports"),
    Case(
        "[probe]\nports = [1, 2, 3, 4, 5, 6, 7, 8, 9]",
        "f:2:9: probe.ports: found 9 elements; allowed: an array of 1 to 8 ports"),
    Case(
        "[probe]\nports = [0, \"443\", \"https\", 65536, -1, 443.0]",
        "f:2:10: probe.ports: found 0; allowed: an integer from 1 to 65535 (a TCP port)",
        #"f:2:13: probe.ports: found "443"; allowed: an integer from 1 to 65535 (a TCP port); leave out the quotes"#,
        #"f:2:20: probe.ports: found "https"; allowed: an integer from 1 to 65535 (a TCP port)"#,
        "f:2:29: probe.ports: found 65536; allowed: an integer from 1 to 65535 (a TCP port)",
        "f:2:36: probe.ports: found -1; allowed: an integer from 1 to 65535 (a TCP port)",
        "f:2:40: probe.ports: found 443.0; allowed: an integer from 1 to 65535 (a TCP port)"),
    Case(
        "[probe]\nports = [443, 443, 8443, 443]",
        "f:2:15: probe.ports: found 443 for the second time; allowed: each once",
        "f:2:26: probe.ports: found 443 for the second time; allowed: each once"),
    Case(
        "[probe]\ntimeout = \"99ms\"",
        #"f:2:11: probe.timeout: found "99ms"; allowed: a duration from 100ms to 10s with its unit (ms, s, m, h, d)"#),
    Case(
        "[probe]\ntimeout = 2",
        """
        f:2:11: probe.timeout: found 2; allowed: a duration from 100ms to 10s with its unit (ms, s, m, h, d); \
        a unit is missing: write "2s"
        """),
    Case(
        "[probe]\nca-file = \"ca.pem\"",
        #"f:2:11: probe.ca-file: found "ca.pem"; allowed: an absolute path of at most 4095 bytes"#),
]

let wrongRules: [Case] = [
    Case("rule = true", "f:1:1: rule: found true; allowed: tables [[rule]]"),
    Case(
        "[rule]\nstale = true",
        "f:1:1: rule: found a table; allowed: tables [[rule]]; two brackets on each side: write [[rule]]"),
    Case("rule = [1]", "f:1:9: rule: found 1; allowed: tables [[rule]]"),
    Case(
        "[[rule]]\nstale = false",
        "f:1:1: this [[rule]] has no match and no match-file; every rule needs one of them"),
    Case(
        "\n[[rule]]\nmatch = [\"a.example\"]\nfallback-addresses = []",
        """
        f:2:1: this [[rule]] changes nothing; add one or more of resolver, query, tags, app-id, \
        stands-in, order, family, allow-private, stale, stale-negative, prefetch, probe, probe-ports, connect, \
        min-ttl, max-ttl, fallback-addresses, expect, prefer-addresses, answer, extended-error, cname, txt, srv, nftset
        """),
    Case(
        "[[rule]]\nmatch = \"a.example\"\nstale = true",
        #"""
        f:2:9: rule.match: found "a.example"; allowed: an array of 1 to 1000 names; brackets are missing: \#
        write ["a.example"]
        """#),
    Case(
        "[[rule]]\nmatch = []\nstale = true",
        "f:2:9: rule.match: found 0 elements; allowed: an array of 1 to 1000 names"),
    Case(
        "[[rule]]\nstale = true\n"
            + "match = [\"*.a.example\", \".b.example\", \"*\", \"a..b\", \"192.0.2.1\"]",
        """
        f:3:10: rule.match: found "*.a.example"; allowed: a domain name, such as "example.com", or "." for \
        every name; a name includes its subdomains: write "a.example"
        """,
        """
        f:3:25: rule.match: found ".b.example"; allowed: a domain name, such as "example.com", or "." for \
        every name; a name includes its subdomains: write "b.example"
        """,
        """
        f:3:39: rule.match: found "*"; allowed: a domain name, such as "example.com", or "." for every name; \
        write "."
        """,
        #"f:3:44: rule.match: found "a..b"; allowed: a domain name, such as "example.com", or "." for every name"#,
        """
        f:3:52: rule.match: found "192.0.2.1"; allowed: a domain name, such as "example.com", or "." for \
        every name
        """),
    Case(
        "[[rule]]\nmatch = [\"a.example\", \"b.example\", \"A.example.\"]\nstale = true",
        #"f:2:36: rule.match: found "A.example." for the second time; allowed: each once"#),
    Case(
        "[[rule]]\nmatch-file = [\"/a\", \"b\", \"/c/../c\", \"/a\", 1]\nstale = true",
        #"f:2:21: rule.match-file: found "b"; allowed: an absolute path of at most 4095 bytes"#,
        "f:2:43: rule.match-file: found 1; allowed: an absolute path of at most 4095 bytes"),
    Case(
        "[[rule]]\nmatch = [\"a.example\"]\nnftset = [\"ip#t#s\", \"ip#t#s\"]",
        #"f:3:21: rule.nftset: found "ip#t#s" for the second time; allowed: each once"#),
    Case(
        "[[rule]]\nmatch-file = [\"/a\", \"/b\", \"/a\"]\nstale = true",
        #"f:2:27: rule.match-file: found "/a" for the second time; allowed: each once"#),
    Case(
        "[[rule]]\nmatch-file = \"/a\"\nstale = true",
        #"""
        f:2:14: rule.match-file: found "/a"; allowed: an array of 1 to 16 absolute paths; brackets are missing: \#
        write ["/a"]
        """#),
    Case(
        (0..<5).map { rule in
            "[[rule]]\nstale = true\nmatch-file = [\((0..<16).map { "\"/\(rule)/\($0)\"" }.joined(separator: ", "))]\n"
        }.joined(),
        "f:1:1: rule.match-file: found 80 files in all; allowed: 64"),
    Case(
        "[[rule]]\nmatch-file = [\"/a\"]",
        """
        f:1:1: this [[rule]] changes nothing; add one or more of resolver, query, tags, app-id, \
        stands-in, order, family, allow-private, stale, stale-negative, prefetch, probe, probe-ports, connect, \
        min-ttl, max-ttl, fallback-addresses, expect, prefer-addresses, answer, extended-error, cname, txt, srv, nftset
        """),
    Case(
        "[[rule]]\nmatch = [\".\"]\nmax-ttl = \"59s\"\nmin-ttl = \"1m\"",
        #"f:4:11: rule.min-ttl: found "1m", more than rule.max-ttl, which is "59s"; allowed: at most that"#),
    Case(
        "[[rule]]\nmatch = [\".\"]\nmin-ttl = \"8d\"",
        #"f:3:11: rule.min-ttl: found "8d"; allowed: a duration from 0s to 168h with its unit (ms, s, m, h, d)"#),
    Case(
        "[[rule]]\nmatch = [\".\"]\nstale-negative = \"no\"",
        #"f:3:18: rule.stale-negative: found "no"; allowed: true or false; write false"#),
    Case(
        "[[rule]]\nmatch = [\".\"]\nprobe-ports = [443, 8443, 443]",
        "f:3:27: rule.probe-ports: found 443 for the second time; allowed: each once"),
    Case(
        "[[rule]]\nmatch = [\".\"]\nprobe-ports = []",
        "f:3:15: rule.probe-ports: found 0 elements; allowed: an array of 1 to 8 ports"),
    Case(
        "[[rule]]\nmatch = [\".\"]\nconnect = 8080\nprobe-ports = [443]\nprobe = false",
        "f:3:11: rule.connect: found with probe = false; allowed: without, as it takes the place of TLS probes",
        "f:3:11: rule.connect: found with probe-ports; allowed: without, as it takes the place of TLS probes"),
    Case(
        "[[rule]]\nmatch = [\".\"]\nconnect = 8080\nprefer-addresses = [\"203.0.113.0/24\"]",
        "f:4:20: rule.prefer-addresses: found with connect; allowed: without, as only verified addresses are given"),
    Case(
        "[[rule]]\nmatch = [\".\"]\nprobe = false\nprefer-addresses = [\"203.0.113.0/24\"]",
        "f:4:20: rule.prefer-addresses: found with probe = false; allowed: without, as only verified addresses are "
            + "given"),
    Case(
        "[[rule]]\nmatch = [\".\"]\nprobe-port = [443]",
        """
        f:3:1: unknown key "probe-port" in [[rule]]; did you mean "probe-ports"? allowed: match, match-file, \
        resolver, query, tags, app-id, stands-in, order, family, allow-private, stale, stale-negative, prefetch, \
        probe, probe-ports, connect, min-ttl, max-ttl, fallback-addresses, expect, prefer-addresses, answer, \
        extended-error, cname, txt, srv, view, nftset
        """),
    Case(
        "[[rule]]\nmatch = [\".\"]\nfallback-addresses = [\"192.0.2.1:53\"]",
        """
        f:3:23: rule.fallback-addresses: found "192.0.2.1:53"; allowed: an IPv4 or IPv6 address without port \
        or brackets
        """),
    Case(
        "[[rule]]\nmatch = [\".\"]\nfalback-addresses = []",
        """
        f:3:1: unknown key "falback-addresses" in [[rule]]; did you mean "fallback-addresses"? allowed: match, \
        match-file, resolver, query, tags, app-id, stands-in, order, family, allow-private, stale, stale-negative, \
        prefetch, probe, probe-ports, connect, min-ttl, max-ttl, fallback-addresses, expect, prefer-addresses, answer, \
        extended-error, cname, txt, srv, view, nftset
        """),
    Case(
        "[[rule]]\nmatch = [\".\"]\nexpect = {cname = \"yes\", max-ttl = 60, within = [], ttl = 1}",
        #"f:3:19: rule.expect: cname: found "yes"; allowed: true or false; write true"#,
        """
        f:3:36: rule.expect: max-ttl: found 60; allowed: a duration from 1s to 168h with its unit (s, m, h, d); a \
        unit is missing: write "60s"
        """,
        #"f:3:49: rule.expect: within: found 0 elements; allowed: an array of 1 to 64 strings "ADDR/LENGTH""#,
        """
        f:3:59: rule.expect: found an unknown key; its name is not shown, because it may be a secret; allowed: a \
        table of cname (true or false), max-ttl (a duration from 1s to 168h) \
        and within (an array of networks "ADDR/LENGTH"), or {} for no expectation
        """),
    Case(
        "[[rule]]\nmatch = [\".\"]\nexpect = {within = [\"192.0.2.1/24\", \"example.com\"], max-ttl = \"1500ms\"}",
        """
        f:3:21: rule.expect: within: found "192.0.2.1/24"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \
        "fd00::/8"; bits after the prefix are set: write "192.0.2.0/24"
        """,
        """
        f:3:37: rule.expect: within: found "example.com"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \
        "fd00::/8"
        """,
        """
        f:3:63: rule.expect: max-ttl: found "1500ms"; allowed: a duration from 1s to 168h with its unit (s, m, h, d)
        """),
]
