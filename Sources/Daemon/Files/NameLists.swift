// Files with names: lists for rules (`match-file`), those of accounts (`names-file`), hosts files and lease files. Read
// on a thread of their own after a change, so that no query waits for one; what they replace is freed there, too. A
// file with a fault keeps its last good contents, also over a restart (`LastGoodFiles`).

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings
import Synchronization

/// The files with names that the settings have.
struct NameFilePaths: Equatable, Sendable {
    var lists: Set<String> = []
    /// Files with the names of accounts.
    var accounts: Set<String> = []
    /// The hosts file, directories of hosts files, and lease files.
    var local: [String: LocalNameFile.Kind] = [:]
    /// The local zones that hosts and lease files are read for; nil: those in force.
    var zones: LocalZones?

    static let none = NameFilePaths()

    /// Lease files are small, and change often.
    var areLeasesOnly: Bool {
        lists.isEmpty && accounts.isEmpty && local.values.allSatisfy { $0 == .leases }
    }

    mutating func formUnion(_ other: NameFilePaths) {
        lists.formUnion(other.lists)
        accounts.formUnion(other.accounts)
        local.merge(other.local) { _, new in new }
        zones = other.zones ?? zones
    }
}

/// The contents of files with names.
struct NamesInFiles: Sendable {
    var lists: [String: NameList] = [:]
    /// The names of accounts.
    var accounts: [String: [QuestionScope]] = [:]
    /// The faults of lists and of accounts' files whose present contents are not in force.
    var complaints: [String: [String]] = [:]
    /// The faults of accounts that answer no client; these accounts are left out.
    var accountFaults: [String] = []
    /// The hosts file, directories of hosts files, and lease files.
    var local: [String: LocalNameFile] = [:]

    /// /etc/hosts, then others in the order of their paths and names.
    var hosts: [HostsTable] { sorted.flatMap(\.file.hosts) }
    var leases: [LeaseTable] { sorted.compactMap(\.file.leases) }

    fileprivate var sorted: [(path: String, file: LocalNameFile)] {
        let isFirst = { (file: LocalNameFile) in file.kind == .hostsFile }
        return local.sorted { isFirst($0.value) != isFirst($1.value) ? isFirst($0.value) : $0.key < $1.key }
            .map { ($0.key, $0.value) }
    }

    /// Everything that is wrong, for `--check`.
    var warnings: [String] {
        let refused = complaints.sorted { $0.key < $1.key }.flatMap { path, complaints in
            let names = lists[path]?.count ?? accounts[path]?.count ?? 0
            return complaints + ["\(path): the daemon starts with \(counted(names, "name", "names")) of it"]
        }
        return accountFaults + refused + sorted.flatMap { $0.file.faults + $0.file.ignored }
    }
}

extension NamesInFiles {
    /// The files that these are from.
    fileprivate var paths: NameFilePaths {
        NameFilePaths(lists: Set(lists.keys), accounts: Set(accounts.keys), local: local.mapValues(\.kind))
    }

    /// Returns the kinds of the selected local files, by path.
    fileprivate func localPaths(where isMeant: (String, LocalNameFile) -> Bool) -> [String: LocalNameFile.Kind] {
        local.filter { isMeant($0.key, $0.value) }.mapValues(\.kind)
    }

    /// Takes what was read, and for a file with a fault what is in force, with the complaints.
    ///
    /// - Returns: the complaints about files that were never in force.
    fileprivate mutating func join<Value>(
        _ outcomes: [String: Result<Value, UnusableSettings>],
        into files: WritableKeyPath<NamesInFiles, [String: Value]>,
        else old: [String: Value]
    ) -> [String] {
        var lost: [String] = []
        for (path, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            let new = complaints.take(outcome, path)
            self[keyPath: files][path] = new ?? old[path]
            if new ?? old[path] == nil { lost += complaints[path] ?? [] }
        }
        return lost
    }
}

extension [String: [String]] {
    /// Returns a value that was read; else nil, with its complaints under its path.
    fileprivate mutating func take<Contents>(_ outcome: Result<Contents, UnusableSettings>, _ path: String)
        -> Contents?
    {
        switch outcome {
        case .success(let value): return value
        case .failure(let fault):
            self[path] = fault.complaints
            return nil
        }
    }
}

final class NameLists: TimedPart {
    let timer = PartTimer()

    typealias Outcome = Result<NameList, UnusableSettings>

