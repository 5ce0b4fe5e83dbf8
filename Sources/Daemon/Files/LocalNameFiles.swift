// Hosts files and lease files of DHCP servers: what each has, and what is wrong with it. A file that cannot be used
// keeps what it had before. Read on a thread of their own (`NameLists`).

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings

/// The hosts file, a directory of hosts files, or a lease file, as it was last read.
struct LocalNameFile: Sendable {
    enum Kind: CaseIterable {
        /// /etc/hosts. Its names come first.
        case hostsFile
        case hostsDirectory
        case leases
    }

    enum Content: Sendable {
        /// The tables of the hosts files, sorted by the names of the files.
        case hosts([HostsTable])
        case leases(LeaseTable)
    }

    let kind: Kind
    let content: Content
    /// The paths of its files: those of a directory, also if they cannot be used.
    let files: [String]
    /// Why files of it are not in force as they are now: one line for each.
    let faults: [String]
    /// Where lines were ignored, one line for each file and place.
    let ignored: [String]
    /// How many these are.
    let ignoredLines: Int
    /// The labels and reverse names of leases without one before.
    let newNames: Set<Name>

    private init(
        _ kind: Kind, _ content: Content, files: [String], faults: [String], newNames: Set<Name> = []
    ) {
        (self.kind, self.content, self.files) = (kind, content, files)
        (self.faults, self.newNames) = (faults, newNames)
        let ignored: [(path: String, lines: IgnoredLines)] =
            switch content {
            case .hosts(let tables): tables.map { ($0.path, $0.ignored) }
            case .leases(let table): [(table.path, table.ignored)]
            }
        self.ignored = ignored.flatMap { LocalNameFile.lines($0.lines, of: $0.path) }
        ignoredLines = ignored.reduce(0) { $0 + $1.lines.count }
    }

    var names: Int {
        switch content {
        case .hosts(let tables): tables.reduce(0) { $0 + $1.count }
        case .leases(let table): table.count
        }
    }

    var isLeases: Bool { kind == .leases }
    var hosts: [HostsTable] { if case .hosts(let tables) = content { tables } else { [] } }
    var leases: LeaseTable? { if case .leases(let table) = content { table } else { nil } }
}

// MARK: hosts files

extension LocalNameFile {
    static let hostsFile = "/etc/hosts"
    /// A block list can be large, but a larger file is a mistake.
    private static let maxHostsBytes = 32 << 20
    /// More files than any tool writes. Each is searched for every name that is not in the cache.
    private static let maxFiles = 64

    /// A missing file is an empty one.
    ///
    /// - Parameters:
    ///   - old: as it was before, for a file that cannot be read now.
    ///   - copies: the last good versions, if there is no old one.
    init(hostsFile path: String, old: LocalNameFile?, _ copies: LastGoodFiles? = nil, zones: LocalZones) {
        var faults: [String] = []
        let table = LocalNameFile.hosts(path, room: Bounds.maxHostsEntries, zones, &faults) {
            old?.hosts.first ?? LocalNameFile.copy(of: path, old == nil ? copies : nil, zones)
        }
        self.init(.hostsFile, .hosts([table].compactMap { $0 }), files: [path], faults: faults)
    }

    /// - Parameters:
    ///   - old: as it was before, for files that cannot be read now.
    ///   - copies: the last good versions, if there is no old one.
    init(hostsDirectory path: String, old: LocalNameFile?, _ copies: LastGoodFiles? = nil, zones: LocalZones) {
        let copies = old == nil ? copies : nil
        var (tables, files, faults): ([HostsTable], [String], [String]) = ([], [], [])
        let directory = path.hasSuffix("/") ? path : path + "/"
        do throws(SystemError) {
            let names = try Directory.readableNames(in: path).filter(LocalNameFile.isUsed)
                .filter { (try? FileStatus(at: directory + $0))?.isRegular ?? false }.sorted()
            if names.count > LocalNameFile.maxFiles {
                faults.append(
                    "\(path): found \(names.count) files; allowed: \(LocalNameFile.maxFiles); those behind "
                        + "\(names[LocalNameFile.maxFiles - 1]) are ignored: join some of them")
            }
            var room = Bounds.maxHostsEntries
            for name in names.prefix(LocalNameFile.maxFiles) {
                let file = directory + name
                files.append(file)
                let table = LocalNameFile.hosts(file, room: room, zones, &faults) {
                    old?.hosts.first { $0.path == file } ?? LocalNameFile.copy(of: file, copies, zones)
                }
                guard let table else { continue }
                room -= table.count
                tables.append(table)
            }
        } catch {
            files = old?.files ?? copies?.paths(in: directory) ?? []
            tables = old?.hosts ?? files.compactMap { LocalNameFile.copy(of: $0, copies, zones) }
            faults.append(
                LocalNameFile.unreadable(path, error, "a directory that user \(Machine.user.userID) can read"))
        }
        self.init(.hostsDirectory, .hosts(tables), files: files, faults: faults)
    }

