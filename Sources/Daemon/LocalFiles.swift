// resolv.conf and hosts: read, and watched so that a change takes effect at once.

import LinuxIO
import Resolver

final class LocalFiles {
    /// A block list in /etc/hosts can be large; beyond this it is somebody's mistake.
    private static let maxHostsBytes = 32 << 20
    private static let maxResolvConfBytes = 64 << 10

    private let loop: EventLoop
    private let hosts: String
    private var resolvConf: String
    private var watch: FileWatch?
    private var registration: EventLoop.Registration?
    private var changed: Set<String> = []

    init(resolvConf: String, hosts: String, loop: EventLoop) throws(SystemError) {
        self.resolvConf = resolvConf
        self.hosts = hosts
        self.loop = loop
        try beginWatch()
    }

    /// The settings may name another file; without room for another watch its changes go unnoticed until a reload.
    func watch(resolvConf path: String) {
        guard path != resolvConf else { return }
        resolvConf = path
        try? beginWatch()
    }

    func takeHostsChange() -> Bool { changed.remove(hosts) != nil }
    func takeNameserversChange() -> Bool { changed.remove(resolvConf) != nil }

    /// A missing file is an empty one.
    func readHosts() throws(SystemError) -> HostsTable {
        HostsTable(parsing: try LocalFiles.read(hosts, maxBytes: LocalFiles.maxHostsBytes))
    }

    func readResolvConf() throws(SystemError) -> [UInt8] {
        try LocalFiles.read(resolvConf, maxBytes: LocalFiles.maxResolvConfBytes)
    }

    private static func read(_ path: String, maxBytes: Int) throws(SystemError) -> [UInt8] {
        do throws(SystemError) {
            return try TextFile.read(path, maxBytes: maxBytes)
        } catch {
            guard error.isNoSuchFile else { throw error }
            return []
        }
    }

    private func beginWatch() throws(SystemError) {
        let new = try FileWatch([resolvConf, hosts])
        if let registration { loop.unwatch(registration) }
        registration = try loop.watch(new.descriptor, for: .readable) { [unowned self] _ in
            // A queue that overflowed reports every path as changed.
            changed.formUnion((try? new.takeChangedPaths()) ?? [])
        }
        watch = new
    }
}
