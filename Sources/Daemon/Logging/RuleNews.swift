// The log lines about rules that were added at run time, and about the lists of rules.

import Control
import DNSWire

enum RuleNews {
    case ended(Name)
    case removed(Name, reason: String)
    /// The settings lack the nameserver of an added rule.
    case lacksNameserver(Name, nameserver: String)
    /// The store was not read in time.
    case late
    /// Files of lists cannot be watched.
    case unwatched(reason: String)

    var word: String {
        switch self {
        case .ended, .removed: "added-rule-gone"
        case .lacksNameserver: "added-rule-without-nameserver"
        case .late: "added-rules-late"
        case .unwatched: "lists-unwatched"
        }
    }

    var text: String {
        switch self {
        case .ended(let name): "the rule added for \(name) has ended"
        case .removed(let name, let reason): "the rule added for \(name) was removed: \(reason)"
        case .lacksNameserver(let name, let nameserver):
            "names under \(name) get no answer: the rule added for them names nameserver \(nameserver), which the "
                + "settings lack; add it there, or run: httpdnsctl rule rm \(name)"
        case .late: "the store is not read yet; rules that were added at run time are in force when it is"
        case .unwatched(let reason):
            "changes of lists are noticed at a reload only: their files can't be watched: \(reason)"
        }
    }

    var fields: [String: LogField] {
        switch self {
        case .ended(let name): ["name": .text(name.description), "reason": .text("ended")]
        case .removed(let name, let reason): ["name": .text(name.description), "reason": .text(reason)]
        case .lacksNameserver(let name, let nameserver):
            ["name": .text(name.description), "nameserver": .text(nameserver)]
        case .late: [:]
        case .unwatched(let reason): ["reason": .text(reason)]
        }
    }
}
