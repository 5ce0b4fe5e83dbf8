// Whether the kernel keeps a burst of questions until a thread takes it.

package struct BufferCheck: Sendable {
    /// net.core.rmem_max
    package let allowedBytes: Int
    /// What the daemon asks for.
    package let wantedBytes: Int
    /// Datagrams that found a buffer full since the machine came up (/proc/net/snmp); nil: not known.
    package let lostDatagrams: Int?

    package init(allowedBytes: Int, wantedBytes: Int, lostDatagrams: Int?) {
        self.allowedBytes = allowedBytes
        self.wantedBytes = wantedBytes
        self.lostDatagrams = lostDatagrams
    }

    /// What the kernel has without anybody's doing: enough for most machines.
    private static let usualBytes = 212_992

    package var findings: [Finding] {
        guard allowedBytes < wantedBytes else { return [] }
        let isHurting = allowedBytes < BufferCheck.usualBytes || lostDatagrams ?? 0 > 0
        let lost = lostDatagrams.map { $0 > 0 ? "; \($0) datagrams found a buffer full" : "" } ?? ""
        return [
            Finding(
                isHurting ? .warning : .note, .buffers,
                "net.core.rmem_max is \(allowedBytes), the daemon asks for \(wantedBytes)\(lost)",
                remedy: "echo net.core.rmem_max=\(wantedBytes) > /etc/sysctl.d/60-httpdnsd.conf; sysctl --system")
        ]
    }

    /// - Parameter text: /proc/net/snmp, where a line of names comes before each line of numbers.
    package static func lostDatagrams(_ text: String) -> Int? {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("Udp:") }.map { $0.split(separator: " ") }
        guard lines.count >= 2, let column = lines[0].firstIndex(of: "RcvbufErrors"), column < lines[1].count else {
            return nil
        }
        return Int(lines[1][column])
    }
}
