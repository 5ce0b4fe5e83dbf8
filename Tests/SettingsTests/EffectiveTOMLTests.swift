// The output of `--print-effective` and the example file, compared with the daemon's behaviour without a file.

import FoundationEssentials
import Settings
import Testing

@Suite("Effective settings")
struct EffectiveTOMLTests {
    @Test("the defaults print as a file that gives the defaults")
    func defaultsRoundTrip() throws {
        #expect(try parse(Settings.defaults.effectiveTOML) == .defaults)
        #expect(
            Settings.defaults.effectiveTOML.hasPrefix(
                """
                only-listed = false
                direct-only = false
                local-zone = []
                hosts-directory = ""
                lease-files = []
                blocked-answer = "nxdomain"

                [server]
                listen = ["127.0.0.1:53", "[::1]:53"]
                threads = 0
                allow = ["127.0.0.0/8", "::1/128"]
                client-rate = "500/s"
                prefix-rate = "2000/s"
                user = ""
                filter-aaaa = "never"
                dns64 = "off"

                [[provider]]
                name = "alidns"
                dialect = "json"
                url = "https://dns.alidns.com/resolve"
                addresses = ["223.5.5.5", "223.6.6.6"]
                idle = "10s"

                """))
    }

    @Test("what is set is printed, odd values and odd characters too")
    func changesRoundTrip() throws {
        let settings = try parse(oddFile)
        #expect(try parse(settings.effectiveTOML) == settings)
        for line in [
            "min-ttl = \"1500ms\"", "size = \"1025KiB\"", "socket = \"\"", "method = \"POST\"", "sni = \"s.example\"",
            "names = [\"a.example\", \"=b.example\"]\nnames-file = \"/n\"\nexclusive = true",
            "quota = \"1000000/month\"\nprice = 0.5\naudit = true\nhedge = true",
            "store = \"\"", "budget = \"250/s\"", "client-timeout = \"1750ms\"", "max-age = \"48h\"",
            "[[rule]]\nmatch = [\"corp.example\", \"lan\"]\nstale = false",
            "dialect = \"dnspod-https\"", "key-file = \"/k\"", "only-listed = true", "direct-only = true",
            "local-zone = \"lan\"",
            "hosts-directory = \"/h\"", "lease-files = [\"/l\", \"/m\"]",
            "client-subnet = \"2001:db8::/32\"", "client-subnet = \"auto\"",
            "proxy = \"socks5h://u.1@[2001:db8::1]:1080\"", "proxy-key-file = \"proxy.password\"", "shadow = 0.05",
            "shadow = 1.0", "timeout = \"250ms\"", "idle = \"90s\"", "connection-requests = 100000",
            "access-key = \"LTAI\"",
            "cipher = \"gcm\"", "cipher = \"none\"", "cipher-key-file = \"aes\"", "expiring = true",
            "expiring = false", "region = \"global\"", "service-nodes = false", "service-nodes = true",
            "[provider.template]\nquery = \"a=\\\"{names}\\\"&\\\\\"", "headers = [\"X-A: 1\", \"X-B: 2\"]",
            "max-names = 20", "lifetime = \"24h\"", "digest = \"hmac-sha256\"", "signed = [\"{key}\", \"\"]",
            "sort = true",
            "join = \"-\"", "v4 = \"data.ips\"", "v6 = \"data.ipsv6\"", "ttl = \"data.ttl\"", "success = \"msg=ok\"",
            "name-status = [403, 404]", "client-subnet-form = \"encrypted\"",
            "[probe]\nenabled = false\nports = [8443, 443]\ntimeout = \"1500ms\"\nca-file = \"/etc/ca.pem\"",
            "http = true", "client-rate = \"off\"\nprefix-rate = \"7/s\"",
            "filter-aaaa = \"no-route\"\ndns64 = \"auto\"",
            "[[notify]]\nurl = \"https://alerts.example:8443/a?b=c&d\"\naddresses = [\"2001:db8::7\"]\n"
                + "events = [\"recovery\", \"outage\"]\nkey-file = \"notify\"\nca-file = \"/etc/ca.pem\"",
            "[[notify]]\nurl = \"http://192.0.2.7/\"\naddresses = [\"192.0.2.7\"]\n"
                + "events = [\"evidence\", \"outage\", \"recovery\"]",
            "[[nameserver]]\nname = \"corp\"\nservers = [\"192.0.2.53:53\", \"[2001:db8::53]:5353\", "
                + "\"tls://192.0.2.54:853\", \"tls://[2001:db8::54]:8853#dns.corp.example\"]\n"
                + "names = [\"corp.example\", \"10.in-addr.arpa\", \"x.lan\"]\nca-file = \"/etc/corp.pem\"\n"
                + "interface = \"tun0\"",
            "[[nameserver]]\nname = \"least\"\nservers = [\"192.0.2.55:53\"]\n", "resolver = \"corp\"",
            "servers = [\"tls://192.0.2.56:853\"]\ntrust-ad = true",
            "[[view]]\nname = \"guests\"\nclients = [\"192.168.7.0/24\", \"fd00::/8\"]\nproviders = [\"x\"]\n"
                + "client-subnet = \"203.0.113.0/24\"",
            "view = \"guests\"", "views-only = true",
            "nftset = [\"inet#filter#allowed\", \"4#ip#nat#corp\"]", "nftset-socket = \"/run/n.sock\"",
            "query = {\"sdns-level\" = \"v=i_p-\", \"sdns-region\" = \"eu\"}", "tags = [\"ios\", \"beta-2\"]",
            "query = {\"sdns-a\" = \"b\"}\ntags = [\"c\"]\n", "app-id = \"com.demo\"",
            "[network]\nwatch = false",
            "[fleet]\nserver = [\"unix:/run/redis.sock\", \"redis://192.0.2.7:6379\"]\nsite = \"sh-a\"\n"
                + "key-file = [\"/etc/new.key\", \"old\"]\nuser = \"httpdnsd\"\npassword-file = \"/etc/redis.pw\"\n"
                + "read-timeout = \"7ms\"\nshare = [\"answers\", \"flush\"]",
            "probe = true", "probe-ports = [853]",
            "resolver = \"system\"", "resolver = \"httpdns\"", "resolver = \"y\"", "allow-private = true",
            "family = \"prefer-ipv6\"",
        ] {
            #expect(settings.effectiveTOML.contains(line + "\n"), "\(line)")
        }
    }

    @Test("long lists print on lines that can be read again")
    func longLists() throws {
        let names = (0..<1000).map { "\"n\($0).example\",\n" }.joined()
        let prefixes = (0..<256).map { "\"2001:db8:\(String($0, radix: 16))::/48\",\n" }.joined()
        let settings = try parse("[server]\nallow = [\(prefixes)]\n[prefetch]\nnames = [\(names)]")
        #expect(settings.prefetch.names.count == 1000)
        #expect(try parse(settings.effectiveTOML) == settings)
    }

    @Test("the example file says what serves without a file")
    func exampleFile() throws {
        let text = try example()
        #expect(try parse(text) == .defaults)
        for line in Settings.defaults.effectiveTOML.split(separator: "\n")
        where !line.hasPrefix("method") && !line.hasPrefix("idle") {
            #expect(text.contains(line), "\(line)")
        }
    }

    @Test("the examples in its comments are settings, too")
    func examplesInComments() throws {
        let lines = try example().split(separator: "\n", omittingEmptySubsequences: false)
        let text = lines.map { line in
            let rest = line.dropFirst(2)
            let isSetting = rest.hasPrefix("[") ? rest.hasSuffix("]") : rest.drop { $0 != " " }.hasPrefix(" = ")
            return line.hasPrefix("# ") && isSetting ? String(rest) : String(line)
        }
        let settings = try parse(text.joined(separator: "\n"))
        // A template, and a provider of each kind.
        #expect(settings.providers.count == Settings.defaults.providers.count + 3)
        #expect(settings.providers.contains { $0.template != nil } && settings.rules.count == 6)
        #expect(settings.receivers.count == 1 && settings.nameservers.count == 1)
    }
}

