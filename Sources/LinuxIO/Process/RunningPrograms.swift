// The names of the programs that run now in this network, as far as we may see them. Those of containers have networks
// of their own, and resolv.conf here is no matter of theirs.

package enum RunningPrograms {
    /// Cut to 15 bytes by the kernel (proc_pid_comm(5)). Where we may not see in which network one runs (only root sees
    /// all) it counts as here.
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
