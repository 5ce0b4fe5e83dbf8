// Versions of the programs and libraries, and properties of the machine, for a bug report.

import Control
import DNSWire
import LinuxIO

enum MachineFacts {
    /// Packages of Debian 12 and 13 whose code runs in the programs.
    private static let packages = [
        "httpdnsd", "libc6", "libssl3", "libssl3t64", "libnghttp2-14", "zlib1g", "libsqlite3-0",
        "libmicrohttpd12", "libmicrohttpd12t64", "libseccomp2", "libidn2-0", "libhiredis0.14", "libhiredis1.1.0",
        "libpsl5", "libpsl5t64", "libsystemd0", "systemd",
    ]
    private static let timeout = Duration.seconds(2)
    private static let maxListBytes = 16 << 10

    /// - Parameter daemon: the version of the daemon that runs; nil: none is known.
    static func versions(ofDaemon daemon: String?) -> String {
        let release = MachineFiles.text("/etc/os-release").split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        let kernel = line("/proc/sys/kernel/osrelease")
        let listed = try? ChildProgram.run(
            "dpkg-query", ["--show", "--showformat=${db:Status-Abbrev}${Package} ${Version}\\n"] + packages,
            timeout: timeout, maxBytes: maxListBytes)
        // Of a package that is not installed, dpkg-query may say nothing, an error, or a line without "ii".
        let installed = String(decoding: listed?.output ?? [], as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("ii ") }.map { "\($0.dropFirst(3))\n" }.joined()
        return """
            httpdnsctl \(programVersion)
            httpdnsd \(daemon ?? "unknown: no answer")
            system \(release?.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" } ?? "unknown")
            kernel \(kernel)

            """ + installed
    }

    static var machine: String {
        let memory = MachineFiles.text("/proc/meminfo").split(separator: "\n").prefix(3)
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        let units = MachineFiles.unitStates()
        return """
            cores \(Machine.coreCount)
            memory \(memory.joined(separator: ", "))
            load \(line("/proc/loadavg"))
            container \(container)
            httpdnsd.service \(units.service.isEmpty ? "unknown" : units.service)
            httpdnsd.socket \(units.socket.isEmpty ? "unknown" : units.socket)
            user \(Machine.user.userID)

            """
    }

    private static var container: String {
        switch MachineFiles.containerKind() {
        case .none: "none known"
        case .container(let name): name
        }
    }

    private static func line(_ path: String) -> String {
        MachineFiles.text(path).split(separator: "\n").first.map(String.init) ?? "unknown"
    }
}