    /// Files that were read together.
    struct Batch: Sendable {
        let number: Int
        /// The files that were to be read; none: the thread only freed former names.
        let paths: NameFilePaths
        let lists: [String: Outcome]
        let accounts: [String: Result<[QuestionScope], UnusableSettings>]
        let local: [String: LocalNameFile]
        /// The zones that `local` was read for.
        let zones: LocalZones
        let took: Duration
    }

    /// A lease file is read this long after a write to it: its server writes it in pieces, and keeps it open.
    private static let leaseDelay: Duration = .milliseconds(200)
    /// Large lease files that change all the time take up a fifth of a processor at most.
    private static let leasePause = 4

    /// The names in force, by path.
    private(set) var names = NamesInFiles()
    private var zones = LocalZones.none
    /// Where the last good files are copied to; nil: the settings have no store.
    private var copies: LastGoodFiles?
    /// When a lease file is copied again: its server may write it every second.
    private var leaseCopiesAt = Instant(nanoseconds: 0)
    private static let leaseCopyInterval: Duration = .seconds(60)
    private let outbox: Outbox
    private let finished: Mailbox<Batch>
    private var finishedWatch: EventLoop.Registration?
    private let files: WatchedFiles
    private let leases: WatchedFiles
    /// The files to read in the next batch.
    private var requestedFiles = NameFilePaths.none
    private var batches = 0
    /// Reads a batch; nil: none is being read.
    private var thread: NamedThread?
    /// Between `takeBatch` and `finish`: the main thread still holds what the batch replaced.
    private var isTaken = false
    /// The work that the thread does first.
    private var cleanup = NameCleanup()
    /// Longest wait for a thread at the end of the process: a file system may not answer.
    private static let patience: Duration = .seconds(1)
    /// When lease files that changed are read; nil: none has changed.
    private(set) var nextDeadline: Instant? { didSet { timer.changed() } }
    private var changedLeases: Set<String> = []
    private var leasesNotBefore = Instant(nanoseconds: 0)

    init(loop: EventLoop, outbox: Outbox) throws(SystemError) {
        self.outbox = outbox
        (files, leases) = (WatchedFiles(loop, seesWrites: false), WatchedFiles(loop, seesWrites: true))
        finished = try Mailbox(capacity: 1)
        finishedWatch = try loop.watch(finished.descriptor, for: .readable) { [outbox] _ in outbox.changed(.names) }
    }

    deinit {
        _ = thread.take()?.join(within: NameLists.patience)
    }

    private var lists: [String: NameList] { names.lists }
    var complaints: [String: [String]] { names.complaints }

    /// Puts names in force, watches their files, and logs what is wrong with them.
    ///
    /// - Parameter copies: where the last good versions are kept; nil: nowhere.
    func set(_ new: NamesInFiles, zones: LocalZones, copies: LastGoodFiles?) {
        (self.zones, self.copies) = (zones, copies)
        for (path, file) in new.sorted { log(file, path, old: names.local[path]) }
        for (path, complaints) in new.complaints.sorted(by: { $0.key < $1.key })
        where names.complaints[path] != complaints {
            let count = new.lists[path]?.count ?? new.accounts[path]?.count ?? 0
            outbox.log(.namesRefused(path: path, names: count, complaints: complaints))
        }
        if !new.accountFaults.isEmpty, new.accountFaults != names.accountFaults {
            outbox.log(.accountLeftOut(complaints: new.accountFaults))
        }
        cleanup.retired.append(names)
        names = new
        copyFiles(of: new.paths)
        watchFiles()
        beginBatch()
    }

    /// Reads files again.
    ///
    /// - Returns: the number of the batch that will have them.
    func read(_ paths: NameFilePaths) -> Int {
        requestedFiles.formUnion(paths)
        beginBatch()
        return requestedFiles == .none ? batches : batches + 1
    }

    func timePassed(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        nextDeadline = nil
        _ = read(NameFilePaths(local: names.localPaths { path, _ in changedLeases.contains(path) }))
        changedLeases = []
    }

