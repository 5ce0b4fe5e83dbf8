// The steps that undo a takeover, also an interrupted takeover or restore. Later changes by other programs are kept
// unless they would still point to the daemon.

import DNSWire
import LinuxIO

struct RestorePlan: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case put(String, FileSnapshot, isWrittenOver: Bool)
        /// Removes the directory only if it is empty.
        case removeFolder(String)
        /// Saves a copy of content that another program changed.
        case keep(FileSnapshot, at: String)
        case run(ProgramCall)
    }

    let steps: [Step]
    /// Paths that another program changed and the restore leaves alone.
    let leftAlone: [String]
    /// Paths that another program changed and the restore replaces, with the place of the saved copy.
    let remarks: [String]

    /// - Parameters:
    ///   - states: current states of all paths in `looked`.
    ///   - resolvConfContent: content that programs read at /etc/resolv.conf, links resolved.
    init(_ record: TakeoverRecord, _ states: [String: FileSnapshot], resolvConfContent: [UInt8]) {
        var draft = Draft(addresses: record.addresses, states: states, resolvConfContent: resolvConfContent)
        for path in record.paths.reversed() { draft.giveBack(path, states[path.path] ?? .absent) }
        steps = draft.steps + record.calls.map { .run($0) }
        leftAlone = draft.leftAlone
        remarks = draft.remarks
    }

    /// Returns the steps that follow the program calls: replaces generated files that still point to the daemon.
    static func afterwards(
        _ record: TakeoverRecord, _ states: [String: FileSnapshot], resolvConfContent: [UInt8]
    ) -> [Step] {
        record.paths.compactMap { path in
            guard path.role == .generated, let now = states[path.path], now != path.former else { return nil }
            guard now.leads(resolvConfContent, to: record.addresses) else { return nil }
            return .put(path.path, path.former, isWrittenOver: path.isWrittenOver)
        }
    }

    var lines: [String] { steps.map { "  \($0.words)" } + differences }

    /// Paths that the restore does not bring back completely.
    var differences: [String] {
        remarks + leftAlone.map { "not restored, because another program changed it: \($0)" }
    }

    /// Returns the paths that a plan needs the state of.
    static func looked(_ record: TakeoverRecord) -> [String] {
        record.paths.map(\.path)
            + record.paths.flatMap { path in
                [SystemPaths.changed, SystemPaths.former].flatMap { places($0, of: path.path) }
            }
    }

    /// Earlier takeovers may have saved copies too. After this number the last place is overwritten.
    private static let maxKept = 9

    private static func places(_ place: String, of path: String) -> [String] {
        let first = place + SystemPaths.name(of: path)
        return [first] + (2...maxKept).map { "\(first).\($0)" }
    }

    private struct Draft {
        let addresses: [String]
        let states: [String: FileSnapshot]
        let resolvConfContent: [UInt8]
        var steps: [Step] = []
        var leftAlone: [String] = []
        var remarks: [String] = []

        mutating func giveBack(_ path: TakenPath, _ now: FileSnapshot) {
            guard now != path.former, path.role != .generated else { return }
            let back = Step.put(path.path, path.former, isWrittenOver: path.isWrittenOver)
            if path.role == .folder {
                if now == .directory { steps.append(.removeFolder(path.path)) }
            } else if now == .absent || now == path.ours || path.role == .copy || isHalfWritten(path, now) {
                steps.append(back)
            } else if path.role == .sharedSettings, let text = withoutOurs(path, now) {
                steps.append(.put(path.path, text, isWrittenOver: path.isWrittenOver))
                remarks.append("changed by another program; only httpdnsctl's lines are removed: \(path.path)")
            } else if path.role != .resolvConf || now.leads(resolvConfContent, to: addresses) {
                keep(now, of: path.path, at: SystemPaths.changed, "changed by another program since; saved as")
                steps.append(back)
            } else {
                keep(path.former, of: path.path, at: SystemPaths.former, "the previous content is saved as")
                leftAlone.append(path.path)
            }
        }

        private func isHalfWritten(_ path: TakenPath, _ now: FileSnapshot) -> Bool {
            path.isWrittenOver && now.isMixture(of: path.former, and: path.ours)
        }

        private mutating func keep(_ state: FileSnapshot, of path: String, at place: String, _ words: String) {
            guard state.bytes != nil || state.target != nil else { return }
            let places = RestorePlan.places(place, of: path)
            let free = places.first { [nil, .absent, state].contains(states[$0]) } ?? places[places.count - 1]
            steps.append(.keep(state, at: free))
            let link = state.target.map { ", a link to \(Quoted.plain($0))" } ?? ""
            remarks.append("\(path): \(words) \(free)\(link)")
        }

        /// Returns the file without our lines; nil if they are not in it as we wrote them.
        private func withoutOurs(_ path: TakenPath, _ now: FileSnapshot) -> FileSnapshot? {
            guard case .file(let bytes, let owner) = now, let ours = path.ours.bytes else { return nil }
            let lines = Array(ours.dropFirst(path.former.bytes?.count ?? 0).drop { $0 == UInt8(ascii: "\n") })
            guard !lines.isEmpty, let range = bytes.firstRange(of: lines) else { return nil }
            return .file(Array(bytes[..<range.lowerBound] + bytes[range.upperBound...]), owner)
        }
    }
}

extension FileSnapshot {
    /// Returns true if an interrupted in-place write from `former` to `next` can explain the content. Each byte must
    /// equal the byte of either file at that offset. Such a write truncates the file at the end.
    func isMixture(of former: FileSnapshot, and next: FileSnapshot) -> Bool {
        guard let bytes, let old = former.bytes, let new = next.bytes else { return false }
        guard bytes.count >= min(old.count, new.count), bytes.count <= max(old.count, new.count) else { return false }
        return bytes.indices.allSatisfy { index in
            (index < old.count && bytes[index] == old[index]) || (index < new.count && bytes[index] == new[index])
        }
    }

    /// Returns true if this file is resolv.conf or links to it, and its nameservers are `addresses`.
    fileprivate func leads(_ content: [UInt8], to addresses: [String]) -> Bool {
        (bytes != nil || target != nil) && ResolvConfText.leads(bytes ?? content, to: addresses)
    }
}

extension RestorePlan.Step {
    var words: String {
        switch self {
        case .put(let path, .absent, _): "remove \(path)"
        case .put(let path, .link(let target, _), _): "make \(path) a link to \(Quoted.plain(target)) again"
        case .put(let path, _, _): "restore \(path)"
        case .removeFolder(let path): "remove the directory \(path)"
        case .keep(_, let path): "save \(path)"
        case .run(let call): "run \(call.line)"
        }
    }
}
