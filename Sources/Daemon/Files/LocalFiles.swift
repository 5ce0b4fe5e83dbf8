// Reads and watches the nameserver files, so that changes take effect at once. They are read on the main thread: all of
// them together have some KiB, and must not wait behind a list of a million names.

import LinuxIO
import Resolver

final class LocalFiles {
    private static let maxResolvConfBytes = 64 << 10
    /// Bound of files read from a directory with one file per interface or tool.
    private static let maxFiles = 32

    private let loop: EventLoop
    private let outbox: Outbox
    private var resolvConf: String
    private var watch: FileWatch?
    private var registration: EventLoop.Registration?
    /// Last contents of the nameserver files, by path.
    private var lastRead: [String: [UInt8]] = [:]
    /// Nameserver files that could not be read at the last attempt.
    private var unreadable: Set<String> = []

    init(resolvConf: String, loop: EventLoop, outbox: Outbox) throws(SystemError) {
        self.resolvConf = resolvConf
        (self.loop, self.outbox) = (loop, outbox)
        try beginWatch()
    }

    /// Watches another resolv.conf after a reload. If the kernel allows no further watch, its changes go unnoticed
    /// until the next reload.
    func watch(resolvConf path: String) {
        guard path != resolvConf else { return }
        resolvConf = path
        try? beginWatch()
    }

    /// Returns the contents of the nameserver files by path. An unreadable file keeps its last contents.
    ///
    /// - Parameter complain: called once for an unreadable file until it is readable again.
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

    /// Returns the contents of a file, or the concatenated files of a directory.
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
        let new = try FileWatch(nameserverFiles)
        if let registration { loop.unwatch(registration) }
        registration = try loop.watch(new.descriptor, for: .readable) { [outbox] _ in
            if (try? new.takeChangedPaths())?.isEmpty == false { outbox.changed(.nameserverFiles) }
        }
        watch = new
    }
}
