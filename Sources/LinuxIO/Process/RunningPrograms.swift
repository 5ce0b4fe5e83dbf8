// The names of the programs that run now, as far as we may see them.

package enum RunningPrograms {
    /// Cut to 15 bytes by the kernel (proc_pid_comm(5)).
    package static func names() -> Set<String> {
        var names: Set<String> = []
        for process in Directory.names(in: "/proc") where process.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            let comm = (try? TextFile.read("/proc/\(process)/comm", maxBytes: 64)) ?? []
            names.insert(String(decoding: comm.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
        return names
    }
}
