// Names of the running programs in this network namespace, as far as visible. Containers have their own namespaces, and
// their programs do not use this resolv.conf.

import DNSWire

package enum RunningPrograms {
    /// Returns names cut to 15 bytes by the kernel (proc_pid_comm(5)). A program whose network namespace is not visible
    /// (only root sees all) counts as here.
    package static func names() -> Set<String> {
        let ours = network(of: "self")
        var names: Set<String> = []
        for process in Directory.names(in: "/proc") where process.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            guard network(of: process).map({ $0 == ours }) ?? true else { continue }
            let comm = (try? TextFile.read("/proc/\(process)/comm", maxBytes: 64)) ?? []
            names.insert(String(decoding: comm.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
        return names
    }

    private static func network(of process: String) -> String? {
        SymbolicLinks.target(ofLinkAt: "/proc/\(process)/ns/net")
    }
}
