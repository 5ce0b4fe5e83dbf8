// The daemon's command line: its options and its error texts.

import DNSWire
import LinuxIO
import Testing

@testable import Daemon

@Suite("Options")
struct OptionsTests {
    @Test("nothing given serves with the standard file")
    func nothing() throws {
        let options = try Options([])
        #expect(options.mode == .serve)
        #expect(options.configFile == nil)
        #expect(options.listen.isEmpty)
    }

    @Test("every option is taken, and --listen more than once")
    func everything() throws {
        let options = try Options([
            "--config", "a.toml", "--listen", "127.0.0.1:5300", "--listen", "[::1]:53", "--check",
        ])
        #expect(options.mode == .check)
        #expect(options.configFile == "a.toml")
        #expect(options.listen.map(\.description) == ["127.0.0.1:5300", "[::1]:53"])
        #expect(try Options(["--print-effective"]).mode == .printEffective)
        #expect(try Options(["--print-schema"]).mode == .printSchema)
        #expect(try Options(["--version"]).mode == .version)
        #expect(try Options(["-h"]).mode == .help)
    }

    @Test("a name to explain has a type or not, before or behind the other options")
    func explained() throws {
        let name = try #require(Name("www.example.com"))
        #expect(try Options(["--check"]).explained == nil)
        #expect(try Options(["--check", "--explain", "www.example.com"]).explained == Question(name, .a))
        let behind = try Options(["--explain", "www.example.com", "aaaa", "--check", "--config", "a.toml"])
        #expect(behind.explained == Question(name, .aaaa) && behind.configFile == "a.toml")
        #expect(try Options(["--explain", "www.example.com.", "--check"]).explained == Question(name, .a))
        let international = try #require(Name("xn--bcher-kva.example"))
        #expect(try Options(["--check", "--explain", "Bücher.example"]).explained == Question(international, .a))
        #expect(try Options(["--explain", "a", "--help"]).mode == .help)
    }

    private static let notChecked =
        "--explain needs --check: write --check --explain NAME; httpdnsctl explain NAME asks the daemon"
    private static let noName =
        "is not a domain name; allowed: labels of 1 to 63 bytes with dots between them, 253 bytes in all"
    private static let noType = """
        is not a record type; allowed: A, NS, CNAME, SOA, PTR, HINFO, MX, TXT, AAAA, SRV, DNAME, DS, RRSIG, NSEC, \
        DNSKEY, NSEC3, SVCB, HTTPS, ANY, CAA, or TYPE with a number, such as TYPE65
        """
    private static let twice = "--explain is given twice; it takes one name"
    private static let needsName = "--explain needs a name: write --check --explain NAME [TYPE]"
    private static let shown = "\"\\u{1B}[2J \(String(repeating: "a", count: 55))\"..."

    @Test(
        "a mistake is named with its remedy",
        arguments: [
            (["--confg", "x"], "unknown argument --confg; see --help"),
            (["--config"], "--config needs a value; see --help"),
            (["--listen", "localhost"], "--listen localhost: not ADDRESS:PORT, such as 127.0.0.1:5300 or [::1]:53"),
            (["serve"], "unknown argument serve; see --help"),
            (["--check", "--explain", "a", "A", "b"], "unknown argument b; see --help"),
            (["--check", "--explain"], needsName), (["--explain", "--check"], needsName),
            (["--check", "--explain", "--help"], needsName),
            (["--check", "--explain", "a", "--explain", "b"], twice),
            (["--check", "--explain", "a", "AAAA", "--explain"], twice),
            (["--explain", "a"], notChecked), (["--explain", "a", "--print-effective"], notChecked),
            (["--check", "--explain", "a", "--version"], notChecked),
            (["--check", "--explain", "a..b"], "--explain: \"a..b\" \(noName)"),
            (
                ["--check", "--explain", "\u{1B}[2J \(String(repeating: "a", count: 80))"],
                "--explain: \(shown) \(noName)"
            ),
            (["--check", "--explain", ""], needsName),
            (["--check", "--explain", "a.example", "AA"], "--explain: \"AA\" \(noType)"),
            (["--check", "--explain", "a.example", "TYPE65536"], "--explain: \"TYPE65536\" \(noType)"),
        ])
    func mistakes(arguments: [String], expected: String) {
        #expect(throws: Options.UsageError(text: expected)) { try Options(arguments) }
    }
}
