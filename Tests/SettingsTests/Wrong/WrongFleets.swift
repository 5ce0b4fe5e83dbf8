// Fleets without a required key, or with an invalid one.

private let whole = "[fleet]\nserver = \"unix:/s\"\nsite = \"a\"\nkey-file = \"/etc/fleet.key\"\n"

private let servers =
    #"allowed: "unix:/PATH" or "redis://ADDR[:PORT]", or an array of 0 to 4 servers"#

let wrongFleets: [Case] = [
    Case(
        "[fleet]",
        "f:1:1: fleet: found no key-file; all members need the same key, such as the output of: openssl rand -hex 32",
        #"f:1:1: fleet: found no server; write, for example, server = "unix:/run/redis/redis-server.sock""#,
        #"f:1:1: fleet: found no site; name the place whose members get the same answers, such as site = "sh-a""#),
    Case(
        whole + "user = \"httpdnsd\"",
        "f:1:1: fleet: found user without password-file; a user of Redis has a password"),
    Case(
        whole.replacing("unix:/s", with: "redis://redis.example:6379"),
        #"f:2:10: fleet.server: found "redis://redis.example:6379"; "# + servers),
    Case(whole.replacing("unix:/s", with: "/s"), #"f:2:10: fleet.server: found "/s"; "# + servers),
    Case(
        whole + "read-timeout = \"1s\"",
        #"f:5:16: fleet.read-timeout: found "1s"; allowed: a duration from 1ms to 100ms with its unit "#
            + "(ms, s, m, h, d)"),
    Case(
        whole + "share = [\"leases\", \"flush\"]",
        #"f:5:9: fleet.share: found "leases" without "answers"; a lease is for an answer: add "answers""#),
]
