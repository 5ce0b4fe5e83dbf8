// The arguments of `httpdnsctl system`.

package enum SystemAction: Equatable, Sendable {
    case status
    case use(isDryRun: Bool)
    /// - Parameter onlyIfDead: do nothing if the daemon answers.
    case restore(isDryRun: Bool, onlyIfDead: Bool)

    private static let dryRun = "--dry-run"
    private static let ifDead = "--if-dead"

    /// - Parameter words: the arguments after `system`.
    init(_ words: [String]) throws(UsageError) {
        let options = Set(words.dropFirst())
        let allowed: Set<String>
        switch words.first {
        case "status":
            (self, allowed) = (.status, [])
        case "use":
            (self, allowed) = (.use(isDryRun: options.contains(SystemAction.dryRun)), [SystemAction.dryRun])
        case "restore":
            self = .restore(
                isDryRun: options.contains(SystemAction.dryRun), onlyIfDead: options.contains(SystemAction.ifDead))
            allowed = [SystemAction.dryRun, SystemAction.ifDead]
        case nil: throw UsageError("system needs a verb; allowed: \(Command.Word.system.usage)")
        case let verb?: throw UsageError("unknown verb \(verb) of system; allowed: \(Command.Word.system.usage)")
        }
        if let unknown = options.subtracting(allowed).min() {
            throw UsageError("unknown argument \(unknown) of system; allowed: \(Command.Word.system.usage)")
        }
    }
}

/// A wrong command line; httpdnsctl ends with exit code 3.
package struct UsageError: Error, Equatable, Sendable {
    package let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
