// The settings in force, and a reload: the file is read, then its lists, and then both come into force together, or
// neither does.
//
//     idle ── a file without a fault ──> lists are read ──┬── no fault ──> in force ──> idle
//      │                                      │           └── a fault ───> refused ──> idle
//      └── a file with a fault ───────────────┴── another file with a fault ──^

import Control
import LinuxIO
import Settings

final class Reload {
    typealias Result = Swift.Result<ReloadReport, UnusableSettings>
    typealias Tell = (Result) -> Void

    /// The settings of the last reload. Those that take effect only at startup apply from the next restart.
    private(set) var settings: Settings
    private(set) var secrets: LoadedSecrets
    /// When the settings came into force, in milliseconds since 1970.
    private(set) var settingsAtWall: Int64
    let settingsOfStart: Settings
    private var viewNumbers: ViewNumbers
    private let options: Options
    /// The bound addresses; nil: the addresses of the settings.
    private let ports: PortBinding?
    private let lists: NameLists
    /// New settings, and the number of the batch that will have their lists; nil: no reload is under way.
    private var pending: (settings: Settings, batch: Int)?
    /// Told the result of the present reload: those of earlier reloads that it replaced, too.
    private var waiting: [Tell] = []

    init(
        _ settings: Settings, _ secrets: LoadedSecrets, _ options: Options, _ ports: PortBinding?, _ lists: NameLists,
        atWall: Int64
    ) {
        (self.settings, settingsOfStart, viewNumbers) = (settings, settings, ViewNumbers(settings))
        (self.secrets, self.options, self.ports, self.lists) = (secrets, options, ports, lists)
        settingsAtWall = atWall
    }

    /// The batch of lists that the reload waits for.
    var batch: Int? { pending?.batch }

    /// Reads the settings file, and has its lists read.
    ///
    /// - Returns: the fault of the file, which ends a reload that waits for its lists, too.
    func begin(_ tell: @escaping Tell) -> UnusableSettings? {
        waiting.append(tell)
        do throws(UnusableSettings) {
            let new = try SettingsFile.readWhileServing(options)
            pending = (new, lists.read(new.nameFilePaths))
            return nil
        } catch {
            pending = nil
            return error
        }
    }

    /// Puts the new settings in force if the batch has their lists.
    ///
    /// - Parameter apply: called when `settings` and `secrets` are the new ones.
    /// - Returns: nil: the batch is of no reload.
    func take(_ batch: NameLists.Batch, now wallMilliseconds: Int64, apply: () -> Void) -> Result? {
        guard var new = pending?.settings, pending?.batch == batch.number else { return nil }
        pending = nil
        viewNumbers.assign(to: &new, after: settings)
        do throws(UnusableSettings) {
            secrets = try LoadedSecrets(for: new, options, bound: ports, names: try lists.joined(batch))
            var report = ReloadReport(needRestart: new.changesNeedingRestart(from: settingsOfStart))
            (settings, settingsAtWall) = (new, wallMilliseconds)
            apply()
            let complaints = lists.complaints.values.flatMap(\.self).sorted()
            report.keptLists = complaints.isEmpty ? nil : complaints
            return .success(report)
        } catch {
            return .failure(error)
        }
    }

    /// Returns the names in the files of the new settings.
    func takeNames() -> NamesInFiles { secrets.takeNames() }

    /// Tells the result to all that wait for it.
    func end(_ result: Result) {
        let waiting = waiting
        self.waiting = []
        for tell in waiting { tell(result) }
    }
}
