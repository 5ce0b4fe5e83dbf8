// Judges a path for the key of an account: whether the daemon can read the file, or whether a new one can be written
// there that the daemon can read. Opens no file: the caller supplies owners and modes.

import LinuxIO

struct KeyFileCheck: Sendable {
    let place: FileCheck.Place
    /// The user of the installed daemon; nil without one.
    let daemon: FileCheck.User?
    /// The user who runs `setup`.
    let caller: FileCheck.User
    /// Whether the caller may create files in the last directory of the path that exists.
    let isWritable: Bool

    /// The user of the installed daemon.
    static let userName = "httpdnsd"
    private static let elsewhere: LocalizedText = "name a file in another directory, such as /etc/httpdnsd"

    var verdict: SetupMachine.KeyFile {
        guard let status = place.status else { return faultOfMissing.map { .fault($0) } ?? .missing }
        if status.isDirectory { return .fault("\(place.path) is a directory; a key has a file of its own") }
        if !status.isRegular { return .fault("\(place.path) is not a regular file; put the key into one") }
        if status.size == 0 { return .fault("\(place.path) is empty; put the key into it, or remove it") }
        return verdictOfFile
    }

    /// The verdict on an existing file, by the rules of the doctor.
    private var verdictOfFile: SetupMachine.KeyFile {
        let check = FileCheck(
            user: daemon ?? (isRoot ? nil : caller), userName: KeyFileCheck.userName, isUserNeeded: false,
            places: [place])
        return check.findings.first.map { .fault("\($0.text); remedy: \($0.remedy)") } ?? .usable
    }

    private var isRoot: Bool { caller.id == 0 }

    /// Why no new file can be written there; nil if it can.
    private var faultOfMissing: LocalizedText? {
        guard !place.path.hasSuffix("/") else { return "\(place.path) ends with \"/\"; name a file" }
        let steps = KeyFileCheck.existingSteps(of: place)
        let directory = KeyFileCheck.existingDirectory(of: place)
        guard steps.allSatisfy(\.isDirectory) else { return "\(directory) is not a directory; name another file" }
        // The last directory of the path is created if it is missing.
        guard place.steps.count - steps.count <= 2 else {
            let missing = FileCheck.path(place.path, steps: steps.count)
            return "\(missing) does not exist; create it first, or \(KeyFileCheck.elsewhere)"
        }
        guard daemon != nil || !isRoot else {
            return """
                \(place.path) does not exist, and neither does the user \(KeyFileCheck.userName), who must own it; \
                install httpdnsd first, or name an existing file
                """
        }
        if let daemon, !isRoot, daemon.id != caller.id {
            return """
                \(place.path) does not exist, and \(daemon.name) can't read a key that \(caller.name) writes; \
                run setup with sudo
                """
        }
        if let daemon, let closed = steps.firstIndex(where: { !$0.allows(daemon, 1) }) {
            let closed = FileCheck.path(place.path, steps: closed)
            return "\(daemon.name) can't search \(closed) to reach \(place.path); \(KeyFileCheck.elsewhere)"
        }
        guard isWritable else { return "\(caller.name) can't write into \(directory); \(KeyFileCheck.elsewhere)" }
        return nil
    }

    /// The components of the path that exist, from the root on.
    private static func existingSteps(of place: FileCheck.Place) -> [FileStatus] {
        Array(place.steps.prefix { $0 != nil }.compactMap(\.self))
    }

    /// The last component of a missing file's path that exists.
    static func existingDirectory(of place: FileCheck.Place) -> String {
        FileCheck.path(place.path, steps: existingSteps(of: place).count - 1)
    }
}
