// Common mistakes of users, with the whole message for each: place, finding and the text to write.

let commonMistakes: [Case] = [
    // A duration without unit.
    Case(
        #"[stale]\#nmax-age = 3600"#,
        #"""
        f:2:11: stale.max-age: found 3600; allowed: a duration from 0s to 720h with its unit (ms, s, m, h, d); a \#
        unit is missing: write "3600s"
        """#),
    // A duration with a unit that does not exist.
    Case(
        #"[cache]\#nmin-ttl = "5min""#,
        #"""
        f:2:11: cache.min-ttl: found "5min"; allowed: a duration from 0s to 168h with its unit (ms, s, m, h, d); \#
        write "5m"
        """#),
    // A word without quotes.
    Case(
        #"[[provider]]\#nname = alidns\#n"#,
        #"f:2:8: syntax: found alidns; a string needs quotes: write "alidns""#),
    // An endpoint without quotes, whose brackets look like those of an array.
    Case(
        #"[server]\#nlisten = [::1]:53"#,
        #"""
        f:2:10: server.listen: found [::1]:53; allowed: an array of 1 to 64 strings "ADDR:PORT"; brackets are \#
        missing: write ["[::1]:53"]
        """#),
    Case(
        #"[server]\#nlisten = ["127.0.0.1:53", [::1]:53]"#,
        #"f:2:27: syntax: found [::1]:53; a string needs quotes: write "[::1]:53""#),
    // A string without its closing quote in an array.
    Case(
        #"[prefetch]\#nkeep = ["a.example]"#, #"f:2:9: syntax: the string has no closing quote"#),
    Case(
        #"[prefetch]\#nkeep = [\#n"a.example",\#n 'b.example,\#n]"#,
        #"f:4:2: syntax: the string has no closing quote"#),
    // A path without quotes.
    Case(
        #"[cache]\#nstore = /var/lib/cache.db"#,
        #"f:2:9: syntax: found /var/lib/cache.db; a string needs quotes: write "/var/lib/cache.db""#),
    // A table in the plural.
    Case(
        #"[[providers]]\#nname = "a""#,
        #"""
        f:1:1: unknown key "providers" at the top; did you mean "provider"? allowed: only-listed, direct-only, \#
        local-zone, hosts-directory, lease-files, blocked-answer, server, provider, \#
        system-resolver, cache, prefetch, stale, probe, network, fleet, control, log, notify, nameserver, \#
        view, rule
        """#),
    // Single brackets.
    Case(
        #"[provider]\#nname = "a""#,
        #"""
        f:1:1: provider: found a table; allowed: tables [[provider]]; two brackets on each side: write [[provider]]
        """#),
    // Double brackets.
    Case(
        #"[[cache]]\#nsize = "32MiB""#,
        #"f:1:1: cache: found an array; allowed: a table [cache]; one bracket on each side: write [cache]"#),
    // An address to listen on without port.
    Case(
        #"[server]\#nlisten = ["192.0.2.1"]"#,
        #"""
        f:2:11: server.listen: found "192.0.2.1"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as "127.0.0.1:53" \#
        or "[::1]:53"; a port is missing: write "192.0.2.1:53"
        """#),
    // An IPv6 address without brackets.
    Case(
        #"[server]\#nlisten = ["::1:53"]"#,
        #"""
        f:2:11: server.listen: found "::1:53"; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as "127.0.0.1:53" or \#
        "[::1]:53"; an IPv6 address needs brackets: write "[::1]:53"
        """#),
    // An address in place of an array.
    Case(
        #"[server]\#nlisten = "127.0.0.1:53""#,
        #"""
        f:2:10: server.listen: found "127.0.0.1:53"; allowed: an array of 1 to 64 strings "ADDR:PORT"; brackets \#
        are missing: write ["127.0.0.1:53"]
        """#),
    // A port in allow.
    Case(
        #"[server]\#nallow = ["192.168.1.0/24:53"]"#,
        #"""
        f:2:10: server.allow: found "192.168.1.0/24:53"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \#
        "fd00::/8"; leave out the port: write "192.168.1.0/24"
        """#),
    // An address with the length of its network.
    Case(
        #"[server]\#nallow = ["192.168.1.5/24"]"#,
        #"""
        f:2:10: server.allow: found "192.168.1.5/24"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \#
        "fd00::/8"; bits after the prefix are set: write "192.168.1.0/24"
        """#),
    // A key of another table.
    Case(
        #"[server]\#nsocket = "/run/a.sock""#,
        #"""
        f:2:1: unknown key "socket" in [server]; it belongs under [control]; allowed: listen, threads, allow, \#
        client-rate, prefix-rate, user, filter-aaaa, dns64
        """#),
    // A key in front of its table.
    Case(
        #"listen = ["127.0.0.1:53"]"#,
        #"""
        f:1:1: unknown key "listen" at the top; it belongs under [server]; allowed: only-listed, direct-only, \#
        local-zone, hosts-directory, lease-files, blocked-answer, server, provider, \#
        system-resolver, cache, prefetch, stale, probe, network, fleet, control, log, notify, nameserver, \#
        view, rule
        """#),
    // A key of the top in a table.
    Case(
        #"[server]\#nonly-listed = true"#,
        #"""
        f:2:1: unknown key "only-listed" in [server]; it belongs at the top of the file, above every table; \#
        allowed: listen, threads, allow, client-rate, prefix-rate, user, filter-aaaa, dns64
        """#),
    // An unknown dialect.
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "alicloud-v3"\#nurl = "https://192.0.2.1/""#,
        #"""
        f:3:11: provider.dialect: found "alicloud-v3"; allowed: "dnspod", "dnspod-des", "dnspod-aes", \#
        "dnspod-https", "alicloud", "alicloud-v2", "volcengine", "json", "doh", "baidu", "ucloud", "template"; \#
        did you mean "alicloud-v2"?
        """#),
    // A URL without scheme.
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "doh"\#nurl = "192.0.2.1/dns-query""#,
        #"""
        f:4:7: provider.url: found "192.0.2.1/dns-query"; allowed: "https://HOST[:PORT]/PATH" or \#
        "http://HOST[:PORT]/PATH" without user name, query and fragment; a scheme is missing: write \#
        "https://192.0.2.1/dns-query"
        """#),
    // A URL with http and a name, and no addresses.
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "json"\#nurl = "http://dns.example/resolve""#,
        #"""
        f:4:7: provider.url: found the host name "dns.example" with http and no addresses; without a \#
        certificate a forged address would not be noticed: use https, or add addresses = ["..."]
        """#),
    // A provider without url.
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "doh""#,
        #"f:1:1: this [[provider]] has no url; write, for example, url = "https://HOST/PATH""#),
    // A key-file that is missing.
    Case(
        #"[[provider]]\#nname = "a"\#ndialect = "dnspod-https"\#nurl = "https://192.0.2.1/d""#,
        #"""
        f:1:1: this [[provider]] has no key-file; dialect "dnspod-https" needs a file with the account's token \#
        or key: write key-file = "/etc/httpdnsd/dnspod-https.key"
        """#),
    // A mistyped provider in a rule.
    Case(
        #"[[rule]]\#nmatch = ["a.example"]\#nresolver = "alidn""#,
        #"""
        f:3:12: rule.resolver: found "alidn"; allowed: "httpdns", "system", "link", "alidns", "dnspod", "google", \#
        "cloudflare"; did you mean "alidns"?
        """#),
    // A wildcard in a rule.
    Case(
        #"[[rule]]\#nmatch = ["*.example.com"]\#nresolver = "system""#,
        #"""
        f:2:10: rule.match: found "*.example.com"; allowed: a domain name, such as "example.com", or "." for \#
        every name; a name includes its subdomains: write "example.com"
        """#),
    // A table twice.
    Case(
        #"[cache]\#nsize = "32MiB"\#n[cache]\#nstore = """#,
        #"f:3:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    // An unclosed bracket.
    Case(
        #"[server]\#nlisten = ["127.0.0.1:53"\#nthreads = 2"#,
        #"f:2:10: syntax: the array has no closing ]: write ] behind "127.0.0.1:53""#),
    // An unclosed bracket of several lines.
    Case(
        #"[server]\#nlisten = [ # here\#n    "127.0.0.1:53", # and\#n    "[::1]:53",\#n[cache]\#nsize = "32MiB""#,
        #"f:2:10: syntax: the array has no closing ]: write ] behind "[::1]:53","#),
    // A comma between the lines of an array.
    Case(
        #"[server]\#nlisten = [\#n    "127.0.0.1:53"\#n    "[::1]:53",\#n]"#,
        #"f:4:5: syntax: a , is missing in the array: write , behind "127.0.0.1:53""#),
    // A name without quotes in an array.
    Case(
        #"[[rule]]\#nmatch = ["a.example", corp.example]"#,
        #"f:2:23: syntax: found corp.example; a string needs quotes: write "corp.example""#),
    // An address without quotes in an array.
    Case(
        #"[server]\#nlisten = [127.0.0.1:53]"#,
        #"f:2:11: syntax: found 127.0.0.1:53; a string needs quotes: write "127.0.0.1:53""#),
    // A size without quotes.
    Case(
        #"[cache]\#nsize = 32MiB"#,
        #"f:2:8: syntax: found 32MiB; a string needs quotes: write "32MiB""#),
    // Quotes around true.
    Case(
        #"[prefetch]\#nenabled = "true""#,
        #"f:2:11: prefetch.enabled: found "true"; allowed: true or false; leave out the quotes"#),
    // A level that does not exist.
    Case(
        #"[log]\#nlevel = "warn""#,
        #"""
        f:2:9: log.level: found "warn"; allowed: "error", "warning", "info", "debug"; did you mean "warning"?
        """#),
    // A size without unit.
    Case(
        #"[cache]\#nsize = 64"#,
        #"""
        f:2:8: cache.size: found 64; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB); a unit \#
        is missing: write "64MiB"
        """#),
    // Words for true and false.
    Case(
        #"[prefetch]\#nenabled = yes"#,
        #"f:2:11: prefetch.enabled: found yes; allowed: true or false; write true"#),
    Case(
        #"[log]\#nqueries = no # none"#,
        #"f:2:11: log.queries: found no; allowed: true or false; write false"#),
    Case(
        #"only-listed = True"#,
        #"f:1:15: only-listed: found True; allowed: true or false; write true"#),
    Case(
        #"[network]\#nwatch = "on""#,
        #"f:2:9: network.watch: found "on"; allowed: true or false; write true"#),
    // A size in decimal units without quotes.
    Case(
        #"[cache]\#nsize = 64MB"#,
        #"""
        f:2:8: cache.size: found 64MB; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB); write \#
        "64MiB"
        """#),
    // An address without quotes and port in an array of several lines.
    Case(
        #"[server]\#nlisten = [\#n    "127.0.0.1:53",\#n    192.0.2.1,\#n]"#,
        #"""
        f:4:5: server.listen: found 192.0.2.1; allowed: "ADDR:PORT" or "[ADDR]:PORT", such as "127.0.0.1:53" or \#
        "[::1]:53"; a port is missing: write "192.0.2.1:53"
        """#),
    // Numbers that no unit corrects.
    Case(
        #"[stale]\#nmax-age = -1"#,
        #"f:2:11: stale.max-age: found -1; allowed: a duration from 0s to 720h with its unit (ms, s, m, h, d)"#),
    Case(
        #"[stale]\#nmax-age = 1.2.3"#,
        #"f:2:11: stale.max-age: found 1.2.3; allowed: a duration from 0s to 720h with its unit (ms, s, m, h, d)"#),
    Case(
        #"[cache]\#nsize = "900GB""#,
        #"f:2:8: cache.size: found "900GB"; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB)"#),
    Case(
        #"[server]\#nthreads = 0x1G"#,
        #"f:2:11: server.threads: found 0x1G; allowed: an integer from 0 to 256 (0 = one per core)"#),
    // Quotes of a text processor.
    Case(
        #"[[provider]]\#nname = “alidns”"#,
        #"f:2:8: syntax: found the typographic quotes of “alidns”: write "alidns""#),
    Case(
        #"[server]\#nlisten = [“127.0.0.1:53”]"#,
        #"f:2:11: syntax: found the typographic quotes of “127.0.0.1:53”: write "127.0.0.1:53""#),
    Case(
        #"[stale]\#nmax-age = “5min”"#,
        #"""
        f:2:11: stale.max-age: found “5min”; allowed: a duration from 0s to 720h with its unit (ms, s, m, h, d); \#
        write "5m"
        """#),
    // Escaped quotes in front of the mistake.
    Case(
        #"[server]\#n"user\"" = 1"#,
        #"""
        f:2:1: unknown key "user\"" in [server]; did you mean "user"? allowed: listen, threads, allow, client-rate, \#
        prefix-rate, user, filter-aaaa, dns64
        """#),
    Case(
        #"[[rule]]\#nmatch = ["a\"]", b.example]"#,
        #"f:2:18: syntax: found b.example; a string needs quotes: write "b.example""#),
    Case(
        #"[[rule]]\#nmatch = ["a\"]" "b.example"]"#,
        #"f:2:17: syntax: a , is missing in the array: write , behind "a\"]""#),
    // Characters of other scripts without quotes.
    Case(
        #"[[rule]]\#nmatch = bücher.de"#,
        #"""
        f:2:9: rule.match: found bücher.de; allowed: an array of 1 to 1000 names; brackets are missing: write \#
        ["xn--bcher-kva.de"]
        """#),
    Case(
        #"[prefetch]\#nnames = ["a.example", bücher.de]"#,
        #"f:2:23: syntax: found bücher.de; a string needs quotes: write "bücher.de""#),
    // Several words without quotes.
    Case(
        #"[prefetch]\#nkeep = [a b]"#,
        #"""
        f:2:9: syntax: found a; a string needs quotes; an array needs quotes around strings, a , between them and \#
        a ] at its end
        """#),
    Case(
        #"[prefetch]\#nkeep = [\#n    a.example,\#n    b.example\#n]"#,
        #"""
        f:3:5: syntax: found a.example; a string needs quotes; an array needs quotes around strings, a , between \#
        them and a ] at its end
        """#),
    Case(
        #"[[provider]]\#nname = my own"#,
        #"f:2:8: syntax: found my; a string needs quotes"#),
    // Arrays where none is allowed.
    Case(
        #"[cache]\#nsize = [a,b"#,
        #"""
        f:2:8: cache.size: found an array; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB)
        """#),
    Case(
        #"[cache]\#nsize = ["32MiB" "64MiB"]"#,
        #"""
        f:2:8: cache.size: found an array; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB)
        """#),
    Case(
        #"[cache]\#nsize = ["32MiB"\#nstore = """#,
        #"""
        f:2:8: cache.size: found an array; allowed: a size from 1MiB to 64GiB with its unit (B, KiB, MiB, GiB)
        """#),
    Case(
        #"[network]\#nwatch = [a b]"#,
        #"f:2:9: network.watch: found an array; allowed: true or false"#),
]
