// The files of `match-file`: read on a thread of their own after a change, so that no query waits for one. A file with
// a fault keeps its last good list.

import Control
import DNSWire
import LinuxIO
import Settings

final class NameLists {
    /// Files that were read together.
    struct Batch: Sendable {
        let number: Int
        let outcomes: [String: Result<NameList, SettingsFile.Unusable>]
    }

    /// Those in force, by path.
    private(set) var lists: [String: NameList] = [:]
    /// The complaints about files that are not in force as they are now.
    private(set) var complaints: [String: [String]] = [:]
    private let loop: EventLoop
    private let finished: Mailbox<Batch>
    private var finishedWatch: EventLoop.Registration?
    private var watch: FileWatch?
    private var fileWatch: EventLoop.Registration?
    /// To be read in the next batch.
    private var wanted: Set<String> = []
    private var batches = 0
    /// Reads a batch; nil: none is being read.
    private var thread: NamedThread?
    /// Saves a system call in turns without news.
    private var hasFinished = false

    init(loop: EventLoop) throws(SystemError) {
        self.loop = loop
        finished = try Mailbox(capacity: 1)
        finishedWatch = try loop.watch(finished.descriptor, for: .readable) { [unowned self] _ in hasFinished = true }
    }

    deinit {
        thread.take()?.join()
    }

    /// Puts lists in force and watches their files.
    ///
    /// - Returns: a warning if the kernel allows no watch: changes then go unnoticed until the next reload.
    func set(_ lists: [String: NameList]) -> LogEvent? {
        let isSame = Set(lists.keys) == Set(self.lists.keys)
        self.lists = lists
        complaints = complaints.filter { lists[$0.key] != nil }
        guard !isSame else { return nil }
        do throws(SystemError) {
            try watchFiles()
            return nil
        } catch {
            return .rule(.unwatched(reason: error.description))
        }
    }

    /// Reads files again.
    ///
    /// - Returns: the number of the batch that will have them.
    func read(_ paths: Set<String>) -> Int {
        wanted.formUnion(paths)
        beginBatch()
        return wanted.isEmpty ? batches : batches + 1
    }

    /// Returns the batch that was read since the last call, if any. Lists in force are replaced by good ones. Call it
    /// in every turn of the loop.
    ///
    /// - Parameter requested: the number of a batch that the operator asked for. In others, a file without a name keeps
    ///   its last good list: a writer may have failed.
    func takeBatch(requested: Int?) -> (batch: Batch, news: [LogEvent])? {
        guard hasFinished else { return nil }
        hasFinished = false
        guard let batch = finished.takeAll().first else { return nil }
        thread.take()?.join()
        beginBatch()
        var news: [LogEvent] = []
        for (path, outcome) in batch.outcomes.sorted(by: { $0.key < $1.key }) {
            guard let old = lists[path] else { continue }
            switch batch.number == requested ? outcome : outcome.flatMap({ NameLists.checked($0, path, after: old) }) {
            case .success(let list):
                let wasRefused = complaints.removeValue(forKey: path) != nil
                if list != old || wasRefused { news.append(.listLoaded(path: path, names: list.count)) }
                lists[path] = list
            case .failure(let fault):
                if complaints[path] != fault.complaints {
                    news.append(.listRefused(path: path, complaints: fault.complaints))
                }
                complaints[path] = fault.complaints
            }
        }
        return (batch, news)
    }

    private func beginBatch() {
        guard thread == nil, !wanted.isEmpty else { return }
        batches += 1
        let (number, paths) = (batches, wanted)
        wanted = []
        let read = { @Sendable [finished] in
            let outcomes = paths.map { path in
                (
                    path,
                    Result(catching: { () throws(SettingsFile.Unusable) in
                        try NameLists.read(path)
                    })
                )
            }
            // One batch at a time, so there is room.
            _ = finished.post(Batch(number: number, outcomes: Dictionary(uniqueKeysWithValues: outcomes)))
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
    ) -> Result<NameList, SettingsFile.Unusable> {
        guard list.isEmpty, !old.isEmpty else { return .success(list) }
        return .failure(
            SettingsFile.Unusable(complaints: [
                "\(path): found no names, so the \(old.count) names read before stay in force; reload the settings if "
                    + "none are meant"
            ]))
    }

    private func watchFiles() throws(SystemError) {
        if let fileWatch { loop.unwatch(fileWatch) }
        (watch, fileWatch) = (nil, nil)
        guard !lists.isEmpty else { return }
        let new = try FileWatch(Array(lists.keys))
        watch = new
        fileWatch = try loop.watch(new.descriptor, for: .readable) { [unowned self] _ in
            if let changed = try? new.takeChangedPaths(), !changed.isEmpty { _ = read(changed) }
        }
        // They may have changed since they were read.
        _ = read(Set(lists.keys))
    }
}

extension NameLists {
    /// For `status`; nil without lists.
    var reports: [StatusReport.List]? {
        guard !lists.isEmpty else { return nil }
        return lists.sorted { $0.key < $1.key }.map { path, list in
            StatusReport.List(path: path, names: list.count, fault: complaints[path]?.first)
        }
    }
}

/// A reload whose lists are being read.
struct PendingReload {
    typealias Tell = (Result<ReloadReport, SettingsFile.Unusable>) -> Void

    let settings: Settings
    /// The number of the batch that has its lists; nil: it has none.
    let batch: Int?
    /// Told the result: those of earlier reloads that this one replaced, too.
    var waiting: [Tell]
}

extension NameLists {
    /// Returns the lists of new settings: those that were just read, and for a file with a fault the one in force.
    ///
    /// - Throws: a file with a fault was never in force.
    func joined(
        _ outcomes: [String: Result<NameList, SettingsFile.Unusable>]
    ) throws(SettingsFile.Unusable) -> [String: NameList] {
        var joined: [String: NameList] = [:]
        var complaints: [String] = []
        for (path, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            switch outcome {
            case .success(let list): joined[path] = list
            case .failure(let fault):
                if let list = lists[path] { joined[path] = list } else { complaints += fault.complaints }
            }
        }
        guard complaints.isEmpty else { throw SettingsFile.Unusable(complaints: complaints) }
        return joined
    }

    /// Reads the files of all rules.
    static func read(for settings: Settings) throws(SettingsFile.Unusable) -> [String: NameList] {
        var lists: [String: NameList] = [:]
        var complaints: [String] = []
        for path in settings.listPaths.sorted() {
            do throws(SettingsFile.Unusable) { lists[path] = try read(path) } catch { complaints += error.complaints }
        }
        guard complaints.isEmpty else { throw SettingsFile.Unusable(complaints: complaints) }
        return lists
    }

    private static func read(_ path: String) throws(SettingsFile.Unusable) -> NameList {
        var parser = NameListParser(file: path)
        do throws(SystemError) {
            try TextFile.readPieces(path, maxBytes: NameListParser.maxFileBytes) { parser.take($0) }
        } catch {
            throw SettingsFile.Unusable(complaints: [
                "\(path): can't be read: \(error); make it a regular file that user \(Machine.user.userID) can read"
            ])
        }
        do throws(SettingsError) {
            return try parser.finish()
        } catch {
            throw SettingsFile.Unusable(complaints: error.description.split(separator: "\n").map(String.init))
        }
    }
}

extension Settings {
    /// The files of `match-file`, each once.
    var listPaths: Set<String> { Set(rules.flatMap(\.matchFiles)) }
}
