// Receivers of events without a required key, or with invalid ones. No message shows their URLs, because these may hold
// a token.

private let url =
    "found a value that is not shown, because it may be a key; allowed: "
    + "\"https://HOST[:PORT]/PATH[?QUERY]\" or \"http://HOST[:PORT]/PATH[?QUERY]\" without user name and fragment"

let wrongReceivers: [Case] =
    [
        "https://user:hunter2@192.0.2.1/", "https://192.0.2.1/#hunter2", "192.0.2.1/hunter2", "ftp://192.0.2.1/hunter2",
        "https://192.0.2.1/a?hunter2 b", "https://192.0.2.1/a?hunter2\\n", "https://192.0.2.1:0/?hunter2",
        "https://192.0.2.1/?" + String(repeating: "hunter2", count: 200),
    ].map { Case("[[notify]]\nurl = \"\($0)\"", "f:2:7: notify.url: \(url)") } + [
        Case(
            "[[notify]]\nevents = [\"outage\"]",
            #"f:1:1: this [[notify]] has no url; write, for example, url = "https://HOST/PATH""#),
        Case(
            "[[notify]]\nurl = \"https://alerts.example/hunter2\"",
            """
            f:2:7: notify.url: found the host name "alerts.example" and no addresses; the daemon does not resolve \
            names through itself: add addresses = ["..."] with the server's addresses
            """),
        Case(
            "[[notify]]\nurl = \"http://192.0.2.1\"\nca-file = \"/ca.pem\"",
            "f:3:11: notify.ca-file: found with an http URL; allowed: with https"),
        Case(
            "[[notify]]\nurl = \"http://192.0.2.1\"\nevents = [\"outage\", \"outage\"]",
            "f:3:10: notify.events: found one for the second time; allowed: each once"),
        Case(
            "[[notify]]\nurl = \"http://192.0.2.1\"\nevents = []\nkey-file = \"../hunter2\"",
            """
            f:3:10: notify.events: found 0 elements; allowed: an array of 1 to 3 of "evidence", "outage" and "recovery"
            """,
            """
            f:4:12: notify.key-file: found a value that is not shown, because it may be a key; allowed: the absolute \
            path of a file, or the name of a systemd credential
            """),
        Case(
            "[[notify]]\nurl = \"http://192.0.2.1\"\nkeyfile = \"/k\"",
            """
            f:3:1: unknown key "keyfile" in [[notify]]; did you mean "key-file"? allowed: url, addresses, events, \
            key-file, ca-file
            """),
        Case(
            "[notify]\nurl = \"http://192.0.2.1\"",
            "f:1:1: notify: found a table; allowed: tables [[notify]]; two brackets on each side: write [[notify]]"),
        Case(
            String(repeating: "[[notify]]\nurl = \"http://192.0.2.1\"\n", count: 5),
            "f:1:1: notify: found 5 tables; allowed: 0 to 4"),
    ]
