// Secrets in wrong files, and their absence from the messages.

import Settings
import Testing

@Suite("Secrets in messages")
struct SecretTests {
    /// Lines with the word SECRET in place of a secret.
    private static let lines = [
        "key-file = [\"SECRET\"", "key-file = [\"SECRET\" \"b\"]", "key-file = [\nSECRET\n]", "key_file = SECRET",
        "Key-File = SECRET", "key = SECRET", "secret = SECRET", "\"key\\u002dfile\" = SECRET", "key = [SECRET b]",
        "key = [\"SECRET\"", "key = [\"SECRET\" \"b\"]", "inline = {key-file = SECRET}", "'key-file' = SECRET",
        "key-file = “SECRET”", "key-file = “SECRET\"", "key-file = SECRET+/=", "key-file = ab+/SECRET==",
        "proxy = http://user:SECRET@192.0.2.1:80", "proxy = \"http://SECRET:x@192.0.2.1:80\"",
        "proxy = \"192.0.2.1:80:user:SECRET\"", "proxy = [\"http://u:SECRET@192.0.2.1:80\"]",
        "proxy = \"socks5://u:SECRET@192.0.2.1\"", "url = https://u:SECRET@192.0.2.1", "url = https://192.0.2.1/SECRET",
        "url = \"https://u:SECRET@192.0.2.1\"", "url = \"https://192.0.2.1/dns-query?token=SECRET\"",
        "url = \"ftp://192.0.2.1/SECRET\"", "url = \"192.0.2.1/SECRET\"", "url = \"https://192.0.2.1/d#SECRET\"",
        "access-key = \"SECRET+/=\"", "account = \"SECRET+/=\"", "access-key = SECRET", "account = SECRET",
        "account = [\"SECRET\"]", "[provider.template]\nheaders = \"Authorization: SECRET\"",
        "[provider.template]\nheaders = [Authorization: SECRET]", "[provider.template]\nheaders = [\"SECRET\" 1]",
        "[provider.template]\nquery = SECRET", "[provider.template]\nquery = \"SECRETé\"",
        "[provider.template]\nsigned = \"SECRET\"", "[provider.template]\njoin = \"SECRETé\"",
        "[shared]\nserver = redis://u:SECRET@192.0.2.1", "host = \"u:SECRET@x\"",
        "addresses = [\"https://SECRET@hooks.example/x\"]", "ca-file = \"https://192.0.2.1/SECRET\"",
        "url = \"SECRET\"", "SECRET = 1", "\"SECRET+/=\" = 1", "SECRET.a = 1", "a.SECRET = 1",
        "[SECRET]", "[[SECRET]]",
        "[server.SECRET]", "[provider.template]\nSECRET = 1", "[[rule]]\nSECRET = 1",
        "[[rule]]\nmatch = [\".\"]\nexpect = {SECRET = 1}", "[SECRET]\na = 1\n[SECRET]",
    ]

    @Test(
        "a path is shown unless it may be a key",
        arguments: [
            ("/etc/httpdnsd/a.key", true), ("/run/k/Baidu2.key", true), ("/d/k", true), ("/KEY", false),
            ("//aKEY", false),
            ("/aKEY/", false), ("/etc/c/", true), ("/etc/../KEY", false), ("/ab/AKIDz8krbsJ5yKBZ", false),
            ("/ab/c+d=", false),
            ("name", false),
        ])
    func paths(_ file: String, _ isPublic: Bool) {
        #expect(Settings.Provider.isPublic(file: file) == isPublic)
    }

    @Test(
        "no message repeats a value of a key that may hold a secret, or the name or a value of an unknown key",
        arguments: lines)
    func hidden(_ line: String) {
        let found = complaints("[[provider]]\nname = \"x\"\ndialect = \"doh\"\n\(line)\n")
        #expect(!found.isEmpty)
        for complaint in found { #expect(!complaint.contains("SECRET"), "\(complaint)") }
    }
}
