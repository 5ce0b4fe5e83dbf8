// Whether the kernel keeps a burst of questions until a thread takes it.

package struct BufferCheck: Sendable {
    /// net.core.rmem_max
    package let allowedBytes: Int
    /// What the daemon asks for.
    package let wantedBytes: Int
    /// Datagrams that found the daemon's buffers full since it came up.
    package let lostDatagrams: UInt64

    package init(allowedBytes: Int, wantedBytes: Int, lostDatagrams: UInt64) {
        self.allowedBytes = allowedBytes
        self.wantedBytes = wantedBytes
        self.lostDatagrams = lostDatagrams
    }

    /// What the kernel has without anybody's doing: enough for most machines.
    private static let usualBytes = 212_992

    package var findings: [Finding] {
        guard allowedBytes < wantedBytes else { return [] }
        let isHurting = allowedBytes < BufferCheck.usualBytes || lostDatagrams > 0
        let lost = lostDatagrams > 0 ? "; \(lostDatagrams) questions found a buffer full" : ""
        return [
            Finding(
                isHurting ? .warning : .note, .buffers,
                "net.core.rmem_max is \(allowedBytes), the daemon asks for \(wantedBytes)\(lost)",
                remedy: "echo net.core.rmem_max=\(wantedBytes) > /etc/sysctl.d/60-httpdnsd.conf; sysctl --system")
        ]
    }
}
