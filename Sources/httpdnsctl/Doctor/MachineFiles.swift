// What the doctor and a takeover read on this machine, file by file. It decides nothing: what can't be read is missing,
// or said so.

import Doctor
import LinuxIO
import Resolver
import Takeover

enum MachineFiles {
    static let resolvConf = "/etc/resolv.conf"
    static let authorities = "/etc/ssl/certs/ca-certificates.crt"
    /// What `system use` leaves as long as resolv.conf leads to the daemon.
    static let takeoverRecord = "/var/lib/httpdnsd-system/record"
    static let resolvedServers = "/run/systemd/resolve/resolv.conf"

    /// A table of routes or mounts on a large machine; more is not looked at.
    private static let maxBytes = 4 << 20
    /// Of a directory with pieces of settings.
    private static let maxFiles = 64

    /// Empty: missing, or not ours to read.
    static func bytes(_ path: String) -> [UInt8] { (try? TextFile.read(path, maxBytes: maxBytes)) ?? [] }

    static func text(_ path: String) -> String { String(decoding: bytes(path), as: UTF8.self) }

    /// The files of a directory, one behind the other in the order of their names.
    static func texts(in directory: String) -> String {
        Directory.names(in: directory).sorted().prefix(maxFiles).map { text("\(directory)/\($0)") + "\n" }.joined()
    }

    static func exists(_ path: String) -> Bool { (try? FileStatus(at: path)) != nil }

    /// As the daemon reads resolv.conf's companions: a path that ends with "/" is a directory.
    static func nameserverFiles(_ resolvConf: String) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for path in [resolvConf] + NameserverSources.paths {
            contents[path] = path.hasSuffix("/") ? Array(texts(in: String(path.dropLast())).utf8) : bytes(path)
        }
        return contents
    }

    static func resolvConfFile() -> ResolvConfCheck.File {
        do throws(SystemError) {
            let read = try TextFile.readWithAccess(resolvConf, maxBytes: maxBytes)
            return .text(read.content, isForEverybody: read.access.isReadableByOthers)
        } catch {
            guard error.isNoSuchFile else { return .unreadable(error.description) }
            return SymbolicLinks.target(ofLinkAt: resolvConf).map { .dangling(to: $0) } ?? .missing
        }
    }

    static func number(_ path: String) -> Int? {
        text(path).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }

    /// Nil where this user may not look.
    static func place(_ path: String, _ purpose: FileCheck.Purpose) -> FileCheck.Place? {
        var steps: [FileCheck.Status?] = []
        var walked = ""
        for part in [Substring()] + path.split(separator: "/") {
            walked += part.isEmpty ? "" : "/\(part)"
            do throws(SystemError) {
                let status = try FileStatus(at: walked.isEmpty ? "/" : walked)
                steps.append(
                    FileCheck.Status(
                        isDirectory: status.isDirectory, owner: status.ownerID, group: status.groupID, mode: status.mode
                    ))
            } catch {
                guard !error.isPermissionDenied else { return nil }
                steps.append(nil)
            }
        }
        let isRoom = if case .make = purpose { true } else { false }
        return FileCheck.Place(
            path: path, purpose: purpose, steps: steps, freeBytes: isRoom ? FileStatus.freeBytes(at: path) : nil)
    }

    static func containerKind() -> ContainerCheck.Kind {
        if exists("/.dockerenv") { return .container("Docker") }
        if exists("/run/.containerenv") { return .container("Podman") }
        return .none
    }

    /// "active", "inactive", "failed" and the like: httpdnsd.socket, which holds the port for the daemon, and
    /// httpdnsd.service. Nothing is changed by asking for them; empty where no systemd runs.
    static func unitStates() -> (socket: String, service: String) {
        let ended = try? ChildProgram.run(
            "systemctl", ["is-active", "httpdnsd.socket", "httpdnsd.service"], timeout: .seconds(2),
            maxBytes: maxSaidBytes)
        let lines = String(decoding: ended?.output ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
        return lines.count == 2 ? (lines[0], lines[1]) : ("", "")
    }

    private static let maxSaidBytes = 4096

    static var rewriterSettings: RewriterSettings {
        var settings = RewriterSettings()
        settings.dhclient = text("/etc/dhcp/dhclient.conf") + "\n" + texts(in: "/etc/dhcp/dhclient-enter-hooks.d")
        settings.dhcpcd = text("/etc/dhcpcd.conf")
        settings.cloudInit = text("/etc/cloud/cloud.cfg") + "\n" + texts(in: "/etc/cloud/cloud.cfg.d")
        // Containers on Windows have its kernel, too.
        let isWSL = text("/proc/sys/kernel/osrelease").lowercased().contains("microsoft") && containerKind() == .none
        settings.wsl = isWSL ? text("/etc/wsl.conf") : nil
        settings.hasResolvconf = exists("/sbin/resolvconf")
        return settings
    }
}
