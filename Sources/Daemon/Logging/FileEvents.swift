// The events of the log about files, the store, sets of nftables and receivers of notifications.

import Control
import DNSWire
import Store

// MARK: - files

extension LogEvent {
    /// A list of names for rules was read after a change.
    static func namesLoaded(path: String, names: Int) -> LogEvent {
        LogEvent(
            .info, .listLoaded, .written, "\(counted(names, "name", "names")) loaded from \(path)",
            ["path": .text(path), "names": .number(names)])
    }

    /// - Parameter names: the number of names in the last good version, which is in force.
    static func namesRefused(path: String, names: Int, complaints: [String]) -> LogEvent {
        LogEvent(
            .error, .listRefused, .written,
            "\(path) not loaded, "
                + (names == 0 ? "and it has no names until it is repaired:" : "its last good list stays in force:"),
            details: complaints, ["path": .text(path)])
    }

    /// - Parameter isWhole: the file is not in force as it is now; otherwise lines of the file are ignored.
    static func localNamesRefused(path: String, complaints: [String], isWhole: Bool) -> LogEvent {
        LogEvent(
            .warning, .localNamesRefused, .written,
            path + (isWhole ? " is not in force as it is now; its earlier names are:" : " has lines that are ignored:"),
            details: complaints, ["path": .text(path)])
    }

    /// An account that answers no client has a fault, and is left out.
    static func accountLeftOut(complaints: [String]) -> LogEvent {
        LogEvent(
            .warning, .accountLeftOut, .written,
            "an account that answers no client is left out until it is repaired:", details: complaints)
    }

    /// Files of lists cannot be watched.
    static func listsUnwatched(reason: String) -> LogEvent {
        LogEvent(
            .warning, .listsUnwatched, .written,
            "changes of lists are noticed at a reload only: their files can't be watched: \(reason)",
            ["reason": .text(reason)])
    }

    static func fileUnreadable(path: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .fileUnreadable, .counted, "\(path) can't be read: \(reason)", ["path": .text(path)])
    }

    /// The flight recorder was written after many clients got failures.
    static func recorderWritten(path: String) -> LogEvent {
        LogEvent(
            .warning, .recorderWritten, .written,
            "at least half of the lookups within 10 s failed; the events before that are in "
                + "\(path), to be read with: httpdnsctl recorder read",
            ["path": .text(path)])
    }

    static func recorderFails(path: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .recorderFails, .counted, "the flight recorder can't be written to \(path): \(reason)",
            ["path": .text(path)])
    }
}

// MARK: - store

extension LogEvent {
    static func storeLoaded(path: String, _ report: LoadReport) -> LogEvent {
        let damaged = report.skipped > 0 ? ", \(report.skipped) damaged" : ""
        let left = report.leftOut > 0 ? ", \(report.leftOut) ignored" : ""
        return LogEvent(
            .info, .storeLoaded, .written,
            "\(report.restored) answers loaded from \(path) in \(report.milliseconds) ms\(left)\(damaged)",
            ["path": .text(path)])
    }

    static func storeSetAside(path: String, _ setAside: SetAside) -> LogEvent {
        LogEvent(
            .warning, .storeSetAside, .counted,
            "\(path) is \(setAside.finding); renamed to \(setAside.newPath), a new file was created; "
                + "switches and rules that were made at run time are lost",
            ["path": .text(path)])
    }

    static func storeFails(path: String, _ failure: StoreFailure) -> LogEvent {
        LogEvent(
            .warning, .storeFails, .change, "\(path) can't be used, the cache is in memory only: \(failure)",
            ["path": .text(path)])
    }

    static func storeWorks(path: String) -> LogEvent {
        LogEvent(.info, .storeWorks, .change, "\(path) can be used again", ["path": .text(path)])
    }

    /// Returns nil for events that are not logged: the readers of the notes log their effects.
    init?(_ event: StoreEvent, path: String) {
        switch event {
        case .notes: return nil
        case .loaded(let report): self = .storeLoaded(path: path, report)
        case .setAside(let setAside): self = .storeSetAside(path: path, setAside)
        case .failed(let failure): self = .storeFails(path: path, failure)
        case .recovered: self = .storeWorks(path: path)
        }
    }
}

// MARK: - sets of nftables

extension LogEvent {
    static func setHelperGone(socket: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .nftsetHelperGone, .change,
            "no addresses get into nftables sets: httpdnsd-nftset can't be reached at \(socket): \(reason); run: "
                + "systemctl enable --now httpdnsd-nftset.socket",
            ["socket": .text(socket), "reason": .text(reason)])
    }

    static var setHelperWorks: LogEvent {
        LogEvent(.info, .nftsetHelperWorks, .change, "httpdnsd-nftset is reached again")
    }

    static func setReady(_ set: AddressSet, _ type: RecordType) -> LogEvent {
        LogEvent(
            .info, .nftsetReady, .change, "nftables set \(set) gets addresses of \(type) records",
            ["set": .text(set.description), "type": .text(type.description)])
    }

    static func setFaulty(_ set: AddressSet, fault: String) -> LogEvent {
        LogEvent(
            .warning, .nftsetFaulty, .change, "nftables set \(set) gets no addresses: \(fault)",
            ["set": .text(set.description), "reason": .text(fault)])
    }

    static func elementsRefused(_ set: AddressSet, reason: String) -> LogEvent {
        LogEvent(
            .warning, .nftsetRefused, .change,
            "nftables set \(set) does not take some addresses: \(reason); make it larger (size), or without the flag "
                + "interval. Further ones are counted (nftset.failed)",
            ["set": .text(set.description), "reason": .text(reason)])
    }
}

// MARK: - receivers of notifications

extension LogEvent {
    static func receiverFails(name: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .receiverFails, .change, "\(name) does not accept notifications: \(reason)",
            ["receiver": .text(name), "reason": .text(reason)])
    }

    /// The end of `receiverFails`.
    static func receiverWorks(name: String, after duration: Duration) -> LogEvent {
        LogEvent(
            .info, .receiverWorks, .change,
            "\(name) accepts notifications again after \(duration.wholeSeconds) s",
            ["receiver": .text(name), "after_ms": .number(duration.wholeMilliseconds)])
    }
}