    /// Returns the batch that was read since the last call, if any. What is in force is replaced by what is good. Call
    /// `finish` when the batch was used.
    ///
    /// - Parameter requested: the number of a batch that the operator asked for. In others, a file without a name keeps
    ///   its last good list: a writer may have failed.
    /// - Returns: also whether a list in force was replaced.
    func takeBatch(requested: Int?) -> (batch: Batch, hasOtherLists: Bool)? {
        guard let batch = finished.takeAll().first else { return nil }
        // It has nothing left to do, but may wait for a processor.
        _ = thread.take()?.join(within: .zero)
        isTaken = true
        if batch.paths != .none { cleanup.retired.append(names) }
        var hasOtherLists = false
        for (path, outcome) in batch.lists.sorted(by: { $0.key < $1.key }) {
            guard let old = lists[path] else { continue }
            switch batch.number == requested ? outcome : outcome.flatMap({ NameLists.checked($0, path, after: old) }) {
            case .success(let list):
                let wasRefused = names.complaints.removeValue(forKey: path) != nil
                if list != old || wasRefused { outbox.log(.namesLoaded(path: path, names: list.count)) }
                guard list != old else { continue }
                hasOtherLists = true
                names.lists[path] = list
            case .failure(let fault):
                if complaints[path] != fault.complaints {
                    outbox.log(.namesRefused(path: path, names: old.count, complaints: fault.complaints))
                }
                names.complaints[path] = fault.complaints
            }
        }
        for (path, file) in batch.local.sorted(by: { $0.key < $1.key }) {
            guard batch.zones == zones, let old = names.local[path] else { continue }
            log(file, path, old: old)
            names.local[path] = file
            if file.isLeases { leasesNotBefore = Clock.now() + batch.took * NameLists.leasePause }
        }
        if batch.local.values.contains(where: { $0.kind == .hostsDirectory }) { watchFiles() }
        return (batch, hasOtherLists)
    }

    /// Frees what the batch replaced, and reads what was requested meanwhile. Files that a refused reload read for its
    /// own zones are read again.
    ///
    /// - Parameter work: done on the thread, before.
    func finish(_ batch: Batch, _ work: (@Sendable () -> Void)?) {
        if let work { cleanup.work.append(work) }
        isTaken = false
        copyFiles(of: batch.paths)
        cleanup.isLarge = !batch.paths.areLeasesOnly
        if batch.zones != zones {
            requestedFiles.formUnion(
                NameFilePaths(local: names.localPaths { path, _ in batch.local[path] != nil }))
        }
        beginBatch()
    }

    /// Leases come and go all the time: only faults of their files are news.
    private func log(_ file: LocalNameFile, _ path: String, old: LocalNameFile?) {
        if !file.faults.isEmpty, file.faults != old?.faults {
            outbox.log(.localNamesRefused(path: path, complaints: file.faults, isWhole: true))
        }
        if !file.ignored.isEmpty, file.ignored != old?.ignored {
            outbox.log(.localNamesRefused(path: path, complaints: file.ignored, isWhole: false))
        }
        let isRepaired = file.faults.isEmpty && old?.faults.isEmpty == false
        // Every machine has a hosts file.
        let isNew = file.kind != .hostsFile && (old.map { $0.hosts != file.hosts } ?? file.faults.isEmpty)
        if isRepaired || isNew { outbox.log(.namesLoaded(path: path, names: file.names)) }
    }

    private func beginBatch() {
        guard thread == nil, !isTaken, requestedFiles != .none || !cleanup.isEmpty else { return }
        batches += 1
        var paths = requestedFiles
        if paths != .none { paths.zones = paths.zones ?? zones }
        let (number, local, leftover) = (batches, names.local, Leftover(cleanup))
        (requestedFiles, cleanup) = (.none, NameCleanup())
        let read = { @Sendable [finished, paths] in
            leftover.remove()
            let begun = Clock.now()
            // One batch at a time, so there is room.
            _ = finished.post(
                Batch(
                    number: number, paths: paths, lists: NameLists.outcomes(paths.lists, NameLists.readList),
                    accounts: NameLists.outcomes(paths.accounts, NameLists.readAccount),
                    local: NameLists.readLocal(paths, old: local), zones: paths.zones ?? .none,
                    took: begun.duration(to: Clock.now())))
        }
        do throws(SystemError) {
            thread = try NamedThread("lists", read)
        } catch {
            // Late answers are better than old lists.
            read()
        }
    }

    private static func checked(
        _ list: NameList, _ path: String, after old: NameList
    ) -> Result<NameList, UnusableSettings> {
        guard list.isEmpty, !old.isEmpty else { return .success(list) }
        return .failure(
            UnusableSettings(complaints: [
                "\(path): found no names, so the \(old.count) names read before stay in force; reload the settings if "
                    + "none are meant"
            ]))
    }

    // MARK: copies

