// One mistake for each key of a provider, its template and a rule, in one file; and keys that are wrong together.

/// A line of the file, and the complaint about it from its key on; nil for a valid line.
typealias Mistake = (line: String, column: Int, complaint: String?)

private func duration(_ bounds: String) -> String { "a duration \(bounds) with its unit (s, m, h, d)" }

private let file = "the absolute path of a file, or the name of a systemd credential"
let hidden = "a value that is not shown, because it may be a key"
private let query =
    "a table of up to 10 names \"sdns-NAME\" of letters, digits, \"-\" and \"_\", each with a string of letters, "
    + "digits, \"-\", \"_\" and \"=\"; 1,000 bytes in all"
private let tags = "an array of up to 5 different tags of letters, digits and \"-\"; 64 bytes with commas between them"
private let text = "0 to 2000 printable ASCII characters"

let wrongKeys: [Mistake] = [
    ("only-listed = \"yes\"", 15, "only-listed: found \"yes\"; allowed: true or false; write true"),
    ("blocked-answer = \"0\"", 18, "blocked-answer: found \"0\"; allowed: \"nxdomain\", \"nodata\", \"0.0.0.0\""),
    ("direct-only = 1", 15, "direct-only: found 1; allowed: true or false"),
    (
        "local-zone = 7", 14,
        "local-zone: found 7; allowed: a domain name, such as \"www.example.com\", or an array of 0 to 16 names"
    ),
    (
        "hosts-directory = \"h\"", 19,
        "hosts-directory: found \"h\"; allowed: an absolute path of at most 4095 bytes"
    ),
    (
        "lease-files = \"l\"", 15,
        """
        lease-files: found "l"; allowed: an absolute path of at most 4095 bytes, or an array of 0 to 4 absolute paths
        """
    ),
    ("[[provider]]", 0, nil),
    (
        "name = \"a b\"", 8,
        """
        provider.name: found "a b"; allowed: 1 to 32 letters, digits, "-", "_" or "."; not "httpdns", "system" or "link"
        """
    ),
    (
        "dialect = \"volcegine\"", 11,
        """
        provider.dialect: found "volcegine"; allowed: "dnspod", "dnspod-des", "dnspod-aes", "dnspod-https", \
        "alicloud", "alicloud-v2", "volcengine", "json", "doh", "baidu", "ucloud", "template"; did you mean \
        "volcengine"?
        """
    ),
    (
        "url = \"https://user:hunter2@192.0.2.1/\"", 7,
        """
        provider.url: found \(hidden); allowed: "https://HOST[:PORT]/PATH" or \
        "http://HOST[:PORT]/PATH" without user name, query and fragment
        """
    ),
    (
        "addresses = [\"dns.example\"]", 14,
        "provider.addresses: found \"dns.example\"; allowed: an IPv4 or IPv6 address without port or brackets"
    ),
    ("sni = \"192.0.2.1\"", 7, "provider.sni: found \"192.0.2.1\"; allowed: a host name"),
    (
        "verify-name = \"*.example\"", 15,
        "provider.verify-name: found \"*.example\"; allowed: a host name or an IP address"
    ),
    ("host = \"a/b\"", 8, "provider.host: found \"a/b\"; allowed: \"HOST\" or \"HOST:PORT\""),
    (
        "ca-file = \"ca.pem\"", 11,
        "provider.ca-file: found \"ca.pem\"; allowed: an absolute path of at most 4095 bytes"
    ),
    (
        "account = 1234", 11,
        "provider.account: found \(hidden); allowed: 1 to 64 letters, digits, \"-\", \"_\" or \".\""
    ),
    (
        "access-key = \"LTAI 1\"", 14,
        "provider.access-key: found \(hidden); allowed: 1 to 64 letters, digits, \"-\", \"_\" or \".\""
    ),
    ("key-file = \"keys/a\"", 12, "provider.key-file: found \(hidden); allowed: \(file)"),
    (
        "cipher = \"aes\"", 10,
        "provider.cipher: found \"aes\"; allowed: \"none\", \"cbc\", \"gcm\""
    ),
    ("cipher-key-file = \"..\"", 19, "provider.cipher-key-file: found \(hidden); allowed: \(file)"),
    ("expiring = \"true\"", 12, "provider.expiring: found \"true\"; allowed: true or false; leave out the quotes"),
    (
        "region = \"globl\"", 10,
        """
        provider.region: found "globl"; allowed: "cn", "hk", "sg", "de", "us", "global"; did you mean "global"?
        """
    ),
    ("service-nodes = 0", 17, "provider.service-nodes: found 0; allowed: true or false"),
    ("query = {\"sdns-level\" = 1}", 25, "provider.query: found \(hidden); allowed: \(query)"),
    ("tags = [\"beta 2\"]", 8, "provider.tags: found an array; allowed: \(tags)"),
    ("app-id = 7", 10, "provider.app-id: found \(hidden); allowed: 1 to 64 letters, digits, \"-\", \"_\" or \".\""),
    (
        "client-subnet = \"192.0.2.7/24\"", 17,
        """
        provider.client-subnet: found "192.0.2.7/24"; allowed: "ADDR/LENGTH", such as "192.0.2.0/24", or \
        "auto"; bits after the prefix are set: write "192.0.2.0/24"
        """
    ),
    (
        "client-subnet-form = \"plain\"", 22,
        "provider.client-subnet-form: found \"plain\"; allowed: \"clear\", \"encrypted\""
    ),
    (
        "proxy = \"http://user:hunter2@192.0.2.1:3128\"", 9,
        """
        provider.proxy: found \(hidden); allowed: "http://[USER@]ADDR:PORT" or \
        "socks5h://[USER@]ADDR:PORT" with an IP address; put the password into a file of its own and name \
        that with proxy-key-file
        """
    ),
    ("proxy-key-file = \"a:b\"", 18, "provider.proxy-key-file: found \(hidden); allowed: \(file)"),
    ("trust-ad = \"yes\"", 12, "provider.trust-ad: found \"yes\"; allowed: true or false; write true"),
    ("filters = \"no\"", 11, "provider.filters: found \"no\"; allowed: true or false; write false"),
    ("views-only = 1", 14, "provider.views-only: found 1; allowed: true or false"),
    ("method = \"get\"", 10, "provider.method: found \"get\"; allowed: \"GET\", \"POST\""),
    (
        "budget = 50", 10,
        """
        provider.budget: found 50; allowed: a rate from 1/s to 10000/s with its unit (/s); a unit is missing: \
        write "50/s"
        """
    ),
    ("price = -1", 9, "provider.price: found -1; allowed: a number from 0.0 to 1000000.0"),
    ("audit = 1", 9, "provider.audit: found 1; allowed: true or false"),
    ("shadow = 5", 10, "provider.shadow: found 5; allowed: a number from 0.001 to 1.0"),
    (
        "names = [\"*.a.example\"]", 10,
        """
        provider.names: found "*.a.example"; allowed: a domain name for it and all names below it, or "=NAME" for \
        that name alone; a name includes its subdomains: write "a.example"
        """
    ),
    (
        "names-file = \"names\"", 14,
        "provider.names-file: found \"names\"; allowed: an absolute path of at most 4095 bytes"
    ),
    ("exclusive = 1", 13, "provider.exclusive: found 1; allowed: true or false"),
    (
        "quota = \"1,000\"", 9,
        """
        provider.quota: found "1,000"; allowed: "COUNT/day" or "COUNT/month" with 1 to 1000000000000 questions; a \
        period is missing: write "1000/month"
        """
    ),
    (
        "when-used-up = \"later\"", 16,
        "provider.when-used-up: found \"later\"; allowed: \"wait\", \"next\", \"system\""
    ),
    ("hedge = \"yes\"", 9, "provider.hedge: found \"yes\"; allowed: true or false; write true"),
    (
        "timeout = \"16s\"", 11,
        "provider.timeout: found \"16s\"; allowed: a duration from 200ms to 15s with its unit (ms, s, m, h, d)"
    ),
    ("idle = \"11m\"", 8, "provider.idle: found \"11m\"; allowed: \(duration("from 1s to 10m"))"),
    (
        "connection-requests = 0", 23,
        "provider.connection-requests: found 0; allowed: an integer from 1 to 100000 (on one connection)"
    ),
    ("[provider.template]", 0, nil),
    (
        "query = \"\"", 9,
        "provider.template.query: found \(hidden); allowed: 1 to 2000 printable ASCII characters"
    ),
    (
        "headers = \"A: b\"", 11,
        """
        provider.template.headers: found \(hidden); allowed: an array of 0 to 16 strings; brackets are missing
        """
    ),
    (
        "max-names = 21", 13,
        "provider.template.max-names: found 21; allowed: an integer from 1 to 20 (in one request)"
    ),
    (
        "lifetime = 300", 12,
        """
        provider.template.lifetime: found 300; allowed: \(duration("from 1s to 24h")); a unit is missing: \
        write "300s"
        """
    ),
    (
        "digest = \"sha1\"", 10,
        """
        provider.template.digest: found "sha1"; allowed: "none", "md5", "sha256", "hmac-sha256"
        """
    ),
    ("signed = [\"é\"]", 11, "provider.template.signed: found \(hidden); allowed: \(text)"),
    ("sort = \"false\"", 8, "provider.template.sort: found \"false\"; allowed: true or false; leave out the quotes"),
    ("join = \"\\n\"", 8, "provider.template.join: found \(hidden); allowed: \(text)"),
    ("v4 = 4", 6, "provider.template.v4: found 4; allowed: \(text)"),
    ("v6 = []", 6, "provider.template.v6: found an array; allowed: \(text)"),
    ("ttl = 60", 7, "provider.template.ttl: found 60; allowed: \(text)"),
    ("success = true", 11, "provider.template.success: found true; allowed: \(text)"),
    (
        "name-status = [403, 500]", 21,
        "provider.template.name-status: found 500; allowed: an integer from 400 to 499 (HTTP status)"
    ),
    ("[[rule]]", 0, nil),
    (
        "match = [\"a..b\"]", 10,
        "rule.match: found \"a..b\"; allowed: a domain name, such as \"example.com\", or \".\" for every name"
    ),
    (
        "match-file = [\"names\"]", 15,
        "rule.match-file: found \"names\"; allowed: an absolute path of at most 4095 bytes"
    ),
    (
        "resolver = true", 12,
        "rule.resolver: found true; allowed: \"httpdns\", \"system\", \"link\" or the name of a [[provider]] or "
            + "[[nameserver]]"
    ),
    ("query = {\"level\" = \"vip\"}", 9, "rule.query: found a table; allowed: \(query)"),
    ("tags = \"beta\"", 8, "rule.tags: found \(hidden); allowed: \(tags)"),
    ("app-id = \"a b\"", 10, "rule.app-id: found \(hidden); allowed: 1 to 64 letters, digits, \"-\", \"_\" or \".\""),
    (
        "stands-in = \"always\"", 13,
        "rule.stands-in: found \"always\"; allowed: \"unreachable\", \"any-failure\", \"never\""
    ),
    ("order = \"local\"", 9, "rule.order: found \"local\"; allowed: \"providers-first\", \"system-first\""),
    (
        "family = \"v4\"", 10,
        "rule.family: found \"v4\"; allowed: \"both\", \"ipv4\", \"ipv6\", \"prefer-ipv4\", \"prefer-ipv6\""
    ),
    ("allow-private = \"yes\"", 17, "rule.allow-private: found \"yes\"; allowed: true or false; write true"),
    ("stale = 0", 9, "rule.stale: found 0; allowed: true or false"),
    ("stale-negative = 1", 18, "rule.stale-negative: found 1; allowed: true or false"),
    ("prefetch = \"no\"", 12, "rule.prefetch: found \"no\"; allowed: true or false; write false"),
    ("probe = \"false\"", 9, "rule.probe: found \"false\"; allowed: true or false; leave out the quotes"),
    (
        "probe-ports = [443, 65536]", 21,
        "rule.probe-ports: found 65536; allowed: an integer from 1 to 65535 (a TCP port)"
    ),
    ("connect = 0", 11, "rule.connect: found 0; allowed: an integer from 1 to 65535 (a TCP port)"),
    (
        "min-ttl = \"8d\"", 11,
        "rule.min-ttl: found \"8d\"; allowed: a duration from 0s to 168h with its unit (ms, s, m, h, d)"
    ),
    (
        "max-ttl = 60", 11,
        """
        rule.max-ttl: found 60; allowed: a duration from 0s to 168h with its unit (ms, s, m, h, d); a unit is \
        missing: write "60s"
        """
    ),
    (
        "fallback-addresses = [\"[::1]\"]", 23,
        "rule.fallback-addresses: found \"[::1]\"; allowed: an IPv4 or IPv6 address without port or brackets"
    ),
    (
        "prefer-addresses = [\"203.0.113.7/24\"]", 21,
        """
        rule.prefer-addresses: found "203.0.113.7/24"; allowed: "ADDR/LENGTH", such as "192.168.0.0/16" or \
        "fd00::/8"; bits after the prefix are set: write "203.0.113.0/24"
        """
    ),
    (
        "expect = true", 10,
        """
        rule.expect: found true; allowed: a table of cname (true or false), max-ttl (a duration from 1s to 168h) and \
        within (an array of networks "ADDR/LENGTH"), or {} for no expectation
        """
    ),
    (
        "answer = \"nxdomian\"", 10,
        """
        rule.answer: found "nxdomian"; allowed: "nxdomain", "nodata", "refused", or an array of 1 to 16 IP addresses; \
        did you mean "nxdomain"?
        """
    ),
    (
        "extended-error = \"forged\"", 18,
        "rule.extended-error: found \"forged\"; allowed: \"blocked\", \"censored\", \"filtered\""
    ),
    (
        "cname = \"192.0.2.1\"", 9,
        "rule.cname: found \"192.0.2.1\"; allowed: a domain name, such as \"www.example.com\""
    ),
    (
        "txt = \"v=1\"", 7,
        """
        rule.txt: found "v=1"; allowed: an array of 1 to 16 strings; brackets are missing: write ["v=1"]
        """
    ),
    (
        "srv = [\"0 5 sip.example\"]", 8,
        """
        rule.srv: found "0 5 sip.example"; allowed: "PRIORITY WEIGHT PORT TARGET", such as \
        "0 5 5060 sip.example.com"; numbers up to 65535
        """
    ),
    (
        "view = \"my guests\"", 8,
        "rule.view: found \"my guests\"; allowed: 1 to 32 letters, digits, \"-\", \"_\" or \".\""
    ),
    (
        "nftset = \"filter#allowed\"", 10,
        """
        rule.nftset: found "filter#allowed"; allowed: "FAMILY#TABLE#SET" with the family ip, ip6 or inet, such as \
        "inet#filter#allowed"; "4#" or "6#" before it limits it to A or AAAA records, or an array of 0 to 8 sets; the \
        family is missing: write "ip#filter#allowed"
        """
    ),
]