private func example() throws -> String {
    let path = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined() + "/etc/httpdnsd.toml"
    return try String(contentsOfFile: path, encoding: .utf8)
}

private let oddFile = #"""
    only-listed = true
    direct-only = true
    local-zone = ["LAN."]
    hosts-directory = "/h"
    lease-files = ["/l", "/m"]
    blocked-answer = "0.0.0.0"
    [[notify]]
    url = "https://alerts.example:8443/a?b=c&d"
    addresses = ["2001:db8::7"]
    events = ["recovery", "outage"]
    key-file = "notify"
    ca-file = "/etc/ca.pem"
    [[notify]]
    url = "http://192.0.2.7"
    [[nameserver]]
    name = "corp"
    servers = [
        "192.0.2.53", "[2001:db8::53]:5353", "tls://192.0.2.54", "tls://[2001:db8::54]:8853#DNS.corp.example"
    ]
    names = ["corp.example", "10.in-addr.arpa", "x.lan"]
    ca-file = "/etc/corp.pem"
    interface = "tun0"
    [[nameserver]]
    name = "least"
    servers = ["192.0.2.55"]
    [[nameserver]]
    name = "validating"
    servers = ["tls://192.0.2.56"]
    trust-ad = true
    [[view]]
    name = "guests"
    clients = ["192.168.7.0/24", "fd00::/8"]
    providers = ["x"]
    client-subnet = "203.0.113.0/24"
    [server]
    listen = ["[fe80::1]:5353"]
    threads = 3
    allow = ["0.0.0.0/0", "::/0"]
    client-rate = "off"
    prefix-rate = "7/s"
    user = "resolver"
    filter-aaaa = "no-route"
    dns64 = "auto"
    [[provider]]
    name = "x"
    dialect = "doh"
    url = "http://127.0.0.1:8080/dns-query"
    host = "lab.example"
    method = "POST"
    client-subnet = "2001:db8::/32"
    proxy = "SOCKS5H://u.1@[2001:db8::1]:1080/"
    proxy-key-file = "proxy.password"
    views-only = true
    timeout = "250ms"
    idle = "90s"
    connection-requests = 100000
    [[provider]]
    name = "y"
    dialect = "dnspod"
    url = "https://[2001:db8::1]/d"
    addresses = ["192.0.2.1"]
    sni = "s.example"
    verify-name = "v.example"
    ca-file = "/a \"b\"\\c\té"
    account = "1"
    budget = "250/s"
    names = ["A.example", "=b.example"]
    names-file = "/n"
    exclusive = true
    quota = "1000000/month"
    price = 0.5
    audit = true
    hedge = true
    [[provider]]
    name = "z"
    dialect = "dnspod-https"
    url = "https://119.29.29.99/d"
    account = "2"
    key-file = "/k"
    client-subnet = "auto"
    shadow = 0.05
    [[provider]]
    name = "pdns"
    dialect = "json"
    url = "http://223.5.5.5/resolve"
    account = "9999"
    access-key = "LTAI"
    key-file = "pdns"
    shadow = 1
    [[provider]]
    name = "des"
    dialect = "dnspod-des"
    url = "http://119.29.29.98/d"
    account = "1"
    key-file = "/k"
    expiring = true
    client-subnet-form = "encrypted"
    [[provider]]
    name = "emas"
    dialect = "alicloud"
    url = "https://203.107.1.1"
    account = "100000"
    region = "global"
    service-nodes = false
    [[provider]]
    name = "emas-2"
    dialect = "alicloud-v2"
    url = "https://203.107.1.1"
    account = "100000"
    key-file = "/k"
    cipher-key-file = "aes"
    query = {sdns-region = "eu", "sdns-level" = "v=i_p-"}
    tags = ["ios", "beta-2"]
    [[provider]]
    name = "emas-3"
    dialect = "alicloud-v2"
    url = "https://203.107.1.1"
    account = "100000"
    key-file = "/k"
    cipher = "none"
    [[provider]]
    name = "other"
    dialect = "template"
    url = "https://192.0.2.1/resolve"
    [provider.template]
    query = 'a="{names}"&\'
    headers = ["X-A: 1", "X-B: 2"]
    max-names = 20
    lifetime = "1440m"
    digest = "hmac-sha256"
    signed = ["{key}", ""]
    sort = true
    join = "-"
    v4 = "data.ips"
    v6 = "data.ipsv6"
    ttl = "data.ttl"
    success = "msg=ok"
    name-status = [403, 404]
    [[provider]]
    name = "ucloud"
    dialect = "ucloud"
    url = "http://192.0.2.1/"
    account = "1"
    key-file = "/k"
    app-id = "com.demo"
    [[rule]]
    match = ["a.example"]
    resolver = "emas-2"
    query = {"sdns-a" = "b"}
    tags = ["c"]
    [system-resolver]
    servers = ["192.0.2.1:54"]
    resolv-conf = "/r"
    stands-in = "any-failure"
    order = "system-first"
    patience = "1s"
    compare = "all"
    [cache]
    size = "1025KiB"
    min-ttl = "1500ms"
    max-ttl = "61s"
    negative-max-ttl = "0ms"
    store = ""
    [prefetch]
    enabled = false
    names = ["a.example"]
    [stale]
    max-age = "2d"
    answer-ttl = "90s"
    client-timeout = "1750ms"
    recheck = "1m"
    last-known-good = "2m"
    [probe]
    enabled = false
    ports = [8443, 443]
    timeout = "1500ms"
    ca-file = "/etc/ca.pem"
    http = true
    [network]
    watch = false
    [fleet]
    server = ["unix:/run/redis.sock", "redis://192.0.2.7"]
    site = "sh-a"
    key-file = ["/etc/new.key", "old"]
    user = "httpdnsd"
    password-file = "/etc/redis.pw"
    read-timeout = "7ms"
    share = ["answers", "flush"]
    [control]
    socket = ""
    nftset-socket = "/run/n.sock"
    [log]
    level = "debug"
    [[rule]]
    match = ["corp.example", "lan"]
    stale = false
    [[rule]]
    match = ["."]
    resolver = "system"
    stands-in = "never"
    order = "providers-first"
    allow-private = true
    stale-negative = true
    prefetch = false
    probe = true
    probe-ports = [853]
    min-ttl = "1s"
    max-ttl = "1500ms"
    fallback-addresses = ["192.0.2.1", "2001:db8::1"]
    [[rule]]
    match = ["a.example"]
    resolver = "y"
    [[rule]]
    match = ["n.example"]
    resolver = "corp"
    nftset = ["inet#filter#allowed", "4#ip#nat#corp"]
    [[rule]]
    match = ["b.example"]
    resolver = "httpdns"
    family = "prefer-ipv6"
    connect = 8080
    expect = {cname = false, max-ttl = "90s", within = ["192.0.2.0/24", "2001:db8::/32"]}
    [[rule]]
    match = ["c.example"]
    expect = {}
    [[rule]]
    match = ["d.example"]
    view = "guests"
    answer = "refused"
    extended-error = "censored"
    [[rule]]
    match = ["e.example"]
    answer = ["192.0.2.1", "2001:db8::1"]
    txt = ["say \"hi\"", ""]
    srv = ["0 5 5060 sip.example.com", "1 0 65535 ."]
    [[rule]]
    match = ["f.example"]
    cname = "www.example.com"
    """#
