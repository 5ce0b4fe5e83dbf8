// The text format of a takeover record: a keyword and its values per line, bytes quoted for a restore by hand.
//
//     path "/etc/resolv.conf" resolvConf replaced
//     former link 0777 0 0 "../run/systemd/resolve/stub-resolv.conf"
//     ours file 0644 0 0 "nameserver 127.0.0.1\n"

import LinuxIO

struct RecordFault: Error, Equatable, CustomStringConvertible {
    /// The number of the faulty line, counted from 1; 0: the record is incomplete.
    let line: Int

    init(line: Int) { self.line = line }

    var description: String {
        line == 0 ? "it is incomplete" : "line \(line) is invalid"
    }
}

extension TakeoverRecord {
    private static let head = "httpdnsd-takeover 1"
    private static let end = "end"

    var text: [UInt8] {
        var lines = [TakeoverRecord.head, "keeper \(Quoted.text(manager.rawValue))"]
        lines += addresses.map { "address \(Quoted.text($0))" }
        lines.append("steps \(isComplete ? "done" : "begun")")
        for path in paths {
            lines.append("path \(Quoted.text(path.path)) \(path.role) \(path.isWrittenOver ? "over" : "replaced")")
            lines += ["former \(path.former.text)", "ours \(path.ours.text)"]
        }
        lines += calls.map { call in "run " + ([call.name] + call.arguments).map(Quoted.text).joined(separator: " ") }
        return Array((lines + [TakeoverRecord.end]).map { $0 + "\n" }.joined().utf8)
    }

    init(_ text: [UInt8]) throws(RecordFault) {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count >= 2, lines[0].elementsEqual(TakeoverRecord.head.utf8), lines[lines.count - 1].isEmpty,
            lines[lines.count - 2].elementsEqual(TakeoverRecord.end.utf8)
        else { throw RecordFault(line: 0) }
        var draft = Draft()
        for (index, line) in lines.dropLast(2).enumerated().dropFirst() {
            guard let words = Quoted.words(line), draft.take(words) else { throw RecordFault(line: index + 1) }
        }
        guard let manager = draft.manager, let isComplete = draft.isComplete, draft.open == nil else {
            throw RecordFault(line: 0)
        }
        self.init(
            manager: manager, addresses: draft.addresses, isComplete: isComplete, paths: draft.paths, calls: draft.calls
        )
    }

    private struct Draft {
        var manager: ResolvConfWriter?
        var addresses: [String] = []
        var isComplete: Bool?
        var paths: [TakenPath] = []
        var calls: [ProgramCall] = []
        /// A path before its states have been read.
        var open: (path: String, role: TakenPath.Role, isWrittenOver: Bool, former: FileSnapshot?)?

        /// - Returns: false if the line is not valid at this point.
        mutating func take(_ words: [[UInt8]]) -> Bool {
            let texts = words.map { String(decoding: $0, as: UTF8.self) }
            switch (texts.first, texts.count) {
            case ("keeper", 2):
                manager = ResolvConfWriter(rawValue: texts[1])
                return manager != nil
            case ("address", 2): addresses.append(texts[1])
            case ("steps", 2):
                isComplete = ["begun": false, "done": true][texts[1]]
                return isComplete != nil
            case ("path", 4): return begin(texts)
            case ("former", _): return takeFormer(words.dropFirst())
            case ("ours", _): return takeOurs(words.dropFirst())
            case ("run", 2...): calls.append(ProgramCall(name: texts[1], arguments: Array(texts.dropFirst(2))))
            default: return false
            }
            return true
        }

        private mutating func begin(_ texts: [String]) -> Bool {
            guard open == nil, texts[1].hasPrefix("/"), let role = TakenPath.Role(rawValue: texts[2]),
                let isWrittenOver = ["over": true, "replaced": false][texts[3]]
            else { return false }
            open = (texts[1], role, isWrittenOver, nil)
            return true
        }

        private mutating func takeFormer(_ words: ArraySlice<[UInt8]>) -> Bool {
            guard open?.former == nil, let state = FileSnapshot(words) else { return false }
            open?.former = state
            return open != nil
        }

        private mutating func takeOurs(_ words: ArraySlice<[UInt8]>) -> Bool {
            guard let begun = open, let former = begun.former, let ours = FileSnapshot(words) else { return false }
            paths.append(
                TakenPath(
                    path: begun.path, role: begun.role, former: former, ours: ours, isWrittenOver: begun.isWrittenOver))
            open = nil
            return true
        }
    }
}

extension FileSnapshot {
    fileprivate var text: String {
        switch self {
        case .absent: "absent"
        case .directory: "directory"
        case .other: "other"
        case .file(let bytes, let owner): "file \(owner.text) \(Quoted.text(bytes))"
        case .link(let target, let owner): "link \(owner.text) \(Quoted.text(target))"
        }
    }

    /// Returns nil if the words are not a valid state.
    fileprivate init?(_ words: ArraySlice<[UInt8]>) {
        let texts = words.map { String(decoding: $0, as: UTF8.self) }
        switch (texts.first, texts.count) {
        case ("absent", 1): self = .absent
        case ("directory", 1): self = .directory
        case ("other", 1): self = .other
        case ("file", 5), ("link", 5):
            guard let owner = FileRights(Array(texts[1...3])), let last = words.last else { return nil }
            self = texts[0] == "file" ? .file(last, owner) : .link(target: last, owner)
        default: return nil
        }
    }
}

extension FileRights {
    fileprivate var text: String { "0\(String(mode, radix: 8)) \(userID) \(groupID)" }

    fileprivate init?(_ texts: [String]) {
        guard let mode = UInt32(texts[0], radix: 8), let user = UInt32(texts[1]), let group = UInt32(texts[2]),
            mode <= 0o7777
        else { return nil }
        self.init(userID: user, groupID: group, mode: mode)
    }
}
