// The daemon's command line: what it takes and what it says of mistakes.

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
        #expect(try Options(["--version"]).mode == .version)
        #expect(try Options(["-h"]).mode == .help)
    }

    @Test(
        "a mistake is named with its remedy",
        arguments: [
            (["--confg", "x"], "unknown argument --confg; see --help"),
            (["--config"], "--config needs a value; see --help"),
            (["--listen", "localhost"], "--listen localhost: not ADDRESS:PORT, such as 127.0.0.1:5300 or [::1]:53"),
            (["serve"], "unknown argument serve; see --help"),
        ])
    func mistakes(arguments: [String], expected: String) {
        #expect(throws: Options.UsageError(text: expected)) { try Options(arguments) }
    }
}
