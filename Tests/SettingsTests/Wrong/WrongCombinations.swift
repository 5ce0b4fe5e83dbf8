// Keys of a provider that are valid alone and wrong together, or with the dialect; and rules that name a provider.

private func provider(_ dialect: String, _ lines: String, url: String = "https://192.0.2.1/") -> String {
    "[[provider]]\nname = \"a\"\ndialect = \"\(dialect)\"\nurl = \"\(url)\"\n\(lines)"
}

private func account(_ dialect: String) -> String {
    "f:1:1: this [[provider]] has no account; dialect \"\(dialect)\" needs the id that the vendor gave you: "
        + "write account = \"ID\""
}

private func keyFile(_ dialect: String) -> String {
    "f:1:1: this [[provider]] has no key-file; dialect \"\(dialect)\" needs a file with the account's token or key: "
        + "write key-file = \"/etc/httpdnsd/\(dialect).key\""
}

private let key = "key-file = \"/k\"\n"

let wrongCombinations: [Case] =
    ["dnspod-des", "dnspod-aes", "alicloud-v2", "volcengine", "baidu", "ucloud"].map {
        Case(provider($0, ""), account($0), keyFile($0))
    } + [
        Case(provider("alicloud", ""), account("alicloud")),
        Case(provider("dnspod-https", "account = \"1\""), keyFile("dnspod-https")),
        Case(
            provider("json", "exclusive = true"),
            #"f:5:13: provider.exclusive: found true without names or names-file; write names = ["example.com"]"#),
        Case(
            provider("json", "names = [\"a.example\"]\nshadow = 0.5"),
            "f:6:10: provider.shadow: found with names; allowed: without, as a shadow is asked for any name"),
        Case(
            provider("template", ""),
            """
            f:1:1: this [[provider]] has no [provider.template]; dialect "template" needs it behind the other keys
            """),
        Case(
            provider("template", "[provider.template]\n"),
            "f:5:1: this [provider.template] has neither v4 nor v6; it needs where a reply holds addresses",
            "f:5:1: this [provider.template] has no query; every template needs it"),
        Case(
            provider("template", "template = 3"),
            "f:5:1: provider.template: found 3; allowed: a table [provider.template]"),
        Case(
            provider("template", "[provider.template]\nquery = \"q\"\nv4 = \"ips\"\ndigst = \"md5\""),
            """
            f:8:1: unknown key "digst" in [provider.template]; did you mean "digest"? allowed: query, headers, \
            max-names, lifetime, digest, signed, sort, join, v4, v6, ttl, success, name-status
            """),
        Case(
            provider("json", "[provider.template]\nquery = \"q\"\nv6 = \"ips\""),
            "f:5:1: provider.template: found with dialect \"json\"; allowed: with \"template\""),
        Case(
            provider(
                "doh",
                """
                account = "1"
                access-key = "a"
                key-file = "/k"
                cipher = "none"
                cipher-key-file = "/c"
                expiring = false
                region = "cn"
                service-nodes = true
                client-subnet-form = "clear"
                """),
            "f:5:11: provider.account: found with dialect \"doh\"; allowed: with every dialect but \"doh\"",
            "f:6:14: provider.access-key: found with dialect \"doh\"; allowed: with \"json\"",
            """
            f:7:12: provider.key-file: found with dialect "doh"; allowed: with every dialect but "dnspod", "doh"
            """,
            "f:8:10: provider.cipher: found with dialect \"doh\"; allowed: with \"alicloud-v2\"",
            "f:9:19: provider.cipher-key-file: found with dialect \"doh\"; allowed: with \"alicloud-v2\"",
            """
            f:10:12: provider.expiring: found with dialect "doh"; allowed: with "dnspod-des", "dnspod-aes", \
            "dnspod-https"
            """,
            "f:11:10: provider.region: found with dialect \"doh\"; allowed: with \"alicloud\", \"alicloud-v2\"",
            """
            f:12:17: provider.service-nodes: found with dialect "doh"; allowed: with every dialect but "dnspod", \
            "json", "doh", "template"
            """,
            """
            f:13:22: provider.client-subnet-form: found with dialect "doh"; allowed: with "dnspod-des", "dnspod-aes"
            """),
        Case(
            provider("json", "access-key = \"a\"\n\(key)"),
            """
            f:5:14: provider.access-key: found without account; allowed with dialect "json": account, access-key and \
            key-file together, or none of them
            """),
        Case(
            provider("json", "account = \"1\""),
            """
            f:5:11: provider.account: found without access-key and key-file; allowed with dialect "json": account, \
            access-key and key-file together, or none of them
            """),
        Case(
            provider("ucloud", "account = \"1\"\n\(key)client-subnet = \"auto\""),
            """
            f:7:17: provider.client-subnet: found with dialect "ucloud"; allowed: with every dialect but "ucloud"
            """),
        Case(
            provider("alicloud-v2", "account = \"1\"\n\(key)cipher = \"cbc\""),
            "f:7:10: provider.cipher: found without cipher-key-file; name the file with the AES key there"),
        Case(
            provider("alicloud-v2", "account = \"1\"\n\(key)cipher = \"none\"\ncipher-key-file = \"/c\""),
            "f:8:19: provider.cipher-key-file: found with cipher \"none\"; allowed: with \"cbc\", \"gcm\""),
        Case(
            provider("dnspod-https", key, url: "http://119.29.29.99/d"),
            """
            f:4:7: provider.url: found an http URL with dialect "dnspod-https", which sends the token as it is; \
            allowed: https, and http to a loopback address
            """),
        Case(
            provider("doh", "proxy-key-file = \"p\""),
            "f:5:18: provider.proxy-key-file: found without proxy; write proxy = \"http://USER@ADDR:PORT\""),
        Case(
            provider("doh", "proxy = \"socks5h://192.0.2.1:1080\"\nproxy-key-file = \"p\""),
            """
            f:6:18: provider.proxy-key-file: found with a proxy without a user; write \
            proxy = "http://USER@ADDR:PORT"
            """),
        Case(
            provider("doh", "shadow = 0.5\n") + provider("doh", "shadow = 1.0").replacing("\"a\"", with: "\"b\""),
            "f:5:1: provider.shadow: found in every [[provider]]; allowed: with at least one provider that has none"),
        Case(
            "[[rule]]\nmatch = [\".\"]\nresolver = \"alidnss\"",
            """
            f:3:12: rule.resolver: found "alidnss"; allowed: "httpdns", "system", "link", "alidns", "dnspod", \
            "google", "cloudflare"; did you mean "alidns"?
            """),
        Case(
            provider("doh", "[[rule]]\nmatch = [\".\"]\nresolver = \"alidns\""),
            "f:7:12: rule.resolver: found \"alidns\"; allowed: \"httpdns\", \"system\", \"link\", \"a\""),
        Case(
            provider("dh", "[[rule]]\nmatch = [\".\"]\nresolver = \"a\""),
            """
            f:3:11: provider.dialect: found "dh"; allowed: "dnspod", "dnspod-des", "dnspod-aes", "dnspod-https", \
            "alicloud", "alicloud-v2", "volcengine", "json", "doh", "baidu", "ucloud", "template"; did you mean "doh"?
            """),
        Case(
            "[server]\nonly-listed = true",
            """
            f:2:1: unknown key "only-listed" in [server]; it belongs at the top of the file, above every table; \
            allowed: listen, threads, allow, client-rate, prefix-rate, user, filter-aaaa, dns64
            """),
    ]

/// Proxies that are wrong, with the text after "allowed: ..." in the complaint.
let wrongProxies: [(text: String, remedy: String)] = {
    let address = "; the daemon does not resolve names through itself: write the address of the proxy, with its port"
    return [
        ("http://proxy.example:3128", address), ("http://user@proxy.example", address), ("http://", address),
        ("http://192.0.2.1", "; a port is missing"), ("socks5h://u@[2001:db8::1]", "; a port is missing"),
        ("socks5://192.0.2.1:1080", "; did you mean socks5h?"),
        ("https://192.0.2.1:443", ""), ("http://192.0.2.1:0", ""), ("192.0.2.1:3128", ""), ("ftp://192.0.2.1:3128", ""),
        ("http://@192.0.2.1:3128", ""), ("http://a%41@192.0.2.1:3128", ""), ("http://192.0.2.1:3128/x", address),
    ]
}()
