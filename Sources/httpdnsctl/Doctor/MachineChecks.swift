// Checks of the machine around the daemon: settings, receive buffers, container.

/// Reports the errors that the daemon would find in its settings at startup.
struct SettingsCheck: Sendable {
    /// The daemon's error messages: file, line, column, error, remedy.
    let complaints: [LocalizedText]
    let path: String

    /// Bound on shown complaints; `httpdnsd --check` shows the rest.
    private static let maxShown = 5

    var findings: [Finding] {
        let omitted = complaints.count - SettingsCheck.maxShown
        return complaints.prefix(SettingsCheck.maxShown).map { complaint in
            Finding(
                .fault, .settings, complaint,
                remedy: omitted > 0
                    ? "httpdnsd --check --config \(path) shows all (\(omitted) more)"
                    : "httpdnsd --check --config \(path) shows all")
        }
    }
}

/// Checks whether connections to https providers can stay secret from quantum computers.
struct KeyExchangeCheck: Sendable {
    /// Whether OpenSSL has the key exchange that does.
    let isPostQuantum: Bool
    /// OpenSSL's version, such as "3.0.17".
    let version: String
    let hasSecureProviders: Bool

    var findings: [Finding] {
        guard hasSecureProviders, !isPostQuantum else { return [] }
        return [
            Finding(
                .note, .keyExchange, "OpenSSL \(version) has no post-quantum key exchange (X25519MLKEM768)",
                remedy: "a system with OpenSSL 3.5 or later, such as Debian 13")
        ]
    }
}

/// Checks that the kernel's receive buffers hold a burst of queries until a thread reads it.
struct BufferCheck: Sendable {
    /// The kernel's limit of a receive buffer (net.core.rmem_max).
    let allowedBytes: Int
    /// The buffer size that the daemon requests.
    let requestedBytes: Int
    /// Datagrams dropped since the start because the daemon's receive buffer was full.
    let lostDatagrams: UInt64

    /// The kernel's default for net.core.rmem_max; enough for most machines.
    private static let usualBytes = 212_992

    var findings: [Finding] {
        guard allowedBytes < requestedBytes else { return [] }
        let isHurting = allowedBytes < BufferCheck.usualBytes || lostDatagrams > 0
        return [
            Finding(
                isHurting ? .warning : .note, .buffers, text,
                remedy: LocalizedText(
                    verbatim: """
                        echo net.core.rmem_max=\(requestedBytes) > /etc/sysctl.d/60-httpdnsd.conf; sysctl --system
                        """))
        ]
    }

    private var text: LocalizedText {
        guard lostDatagrams > 0 else {
            return "net.core.rmem_max is \(allowedBytes), the daemon asks for \(requestedBytes)"
        }
        return """
            net.core.rmem_max is \(allowedBytes), the daemon asks for \(requestedBytes); queries dropped because a \
            buffer was full: \(lostDatagrams)
            """
    }
}

/// Checks the conditions that differ in a container: a mounted resolv.conf and the right to bind low ports.
struct ContainerCheck: Sendable {
    enum Kind: Equatable, Sendable {
        case none
        /// The kind of container, such as "Docker" or "Podman".
        case container(String)
    }

    let kind: Kind
    let isResolvConfMounted: Bool
    let leadsToUs: Bool
    /// The lowest port that unprivileged processes may bind.
    let firstFreePort: Int
    /// The lowest port in the daemon's listen addresses.
    let lowestPort: Int
    /// True if the capability bounding set contains CAP_NET_BIND_SERVICE.
    let canBindLowPorts: Bool
    let isUp: Bool

    var findings: [Finding] {
        var findings: [Finding] = []
        if !isUp, lowestPort > 0, lowestPort < firstFreePort, !canBindLowPorts {
            findings.append(
                Finding(
                    .fault, .container, "port \(lowestPort) is not permitted: the container has no NET_BIND_SERVICE",
                    remedy: """
                        docker run --cap-add NET_BIND_SERVICE (cap_add in a compose file); or a port from \
                        \(firstFreePort) up, published as 53
                        """))
        }
        if case .container(let name) = kind, isResolvConfMounted, leadsToUs {
            findings.append(
                Finding(
                    .note, .container, "in \(name), which mounts resolv.conf and creates it at each start",
                    remedy: "set the nameserver outside (docker run --dns)"))
        }
        return findings
    }

    /// - Parameter status: /proc/self/status; its line CapBnd holds the bounding set in hexadecimal.
    static func canBindLowPorts(_ status: String) -> Bool {
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapBnd:") }
        guard let digits = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).last else { return true }
        return UInt64(digits, radix: 16).map { $0 & netBindService != 0 } ?? true
    }

    /// CAP_NET_BIND_SERVICE of linux/capability.h.
    private static let netBindService: UInt64 = 1 << 10
}
