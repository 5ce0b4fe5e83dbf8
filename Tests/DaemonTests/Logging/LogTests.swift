// Log lines that hold text from outside, or a reason for the operator.

import DNSWire
import Resolver
import Testing

@testable import Daemon

@Suite("Log")
struct LogTests {
    private func text(_ resolvConf: String, from path: String? = nil) -> String {
        let ourselves = ListenAddresses([(address: .v4(0x7F00_0001), port: 53)])
        return LogEvent.nameserversChanged(
            NameserverList(resolvConf: Array(resolvConf.utf8), without: ourselves), from: path
        ).text
    }

    @Test("nameservers that are asked are listed, and nothing else is said of them")
    func plain() {
        #expect(text("nameserver 192.0.2.53\n") == "system resolver: 192.0.2.53:53")
        #expect(text("") == "system resolver: none")
        #expect(
            text("nameserver 192.0.2.53\nnameserver ::1\nnameserver 127.0.0.1", from: "/run/x")
                == "system resolver: 192.0.2.53:53, [::1]:53, from /run/x; "
                + "not used: 127.0.0.1:53 (an address of this daemon)")
    }

    @Test("nameservers that are not asked are named with the reason")
    func omitted() {
        #expect(
            text("nameserver 127.0.0.1\nnameserver 192.0.2.53\nnameserver 192.0.2.53\n")
                == "system resolver: 192.0.2.53:53; not used: 127.0.0.1:53 (an address of this daemon), "
                + "192.0.2.53:53 (listed twice)")
    }

    @Test("what is no address is shown without what could move a terminal's cursor")
    func unreadable() {
        let line = text("nameserver \u{1B}[2Jevil\n")
        #expect(line.hasSuffix(#"not used: "\u{1B}[2Jevil" (not an address)"#))
    }
}
