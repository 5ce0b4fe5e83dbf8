// Reads the files of this machine for the doctor and a takeover. An unreadable file counts as missing or is reported;
// no conclusions are drawn here.

import DNSWire
import LinuxIO
import Resolver

enum MachineFiles {
    static let resolvConf = "/etc/resolv.conf"
    static let authorities = "/etc/ssl/certs/ca-certificates.crt"
    /// The record of a takeover, which exists as long as a takeover by `system use` is in force.
    static let takeoverRecord = "/var/lib/httpdnsd-system/record"
    static let resolvedServers = "/run/systemd/resolve/resolv.conf"

    /// Bytes read of one file: enough for the route or mount table of a large machine.
    private static let maxBytes = 4 << 20
    /// Files read of one directory of settings.
    private static let maxFiles = 64

    /// Returns the file's bytes; empty if it is missing or unreadable.
    static func bytes(_ path: String) -> [UInt8] { (try? TextFile.read(path, maxBytes: maxBytes)) ?? [] }

    static func text(_ path: String) -> String { String(decoding: bytes(path), as: UTF8.self) }

    /// Returns the files of a directory concatenated in the order of their names.
    static func texts(in directory: String) -> String {
        Directory.names(in: directory).sorted().prefix(maxFiles).map { text("\(directory)/\($0)") + "\n" }.joined()
    }

    /// The files of a directory that the daemon may read, in the order of their names.
    static func files(in directory: String) -> [String] {
        Directory.names(in: directory).filter { !$0.hasPrefix(".") }.sorted().prefix(maxFiles)
            .map { "\(directory)/\($0)" }
    }

    static func exists(_ path: String) -> Bool { (try? FileStatus(at: path)) != nil }

    /// Reads resolv.conf and the alternative nameserver files as the daemon does. A path that ends with "/" is a
    /// directory.
    static func nameserverFiles(_ resolvConf: String) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for path in [resolvConf] + NameserverSources.paths {
            contents[path] = path.hasSuffix("/") ? Array(texts(in: String(path.dropLast())).utf8) : bytes(path)
        }
        return contents
    }

    static func resolvConfFile() -> ResolvConfCheck.File {
        do throws(SystemError) {
            let read = try TextFile.readWithRights(resolvConf, maxBytes: maxBytes)
            return .text(read.content, isForEverybody: read.rights.isReadableByOthers)
        } catch {
            guard error.isNoSuchFile else { return .unreadable(error.description) }
            return SymbolicLinks.target(ofLinkAt: resolvConf).map { .dangling(to: $0) } ?? .missing
        }
    }

    static func number(_ path: String) -> Int? {
        text(path).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }

    /// Returns nil if this user may not read the path's directories.
    static func place(_ path: String, _ purpose: FileCheck.Purpose) -> FileCheck.Place? {
        var steps: [FileStatus?] = []
        var walked = ""
        for part in [Substring()] + path.split(separator: "/") {
            walked += part.isEmpty ? "" : "/\(part)"
            do throws(SystemError) {
                steps.append(try FileStatus(at: walked.isEmpty ? "/" : walked))
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

    /// Returns the states of httpdnsd.socket, which holds the port for the daemon, and of httpdnsd.service. Values are
    /// "active", "inactive", "failed" and the like; both empty without systemd. The query changes nothing.
    static func unitStates() -> (socket: String, service: String) {
        let ended = try? ChildProgram.run(
            "systemctl", ["is-active", "httpdnsd.socket", "httpdnsd.service"], timeout: .seconds(2),
            maxBytes: maxOutputBytes)
        let lines = String(decoding: ended?.output ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
        // Without systemd, the two lines are an error.
        let areStates = lines.count == 2 && lines.allSatisfy { !$0.contains(" ") }
        return areStates ? (lines[0], lines[1]) : ("", "")
    }

    private static let maxOutputBytes = 4096

    static var rewriterSettings: RewriterSettings {
        var settings = RewriterSettings()
        settings.dhclient = text("/etc/dhcp/dhclient.conf") + "\n" + texts(in: "/etc/dhcp/dhclient-enter-hooks.d")
        settings.dhcpcd = text("/etc/dhcpcd.conf")
        settings.cloudInit = text("/etc/cloud/cloud.cfg") + "\n" + texts(in: "/etc/cloud/cloud.cfg.d")
        // A container on Windows runs the WSL kernel too, hence the second condition.
        let isWSL = text("/proc/sys/kernel/osrelease").lowercased().contains("microsoft") && containerKind() == .none
        settings.wsl = isWSL ? text("/etc/wsl.conf") : nil
        settings.hasResolvconf = exists("/sbin/resolvconf")
        return settings
    }
}