    /// False for hidden files and for backups of editors (as `hostsdir` in dnsmasq(8)), of dpkg and of ucf.
    static func isUsed(_ name: String) -> Bool {
        !name.hasPrefix(".") && !name.hasSuffix("~") && !(name.hasPrefix("#") && name.hasSuffix("#"))
            && !leftovers.contains { name.contains($0) }
    }

    private static let leftovers = [".dpkg-", ".ucf-"]

    private static func hosts(
        _ path: String, room: Int, _ zones: LocalZones, _ faults: inout [String], former: () -> HostsTable?
    ) -> HostsTable? {
        do throws(SystemError) {
            try TextFile.requireFile(path)
            let text = try TextFile.read(path, maxBytes: maxHostsBytes)
            let table = HostsTable(parsing: text, path: path, maxNames: room, zones: zones)
            guard table.isUnusable else { return table }
            faults.append(
                "\(path):\(table.ignored.first.first?.number ?? 1):1: "
                    + "\(counted(table.ignored.count, "line", "lines")), none of which is a line of hosts(5); "
                    + "allowed: an IP address with names behind it")
        } catch {
            // Removed since the directory was listed.
            if error.isNoSuchFile { return nil }
            faults.append(unreadable(path, error, "a file that user \(Machine.user.userID) can read"))
        }
        return former()
    }

    /// Returns the table of the file's last good copy, under the file's path; nil: there is no copy.
    private static func copy(of path: String, _ copies: LastGoodFiles?, _ zones: LocalZones) -> HostsTable? {
        guard let copy = copies?.copy(of: path), let text = try? TextFile.read(copy, maxBytes: maxHostsBytes) else {
            return nil
        }
        return HostsTable(parsing: text, path: path, zones: zones)
    }
}

// MARK: lease files

extension LocalNameFile {
    /// 65,536 leases of dhcpd, each twice in its log.
    private static let maxLeaseBytes = 64 << 20

    /// - Parameters:
    ///   - old: as it was before, for a file that cannot be read now.
    ///   - copies: the last good versions, if there is no old one.
    init(leaseFile path: String, old: LocalNameFile?, _ copies: LastGoodFiles? = nil, zones: LocalZones) {
        var faults: [String] = []
        let table = LocalNameFile.leases(path, zones, &faults)
        let used = table ?? old?.leases ?? LocalNameFile.leaseCopy(of: path, copies, zones)
        let new = used.names(missingIn: old?.leases, at: Clock.wallMilliseconds() / 1000)
        self.init(.leases, .leases(used), files: [path], faults: faults, newNames: new)
    }

    private static func leases(_ path: String, _ zones: LocalZones, _ faults: inout [String]) -> LeaseTable? {
        do throws(SystemError) {
            try TextFile.requireFile(path)
            let text = try TextFile.read(path, maxBytes: maxLeaseBytes)
            if let file = LeaseFile(parsing: text) { return LeaseTable(file, path: path, zones: zones) }
            faults.append("\(path):1:1: not a lease file; allowed: one of dnsmasq, ISC dhcpd or odhcpd")
        } catch {
            faults.append(
                error.isTooLarge
                    ? "\(path): more than \(maxLeaseBytes >> 20) MiB; allowed: up to that"
                    : unreadable(path, error, "a file that user \(Machine.user.userID) can read"))
        }
        return nil
    }

    /// Leases that have ended meanwhile are not answered.
    private static func leaseCopy(of path: String, _ copies: LastGoodFiles?, _ zones: LocalZones) -> LeaseTable {
        guard let copy = copies?.copy(of: path), let text = try? TextFile.read(copy, maxBytes: maxLeaseBytes),
            let file = LeaseFile(parsing: text)
        else { return LeaseTable(.none, path: path) }
        return LeaseTable(file, path: path, zones: zones)
    }

    // MARK: words

    private static func unreadable(_ path: String, _ error: SystemError, _ remedy: String) -> String {
        "\(path): can't be read: \(error); make it \(remedy)"
    }

    private static func lines(_ ignored: IgnoredLines, of path: String) -> [String] {
        let further = ignored.count - ignored.first.count
        return ignored.first.map { "\(path):\($0.number):1: \($0.reason.rawValue)" }
            + (further > 0 ? ["\(path): \(counted(further, "further line", "further lines"))"] : [])
    }
}
