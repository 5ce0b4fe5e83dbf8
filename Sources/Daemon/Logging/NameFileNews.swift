// The log lines about files with names: lists of rules and accounts, hosts files, lease files.

import Control

enum NameFileNews {
    case loaded(path: String, names: Int)
    /// - Parameter names: the number of names in the last good version, which is in force.
    case refused(path: String, names: Int, complaints: [String])
    /// - Parameter isWhole: the file is not in force as it is now; otherwise lines of the file are ignored.
    case localRefused(path: String, complaints: [String], isWhole: Bool)
    /// An account that answers no client has a fault, and is left out.
    case accountLeftOut(complaints: [String])

    var level: LogLevel {
        switch self {
        case .loaded: .info
        case .refused: .error
        case .localRefused, .accountLeftOut: .warning
        }
    }

    var word: String {
        switch self {
        case .loaded: "list-loaded"
        case .refused: "list-refused"
        case .localRefused: "local-names-refused"
        case .accountLeftOut: "account-left-out"
        }
    }

    var text: String {
        switch self {
        case .loaded(let path, let names): "\(counted(names, "name", "names")) loaded from \(path)"
        case .refused(let path, 0, _): "\(path) not loaded, and it has no names until it is repaired:"
        case .refused(let path, _, _): "\(path) not loaded, its last good list stays in force:"
        case .localRefused(let path, _, true): "\(path) is not in force as it is now; its earlier names are:"
        case .localRefused(let path, _, false): "\(path) has lines that are ignored:"
        case .accountLeftOut: "an account that answers no client is left out until it is repaired:"
        }
    }

    var details: [String] {
        switch self {
        case .loaded: []
        case .refused(_, _, let complaints), .localRefused(_, let complaints, _), .accountLeftOut(let complaints):
            complaints
        }
    }

    var fields: [String: LogField] {
        switch self {
        case .loaded(let path, let names): ["path": .text(path), "names": .number(names)]
        case .refused(let path, _, _), .localRefused(let path, _, _): ["path": .text(path)]
        case .accountLeftOut: [:]
        }
    }
}
