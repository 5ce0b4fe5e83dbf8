// Invalid files of every kind, with the exact complaints.

struct Case: Sendable {
    let text: String
    let complaints: [String]

    init(_ text: String, _ complaints: String...) {
        self.text = text
        self.complaints = complaints
    }
}

let wrongSections: [Case] = [
    Case(
        #"[server]\#nlisten = ["127.0.0.1:53"]\#n  lisen = 3"#,
        #"""
        f:3:3: unknown key "lisen" in [server]; did you mean "listen"? allowed: listen, threads, \#
        allow, client-rate, prefix-rate, user, filter-aaaa, dns64
        """#),
    Case(
        #"[sever]\#nthreads = 1"#,
        #"""
        f:1:1: unknown key "sever" at the top; did you mean "server"? allowed: only-listed, \#
        direct-only, \#
        local-zone, hosts-directory, lease-files, blocked-answer, server, provider, \#
        system-resolver, cache, prefetch, stale, probe, network, fleet, control, log, \#
        notify, nameserver, view, rule
        """#),
    Case(
        #"[server]\#nquite-something-else = 1"#,
        #"""
        f:2:1: unknown key in [server]; its name is not shown, because it may be a secret; allowed: listen, threads, \#
        allow, client-rate, prefix-rate, user, filter-aaaa, dns64
        """#),
    Case(
        #"[cache]\#nprefetch = 1"#,
        #"""
        f:2:1: unknown key "prefetch" in [cache]; it belongs under [[rule]]; allowed: size, min-ttl, max-ttl, \#
        negative-max-ttl, store
        """#),
    Case(
        #"server = 3"#,
        #"f:1:1: server: found 3; allowed: a table [server]"#),
    Case(
        #"provider = "x""#,
        #"f:1:1: provider: found "x"; allowed: tables [[provider]]"#),
    Case(
        #"provider = []"#,
        #"f:1:1: provider: found 0 tables; allowed: 1 to 32"#),
    Case(
        #"provider = [1]"#,
        #"f:1:13: provider: found 1; allowed: tables [[provider]]"#),
    Case(
        #"[[server]]\#nthreads = 1"#,
        #"f:1:1: server: found an array; allowed: a table [server]; one bracket on each side: write [server]"#),
    Case(
        #"a = {b = {c = 1}}"#,
        #"""
        f:1:1: unknown key at the top; its name is not shown, because it may be a secret; allowed: only-listed, \#
        direct-only, \#
        local-zone, hosts-directory, lease-files, blocked-answer, server, provider, \#
        system-resolver, cache, prefetch, stale, probe, network, fleet, control, log, notify, \#
        nameserver, view, rule
        """#),
]

let wrongValues: [Case] = [
    Case(
        #"[server]\#nclient-rate = 500\#nprefix-rate = "0/s""#,
        #"""
        f:2:15: server.client-rate: found 500; allowed: a rate from 1/s to 1000000/s with its unit (/s), or "off"; \#
        a unit is missing: write "500/s"
        """#,
        #"""
        f:3:15: server.prefix-rate: found "0/s"; allowed: a rate from 1/s to 1000000/s with its unit (/s), or "off"
        """#),
    Case(
        #"[server]\#nthreads = "four""#,
        #"f:2:11: server.threads: found "four"; allowed: an integer from 0 to 256 (0 = one per core)"#),
    Case(
        #"[server]\#nthreads = 1.5"#,
        #"f:2:11: server.threads: found 1.5; allowed: an integer from 0 to 256 (0 = one per core)"#),
    Case(
        #"[server]\#nfilter-aaaa = "noroute""#,
        #"f:2:15: server.filter-aaaa: found "noroute"; allowed: "never", "no-route"; did you mean "no-route"?"#),
    Case(
        #"[server]\#nuser = "root""#,
        #"""
        f:2:8: server.user: found "root"; allowed: the name of a user of this machine, but not root; the daemon \#
        drops root privileges after it has bound the ports: name an unprivileged user
        """#),
    Case(
        #"[server]\#nuser = "0""#,
        #"f:2:8: server.user: found "0"; allowed: the name of a user of this machine, but not root"#),
    Case(
        #"[server]\#ndns64 = true"#,
        #"f:2:9: server.dns64: found true; allowed: "off", "auto""#),
    Case(
        #"[server]\#nthreads = 257"#,
        #"f:2:11: server.threads: found 257; allowed: an integer from 0 to 256 (0 = one per core)"#),
    Case(
        #"[server]\#nthreads = -1"#,
        #"f:2:11: server.threads: found -1; allowed: an integer from 0 to 256 (0 = one per core)"#),
    Case(
        #"[server]\#nthreads = true"#,
        #"f:2:11: server.threads: found true; allowed: an integer from 0 to 256 (0 = one per core)"#),
    Case(
        #"[server]\#nthreads = 1979-05-27"#,
        #"f:2:11: server.threads: found a date or time; allowed: an integer from 0 to 256 (0 = one per core)"#),
    Case(
        #"[server]\#nlisten = "127.0.0.1:53""#,
        #"""
        f:2:10: server.listen: found "127.0.0.1:53"; allowed: an array of 1 to 64 strings "ADDR:PORT"; brackets are \#
        missing: write ["127.0.0.1:53"]
        """#),
    Case(
        #"[server]\#nlisten = []"#,
        #"f:2:10: server.listen: found 0 elements; allowed: an array of 1 to 64 strings "ADDR:PORT""#),
    Case(
        #"[server]\#nlisten = ["127.0.0.1", "[::1]:99999", "::1:53", 5]"#,
        #"""
        f:2:11: server.listen: found "127.0.0.1"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"; a port is missing: write "127.0.0.1:53"
        """#,
        #"""
        f:2:24: server.listen: found "[::1]:99999"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"
        """#,
        #"""
        f:2:39: server.listen: found "::1:53"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"; an IPv6 address needs brackets: write "[::1]:53"
        """#,
        #"""
        f:2:49: server.listen: found 5; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as "127.0.0.1:53" \#
        or "[::1]:53"
        """#),
    Case(
        #"[server]\#nlisten = ["127.0.0.1:53", "127.0.0.1:53"]"#,
        #"f:2:27: server.listen: found "127.0.0.1:53" for the second time; allowed: each once"#),
    Case(
        #"[server]\#nallow = ["10.0.0.1/8"]"#,
        #"""
        f:2:10: server.allow: found "10.0.0.1/8"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \#
        "fd00::/8"; bits after the prefix are set: write "10.0.0.0/8"
        """#),
    Case(
        #"[server]\#nallow = ["10.0.0.0/33", "example.com", "10.0.0.0/+8"]"#,
        #"""
        f:2:10: server.allow: found "10.0.0.0/33"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \#
        "fd00::/8"
        """#,
        #"""
        f:2:25: server.allow: found "example.com"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \#
        "fd00::/8"
        """#,
        #"""
        f:2:40: server.allow: found "10.0.0.0/+8"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \#
        "fd00::/8"
        """#),
    Case(
        #"[cache]\#nsize = 32"#,
        #"""
        f:2:8: cache.size: found 32; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, \#
        GiB); a unit is missing: write "32MiB"
        """#),
    Case(
        #"[cache]\#nsize = "32MB""#,
        #"""
        f:2:8: cache.size: found "32MB"; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, \#
        GiB); write "32MiB"
        """#),
    Case(
        #"[cache]\#nsize = "1KiB""#,
        #"f:2:8: cache.size: found "1KiB"; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB)"#),
    Case(
        #"[cache]\#nsize = "99999999999999999999GiB""#,
        #"""
        f:2:8: cache.size: found "99999999999999999999GiB"; allowed: a size from 1MiB to 64GiB with its \#
        unit (B, KiB, MiB, GiB)
        """#),
    Case(
        #"[cache]\#nmin-ttl = 30"#,
        #"""
        f:2:11: cache.min-ttl: found 30; allowed: a duration from 0s to 168h with its unit (ms, s, m, \#
        h, d); a unit is missing: write "30s"
        """#),
    Case(
        #"[cache]\#nmin-ttl = "30""#,
        #"""
        f:2:11: cache.min-ttl: found "30"; allowed: a duration from 0s to 168h with its unit (ms, s, m, \#
        h, d); a unit is missing: write "30s"
        """#),
    Case(
        #"[cache]\#nmin-ttl = "-1s""#,
        #"f:2:11: cache.min-ttl: found "-1s"; allowed: a duration from 0s to 168h with its unit (ms, s, m, h, d)"#),
    Case(
        #"[cache]\#nmax-ttl = "169h""#,
        #"f:2:11: cache.max-ttl: found "169h"; allowed: a duration from 0s to 168h with its unit (ms, s, m, h, d)"#),
    Case(
        #"[cache]\#nmin-ttl = "2h"\#nmax-ttl = "90m""#,
        #"f:2:11: cache.min-ttl: found "2h", more than cache.max-ttl, which is "90m"; allowed: at most that"#),
    Case(
        #"[cache]\#nmin-ttl = "25h""#,
        #"f:2:11: cache.min-ttl: found "25h", more than cache.max-ttl, which is "24h"; allowed: at most that"#),
    Case(
        #"[control]\#nsocket = "control.sock""#,
        #"f:2:10: control.socket: found "control.sock"; allowed: an absolute path of at most 107 bytes"#),
    Case(
        #"[log]\#nlevel = "warn""#,
        #"f:2:9: log.level: found "warn"; allowed: "error", "warning", "info", "debug"; did you mean "warning"?"#),
    Case(
        #"[log]\#nlevel = 3"#,
        #"f:2:9: log.level: found 3; allowed: "error", "warning", "info", "debug""#),
    Case(
        #"[system-resolver]\#nservers = ["dns.example", "192.0.2.1:0"]"#,
        #"f:2:12: system-resolver.servers: found "dns.example"; allowed: "ADDR", "ADDR:PORT" or "[ADDR]:PORT""#,
        #"f:2:27: system-resolver.servers: found "192.0.2.1:0"; allowed: "ADDR", "ADDR:PORT" or "[ADDR]:PORT""#),
    Case(
        #"[log]\#nlevel = "dbug""#,
        #"f:2:9: log.level: found "dbug"; allowed: "error", "warning", "info", "debug"; did you mean "debug"?"#),
    Case(
        #"[cache]\#nmin-ttl = "30 s""#,
        #"""
        f:2:11: cache.min-ttl: found "30 s"; allowed: a duration from 0s to 168h with its unit (ms, s, \#
        m, h, d); write "30s"
        """#),
    Case(
        #"[server]\#nlisten = ["[192.0.2.1]:53", "192.0.2.1:+53", "[::1]53", "[::1", "", "::1"]"#,
        #"""
        f:2:11: server.listen: found "[192.0.2.1]:53"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"
        """#,
        #"""
        f:2:29: server.listen: found "192.0.2.1:+53"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"
        """#,
        #"""
        f:2:46: server.listen: found "[::1]53"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"
        """#,
        #"""
        f:2:57: server.listen: found "[::1"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"
        """#,
        #"""
        f:2:65: server.listen: found ""; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as "127.0.0.1:53" \#
        or "[::1]:53"
        """#,
        #"""
        f:2:69: server.listen: found "::1"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as \#
        "127.0.0.1:53" or "[::1]:53"; a port is missing: write "[::1]:53"
        """#),
]

let wrongProviders: [Case] = [
    Case(
        #"[[provider]]\#ndialect = "json""#,
        #"f:1:1: this [[provider]] has no name; write, for example, name = "my-provider""#,
        #"f:1:1: this [[provider]] has no url; write, for example, url = "https://HOST/PATH""#),
    Case(
        #"[[provider]]\#nname = "system"\#ndialect = "jsom"\#nurl = "ftp://x/""#,
        #"""
        f:2:8: provider.name: found "system"; allowed: 1 to 32 letters, digits, "-", "_" or "."; not \#
        "httpdns", "system" or "link"
        """#,
        #"""
        f:3:11: provider.dialect: found "jsom"; allowed: "dnspod", "dnspod-des", "dnspod-aes", \#
        "dnspod-https", "alicloud", "alicloud-v2", "volcengine", "json", "doh", "baidu", "ucloud", \#
        "template"; did you mean "json"?
        """#,
        #"""
        f:4:7: provider.url: found "ftp://x/"; allowed: "https://HOST[:PORT]/PATH" or \#
        "http://HOST[:PORT]/PATH" without user name, query and fragment
        """#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "doh"\#nurl = "https://dns.google/dns-query{?dns}""#,
        #"""
        f:4:7: provider.url: found a value that is not shown, because it may be a key; allowed: \#
        "https://HOST[:PORT]/PATH" or "http://HOST[:PORT]/PATH" without user name, query and fragment
        """#),
    Case(
        #"""
        [[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://192.0.2.1/"\#nregion = \#
        "cn"\#nmethod = "GET"\#ntrust-ad = true
        """#,
        #"f:5:10: provider.region: found with dialect "json"; allowed: with "alicloud", "alicloud-v2""#,
        #"f:6:10: provider.method: found with dialect "json"; allowed: with "doh""#,
        #"f:7:12: provider.trust-ad: found with dialect "json"; allowed: with "doh""#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "doh"\#nurl = "http://192.0.2.1/"\#ntrust-ad = true"#,
        #"""
        f:5:12: provider.trust-ad: found true with an http URL, where a host on the path can forge replies; \#
        allowed: with https
        """#),
    Case(
        #"""
        [[provider]]\#nname = "a"\#ndialect = "dnspod"\#nurl = "https://192.0.2.1/"\#n\#
        key-file = "/k"
        """#,
        #"f:5:12: provider.key-file: found with dialect "dnspod"; allowed: with every dialect but "dnspod", "doh""#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "dnspod-https"\#nurl = "https://192.0.2.1/""#,
        #"""
        f:1:1: this [[provider]] has no key-file; dialect "dnspod-https" needs a file with the account's \#
        token or key: write key-file = "/etc/httpdnsd/dnspod-https.key"
        """#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "dnspod-https"\#nurl = "https://192.0.2.1/"\#nkey-file = "./k""#,
        #"""
        f:5:12: provider.key-file: found a value that is not shown, because it may be a key; allowed: the \#
        absolute path of a file, or the name of a systemd credential
        """#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "dnspod-https"\#nurl = "https://192.0.2.1/"\#nkey-file = 12345678"#,
        #"""
        f:5:12: provider.key-file: found a value that is not shown, because it may be a key; allowed: the \#
        absolute path of a file, or the name of a systemd credential
        """#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "dnspod-https"\#nurl = "https://192.0.2.1/"\#nkey-file = "/a\u0000b""#,
        #"""
        f:5:12: provider.key-file: found a value that is not shown, because it may be a key; allowed: the \#
        absolute path of a file, or the name of a systemd credential
        """#),
    Case(
        #"""
        [[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://192.0.2.1/"\#nsni = \#
        "192.0.2.1"\#nhost = "a b"\#nca-file = "x"\#nverify-name = "*"
        """#,
        #"f:5:7: provider.sni: found "192.0.2.1"; allowed: a host name"#,
        #"f:6:8: provider.host: found "a b"; allowed: "HOST" or "HOST:PORT""#,
        #"f:7:11: provider.ca-file: found "x"; allowed: an absolute path of at most 4095 bytes"#,
        #"f:8:15: provider.verify-name: found "*"; allowed: a host name or an IP address"#),
    Case(
        #"""
        [[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://192.0.2.1/"\#n[[provider]]\#nname \#
        = "a"\#ndialect = "json"\#nurl = "https://192.0.2.1/"\#n
        """#,
        #"f:6:8: provider.name: found "a" for the second time; allowed: names that differ"#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "http://192.0.2.1/"\#nsni = "x.example""#,
        #"f:5:7: provider.sni: found with an http URL; allowed: with https"#),
    Case(
        #"""
        [[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://192.0.2.1/"\#nhost = \#
        "a/b"\#naddresses = ["[::1]"]
        """#,
        #"f:5:8: provider.host: found "a/b"; allowed: "HOST" or "HOST:PORT""#,
        #"f:6:14: provider.addresses: found "[::1]"; allowed: an IPv4 or IPv6 address without port or brackets"#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://u@192.0.2.1:0/?q#f""#,
        #"""
        f:4:7: provider.url: found a value that is not shown, because it may be a key; allowed: \#
        "https://HOST[:PORT]/PATH" or "http://HOST[:PORT]/PATH" without user name, query and fragment
        """#),
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://1.2.3/""#,
        #"""
        f:4:7: provider.url: found "https://1.2.3/"; allowed: "https://HOST[:PORT]/PATH" or \#
        "http://HOST[:PORT]/PATH" without user name, query and fragment
        """#),
    Case(
        #"""
        [[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "https://192.0.2.1/"\#nkeys = \#
        "/k"\#nacount = "1"
        """#,
        #"""
        f:5:1: unknown key in [[provider]]; its name is not shown, because it may be a secret; allowed: name, \#
        dialect, url, addresses, sni, verify-name, host, \#
        ca-file, account, access-key, key-file, cipher, cipher-key-file, expiring, region, \#
        service-nodes, query, tags, app-id, client-subnet, client-subnet-form, proxy, proxy-key-file, method, \#
        trust-ad, filters, budget, shadow, names, names-file, exclusive, views-only, quota, price, audit, \#
        when-used-up, hedge, timeout, idle, connection-requests, template
        """#,
        #"""
        f:6:1: unknown key "acount" in [[provider]]; did you mean "account"? allowed: name, dialect, \#
        url, addresses, sni, verify-name, host, ca-file, account, access-key, key-file, cipher, \#
        cipher-key-file, expiring, region, service-nodes, query, tags, app-id, client-subnet, client-subnet-form, \#
        proxy, proxy-key-file, method, trust-ad, filters, budget, shadow, names, names-file, exclusive, views-only, \#
        quota, price, audit, when-used-up, hedge, timeout, idle, connection-requests, template
        """#),
]
