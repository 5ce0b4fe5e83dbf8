// A path that a takeover changes: what was there, what we put there, and what is to be done where somebody else has
// changed it meanwhile.

package struct TakenPath: Equatable, Sendable {
    /// What the path is for us.
    package enum Role: String, CaseIterable, Sendable {
        case resolvConf
        /// Settings that have our name: nobody else has business there.
        case ownSettings
        /// Settings of somebody else's, with lines of ours at the end.
        case sharedSettings
        /// A directory for settings; it goes when nobody else has put something there.
        case folder
        /// Written by somebody else as we tell him to; what he writes is not known beforehand.
        case generated
        /// What the daemon reads; ours alone.
        case copy
    }

    package let path: String
    package let role: Role
    package let former: FileState
    /// Of what is generated: the former state, as nothing is put there.
    package let ours: FileState
    /// A mount point can't be replaced, only written over.
    package let isWrittenOver: Bool

    package init(_ path: String, _ role: Role, former: FileState, ours: FileState, isWrittenOver: Bool = false) {
        self.path = path
        self.role = role
        self.former = former
        self.ours = ours
        self.isWrittenOver = isWrittenOver
    }
}

/// A program that is run, found in the system's usual places.
package struct ProgramCall: Equatable, Sendable {
    package let name: String
    package let arguments: [String]

    package init(_ name: String, _ arguments: [String]) {
        self.name = name
        self.arguments = arguments
    }

    package var line: String { ([name] + arguments).joined(separator: " ") }
}
