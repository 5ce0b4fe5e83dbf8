// Resource use of this process, for statistics.

package struct ProcessStatus: Equatable, Sendable {
    package let residentBytes: Int
    /// Private memory without mapped files (RssAnon).
    package let anonymousBytes: Int
    package let openDescriptors: Int
    /// Maximum number of open descriptors.
    package var descriptorLimit = 0
    package let threads: Int

    /// Reads /proc/self. Values that cannot be read are 0.
    package static func current() -> ProcessStatus {
        let text = (try? TextFile.read("/proc/self/status", maxBytes: maxStatusBytes)) ?? []
        // One of the entries is the directory being listed.
        let descriptors = max(Directory.names(in: "/proc/self/fd").count - 1, 0)
        var status = ProcessStatus(status: String(decoding: text, as: UTF8.self), openDescriptors: descriptors)
        status.descriptorLimit = Machine.descriptorLimit
        return status
    }

    /// Bound on the status file, which has about 1.5 KiB. Its lists of processors and nodes grow with the machine.
    private static let maxStatusBytes = 64 * 1024

    /// - Parameter text: /proc/PID/status: lines such as `VmRSS:      1234 kB`.
    init(status text: String, openDescriptors: Int) {
        var numbers: [Substring: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split { $0 == ":" || $0 == "\t" || $0 == " " }
            if fields.count >= 2, let number = Int(fields[1]) { numbers[fields[0]] = number }
        }
        residentBytes = (numbers["VmRSS"] ?? 0) * 1024
        anonymousBytes = (numbers["RssAnon"] ?? 0) * 1024
        threads = numbers["Threads"] ?? 0
        self.openDescriptors = openDescriptors
    }
}