    /// Has the thread copy what was read without a fault.
    private func copyFiles(of paths: NameFilePaths) {
        guard let copies, paths != .none else { return }
        var read = paths.lists.union(paths.accounts)
            .union(names.local.filter { !$0.value.isLeases && paths.local[$0.key] != nil }.values.flatMap(\.files))
        let now = Clock.now()
        if !paths.areLeasesOnly || leaseCopiesAt <= now {
            leaseCopiesAt = now + NameLists.leaseCopyInterval
            read.formUnion(paths.local.filter { $0.value == .leases }.keys)
        }
        let faulty = Set(complaints.keys).union(
            names.local.values.filter { !$0.faults.isEmpty }.flatMap { $0.files })
        let all = Set(lists.keys).union(names.accounts.keys).union(names.local.values.flatMap(\.files))
        // A refused reload reads files that do not come into force.
        let good = read.intersection(all).subtracting(faulty)
        guard !good.isEmpty || !paths.areLeasesOnly else { return }
        cleanup.copying = { copies.renew(good.sorted(), keeping: all.subtracting(good).sorted()) }
    }

    // MARK: watches

    /// Logs a warning if the kernel allows no watch: changes then go unnoticed until the next reload.
    private func watchFiles() {
        do throws(SystemError) {
            try watchAll()
        } catch {
            outbox.log(.listsUnwatched(reason: error.description))
        }
    }

    private func watchAll() throws(SystemError) {
        let hosts = names.sorted.filter { !$0.file.isLeases }
        let directories = hosts.filter { $0.file.kind == .hostsDirectory }.map(\.path)
        let paths =
            lists.keys.sorted() + directories.map { $0.hasSuffix("/") ? $0 : $0 + "/" } + hosts.flatMap(\.file.files)
        changed(try files.watch(paths) { [unowned self] in changed($0) })
        let leasePaths = names.local.filter { $0.value.isLeases }.keys.sorted()
        leasesChanged(try leases.watch(leasePaths) { [unowned self] in leasesChanged($0) })
    }

    private func changed(_ paths: Set<String>) {
        guard !paths.isEmpty else { return }
        let local = names.localPaths { path, file in
            switch file.kind {
            case .hostsFile: paths.contains(path)
            case .hostsDirectory: paths.contains { $0.hasPrefix(path) }
            case .leases: false
            }
        }
        _ = read(NameFilePaths(lists: paths.filter { lists[$0] != nil }, local: local))
    }

    private func leasesChanged(_ paths: Set<String>) {
        guard !paths.isEmpty else { return }
        changedLeases.formUnion(paths)
        if nextDeadline == nil { nextDeadline = max(Clock.now() + NameLists.leaseDelay, leasesNotBefore) }
    }
}

extension NameLists {
    /// The lists, as `status` shows them; nil: there are none.
    var reports: [StatusReport.List]? {
        let counts = lists.mapValues(\.count).merging(names.accounts.mapValues(\.count)) { list, _ in list }
        guard !counts.isEmpty else { return nil }
        return counts.sorted { $0.key < $1.key }.map { path, count in
            StatusReport.List(path: path, names: count, fault: complaints[path]?.first)
        }
    }

    /// Files that are not in force as they are now, and accounts that are left out.
    var faulty: Int {
        complaints.count + names.local.values.count { !$0.faults.isEmpty } + names.accountFaults.count
    }

    /// The same for hosts and lease files.
    var localReports: [StatusReport.List]? {
        // Of the hosts file, only what is wrong.
        let shown = names.sorted.filter {
            $0.file.kind != .hostsFile || !$0.file.faults.isEmpty || $0.file.ignoredLines > 0
        }
        guard !shown.isEmpty else { return nil }
        return shown.map { path, file in
            var report = StatusReport.List(path: path, names: file.names, fault: file.faults.first)
            report.ignoredLines = file.ignoredLines > 0 ? file.ignoredLines : nil
            report.refusedNames = file.leases.flatMap { $0.refusedNames > 0 ? $0.refusedNames : nil }
            return report
        }
    }
}

extension NameLists {
    /// Returns the names of new settings: those that were just read, and for a list with a fault the one in force.
    ///
    /// - Throws: a file with a fault was never in force.
    func joined(_ batch: Batch) throws(UnusableSettings) -> NamesInFiles {
        var joined = NamesInFiles(local: batch.local)
        var complaints = joined.join(batch.lists, into: \.lists, else: lists)
        // A file of an account is read for a reload only, which a fault in it refuses, unless the start did with it.
        let faulty = names.accounts.filter { names.complaints[$0.key] != nil }
        complaints += joined.join(batch.accounts, into: \.accounts, else: faulty)
        guard complaints.isEmpty else { throw UnusableSettings(complaints: complaints) }
        return joined
    }

