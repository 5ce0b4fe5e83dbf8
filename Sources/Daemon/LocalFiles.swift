// The files that name nameservers, and hosts: read, and watched so that a change takes effect at once.

import LinuxIO
import Resolver

final class LocalFiles {
    /// A block list in /etc/hosts can be large; beyond this it is somebody's mistake.
    private static let maxHostsBytes = 32 << 20
    private static let maxResolvConfBytes = 64 << 10
    /// Of a directory with one file for each interface and tool.
    private static let maxFiles = 32

    private let loop: EventLoop
    private let hosts: String
    private var resolvConf: String
    private var watch: FileWatch?
    private var registration: EventLoop.Registration?
    private var changed: Set<String> = []
    /// What stood last in the files that name nameservers.
    private var lastRead: [String: [UInt8]] = [:]
    /// Of the same files, those that could not be read since.
    private var unreadable: Set<String> = []

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

    func takeNameserversChange() -> Bool {
        let isHosts = changed.contains(hosts)
        defer { changed = isHosts ? [hosts] : [] }
        return changed.count > (isHosts ? 1 : 0)
    }

    /// A missing file is an empty one.
    func readHosts() throws(SystemError) -> HostsTable {
        HostsTable(parsing: try LocalFiles.read(hosts, maxBytes: LocalFiles.maxHostsBytes))
    }

    /// What stands in the files that may name nameservers, by path. Where one can't be read, what stood there last.
    ///
    /// - Parameter complain: called for a file that can't be read, once until it can be again.
    func readNameserverFiles(complain: ((_ path: String, SystemError) -> Void)?) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for path in nameserverFiles {
            do throws(SystemError) {
                contents[path] = try LocalFiles.readAll(path)
                unreadable.remove(path)
            } catch {
                contents[path] = lastRead[path]
                if let complain, unreadable.insert(path).inserted { complain(path, error) }
            }
        }
        lastRead = contents
        return contents
    }

    private var nameserverFiles: [String] {
        [resolvConf] + NameserverSources.paths.filter { $0 != resolvConf }
    }

    /// A file, or all files of a directory as one.
    private static func readAll(_ path: String) throws(SystemError) -> [UInt8] {
        guard path.utf8.last == UInt8(ascii: "/") else { return try read(path, maxBytes: maxResolvConfBytes) }
        var content: [UInt8] = []
        for name in Directory.names(in: path).sorted().prefix(maxFiles) {
            content += try read(path + name, maxBytes: maxResolvConfBytes) + [UInt8(ascii: "\n")]
        }
        return content
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
        let new = try FileWatch(nameserverFiles + [hosts])
        if let registration { loop.unwatch(registration) }
        registration = try loop.watch(new.descriptor, for: .readable) { [unowned self] _ in
            // A queue that overflowed reports every path as changed.
            changed.formUnion((try? new.takeChangedPaths()) ?? [])
        }
        watch = new
    }
}
