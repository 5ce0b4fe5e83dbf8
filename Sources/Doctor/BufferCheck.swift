// Checks that the kernel's receive buffers hold a burst of queries until a thread reads it.

package struct BufferCheck: Sendable {
    /// net.core.rmem_max
    package let allowedBytes: Int
    /// The buffer size that the daemon requests.
    package let wantedBytes: Int
    /// Datagrams dropped since the start because the daemon's receive buffer was full.
    package let lostDatagrams: UInt64

    package init(allowedBytes: Int, wantedBytes: Int, lostDatagrams: UInt64) {
        self.allowedBytes = allowedBytes
        self.wantedBytes = wantedBytes
        self.lostDatagrams = lostDatagrams
    }

    /// The kernel's default for net.core.rmem_max; enough for most machines.
    private static let usualBytes = 212_992

    package var findings: [Finding] {
        guard allowedBytes < wantedBytes else { return [] }
        let isHurting = allowedBytes < BufferCheck.usualBytes || lostDatagrams > 0
        let lost = lostDatagrams > 0 ? "; \(lostDatagrams) queries were dropped because a buffer was full" : ""
        return [
            Finding(
                isHurting ? .warning : .note, .buffers,
                "net.core.rmem_max is \(allowedBytes), the daemon asks for \(wantedBytes)\(lost)",
                remedy: "echo net.core.rmem_max=\(wantedBytes) > /etc/sysctl.d/60-httpdnsd.conf; sysctl --system")
        ]
    }
}
