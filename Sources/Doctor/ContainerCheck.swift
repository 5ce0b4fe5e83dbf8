// Checks the conditions that differ in a container: a mounted resolv.conf and the right to bind low ports.

package struct ContainerCheck: Sendable {
    package enum Kind: Equatable, Sendable {
        case none
        /// "Docker", "Podman"
        case container(String)
    }

    package let kind: Kind
    package let isResolvConfMounted: Bool
    package let leadsToUs: Bool
    /// The lowest port that unprivileged processes may bind.
    package let firstFreePort: Int
    /// The lowest port in the daemon's listen addresses.
    package let lowestPort: Int
    /// True if the capability bounding set contains CAP_NET_BIND_SERVICE.
    package let canBindLowPorts: Bool
    package let isUp: Bool

    package init(
        kind: Kind, isResolvConfMounted: Bool, leadsToUs: Bool, firstFreePort: Int, lowestPort: Int,
        canBindLowPorts: Bool, isUp: Bool
    ) {
        self.kind = kind
        self.isResolvConfMounted = isResolvConfMounted
        self.leadsToUs = leadsToUs
        self.firstFreePort = firstFreePort
        self.lowestPort = lowestPort
        self.canBindLowPorts = canBindLowPorts
        self.isUp = isUp
    }

    package var findings: [Finding] {
        var findings: [Finding] = []
        if !isUp, lowestPort > 0, lowestPort < firstFreePort, !canBindLowPorts {
            findings.append(
                Finding(
                    .fault, .container, "port \(lowestPort) is not permitted: the container has no NET_BIND_SERVICE",
                    remedy: "docker run --cap-add NET_BIND_SERVICE (cap_add in a compose file); or a port from "
                        + "\(firstFreePort) up, published as 53"))
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
    package static func canBindLowPorts(_ status: String) -> Bool {
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapBnd:") }
        guard let digits = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).last else { return true }
        return UInt64(digits, radix: 16).map { $0 & netBindService != 0 } ?? true
    }

    /// CAP_NET_BIND_SERVICE of linux/capability.h.
    private static let netBindService: UInt64 = 1 << 10
}