    /// Reads all files before a start. In place of one with a fault, its last good version is used; a list without one
    /// is empty: a start must succeed where a running daemon goes on.
    static func read(for settings: Settings, _ copies: LastGoodFiles?) -> NamesInFiles {
        let paths = settings.nameFilePaths
        var names = NamesInFiles(local: readLocal(paths, old: [:], copies))
        for (path, outcome) in outcomes(paths.lists, readList) {
            names.lists[path] =
                names.complaints.take(outcome, path) ?? copies?.copy(of: path).flatMap { try? readList($0) } ?? .empty
        }
        for (path, outcome) in outcomes(paths.accounts, readAccount) {
            names.accounts[path] =
                names.complaints.take(outcome, path) ?? copies?.copy(of: path).flatMap { try? readAccount($0) } ?? []
        }
        return names
    }

    private static func outcomes<Value>(
        _ paths: Set<String>, _ read: (String) throws(UnusableSettings) -> Value
    ) -> [String: Result<Value, UnusableSettings>] {
        let outcomes = paths.map { path in
            (path, Result(catching: { () throws(UnusableSettings) in try read(path) }))
        }
        return Dictionary(uniqueKeysWithValues: outcomes)
    }

    /// - Parameter copies: for files without an old version; nil: there are none.
    fileprivate static func readLocal(
        _ paths: NameFilePaths, old: [String: LocalNameFile], _ copies: LastGoodFiles? = nil
    ) -> [String: LocalNameFile] {
        var local: [String: LocalNameFile] = [:]
        let zones = paths.zones ?? .none
        for (path, kind) in paths.local {
            local[path] =
                switch kind {
                case .hostsFile: LocalNameFile(hostsFile: path, old: old[path], copies, zones: zones)
                case .hostsDirectory: LocalNameFile(hostsDirectory: path, old: old[path], copies, zones: zones)
                case .leases: LocalNameFile(leaseFile: path, old: old[path], copies, zones: zones)
                }
        }
        return local
    }

    private static func readAccount(_ path: String) throws(UnusableSettings) -> [QuestionScope] {
        var bytes: [UInt8] = []
        try readPieces(path, maxBytes: OwnNames.maxFileBytes) { bytes += $0 }
        return try UnusableSettings.catching { () throws(SettingsError) in
            try OwnNames.parse(bytes: bytes, file: path)
        }
    }

    private static func readList(_ path: String) throws(UnusableSettings) -> NameList {
        var parser = NameListParser(file: path)
        try readPieces(path, maxBytes: NameListParser.maxFileBytes) { parser.take($0) }
        return try UnusableSettings.catching { () throws(SettingsError) in try parser.finish() }
    }

    private static func readPieces(
        _ path: String, maxBytes: Int, _ take: ([UInt8]) -> Void
    ) throws(UnusableSettings) {
        do throws(SystemError) {
            try TextFile.requireFile(path)
            try TextFile.readPieces(path, maxBytes: maxBytes, take)
        } catch {
            throw UnusableSettings(complaints: [
                "\(path): can't be read: \(error); make it a regular file that user \(Machine.user.userID) can read"
            ])
        }
    }
}

extension Settings {
    /// Each file once.
    var nameFilePaths: NameFilePaths {
        var local = [LocalNameFile.hostsFile: LocalNameFile.Kind.hostsFile]
        if let hostsDirectory { local[hostsDirectory] = .hostsDirectory }
        for path in leaseFiles { local[path] = .leases }
        return NameFilePaths(
            lists: Set(rules.flatMap(\.matchFiles)), accounts: Set(providers.compactMap(\.namesFile)), local: local,
            zones: LocalZones(localZones))
    }
}

/// The remaining work on the thread after new names are in force.
private struct NameCleanup: Sendable {
    /// Names that are not in force any more. To free those of a large hosts file takes a tenth of a second.
    var retired: [NamesInFiles] = []
    var work: [@Sendable () -> Void] = []
    var copying: (@Sendable () -> Void)?
    /// The heap's pages are worth to be returned.
    var isLarge = false

    var isEmpty: Bool { retired.isEmpty && work.isEmpty && copying == nil }
}

/// Makes the thread the last owner.
private final class Leftover: Sendable {
    private let cleanup: Mutex<NameCleanup?>

    init(_ cleanup: NameCleanup) {
        self.cleanup = Mutex(cleanup)
    }

    func remove() {
        guard var taken = cleanup.withLock({ $0.take() }) else { return }
        for work in taken.work { work() }
        taken.copying?()
        guard !taken.retired.isEmpty else { return }
        taken.retired = []
        if taken.isLarge { Machine.returnMemory() }
    }
}
