// Mount points of this process (proc_pid_mountinfo(5)).

package enum MountTable {
    /// Bound on the table: enough for a host with thousands of containers.
    private static let maxBytes = 8 << 20

    /// Returns the mount points in the kernel's spelling; empty if they cannot be read.
    package static func points() -> Set<String> {
        let bytes = (try? TextFile.read("/proc/self/mountinfo", maxBytes: maxBytes)) ?? []
        return parse(String(decoding: bytes, as: UTF8.self))
    }

    /// Parses the fifth field. A path with blanks contains an escape there; callers do not ask for such paths.
    static func parse(_ text: String) -> Set<String> {
        Set(
            text.split(separator: "\n").compactMap { line in
                line.split(separator: " ").dropFirst(4).first.map(String.init)
            })
    }
}
