// Secrets of providers, proxies and receivers, read from key files at start and at each reload. Complaints never
// contain any part of them.

import Control
import LinuxIO
package import Settings

/// Secrets of one provider; nil for files that its settings do not name.
package struct ProviderSecrets: Equatable {
    var key: Secret?
    var cipherKey: Secret?
    var proxyPassword: Secret?
}

package struct ProviderKeys {
    private var secretOfFile: [String: Secret] = [:]

    /// Bound on a key file: far more than any vendor's token or key; keeps a wrong path from filling memory.
    private static let maxFileBytes = 1024

    /// A key of the settings that names the file of a secret.
    package struct File {
        /// The table of the key, such as "provider vendor".
        let owner: String
        let key: String
        let file: String

        package init(owner: String, key: String, file: String) {
            (self.owner, self.key, self.file) = (owner, key, file)
        }
    }

    init(
        _ providers: [Settings.Provider], settingsFile: String,
        credentials: String? = Environment.value(of: "CREDENTIALS_DIRECTORY"), user: FileReader = .process
    ) throws(UnusableSettings) {
        let files = providers.flatMap { provider in
            provider.secretFiles.map { File(owner: "provider \(provider.name)", key: $0.key, file: $0.file) }
        }
        try self.init(files: files, settingsFile: settingsFile, credentials: credentials, user: user)
    }

    /// - Parameters:
    ///   - settingsFile: named in complaints, because paths are corrected there.
    ///   - credentials: the directory in which systemd puts LoadCredential= files.
    ///   - user: the user and group with whose permissions the process reads.
    package init(
        files: [File], settingsFile: String,
        credentials: String? = Environment.value(of: "CREDENTIALS_DIRECTORY"), user: FileReader = .process
    ) throws(UnusableSettings) {
        var complaints: [String] = []
        for named in files where secretOfFile[named.file] == nil {
            do throws(Misfit) {
                secretOfFile[named.file] = try ProviderKeys.secret(named.file, credentials, user)
            } catch {
                let shown = Settings.Provider.shown(file: named.file)
                let reason = Settings.Provider.shown("\(error.finding); \(error.remedy)", about: named.file)
                complaints.append("\(settingsFile): \(named.owner): \(named.key) \(shown): \(reason)")
            }
        }
        guard complaints.isEmpty else { throw UnusableSettings(complaints: complaints) }
    }

    /// Secrets of a provider that was passed to the initializer.
    subscript(provider: Settings.Provider) -> ProviderSecrets {
        ProviderSecrets(
            key: provider.keyFile.flatMap { secretOfFile[$0] },
            cipherKey: provider.cipherKeyFile.flatMap { secretOfFile[$0] },
            proxyPassword: provider.proxyKeyFile.flatMap { secretOfFile[$0] })
    }

    /// The secret in a file that was passed to the initializer.
    package subscript(file file: String) -> Secret? { secretOfFile[file] }

    private struct Misfit: Error {
        let finding: String
        let remedy: String
    }

    private static func secret(
        _ file: String, _ credentials: String?, _ user: FileReader
    ) throws(Misfit) -> Secret {
        guard !user.isShared else {
            throw Misfit(
                finding:
                    "is refused: other programs may run as user \(user.userID), as httpdnsd does, and could read it",
                remedy: FileReader.remedyForShared)
        }
        if file.hasPrefix("/") {
            let content = try read(
                file, remedyIfMissing: "write only the secret into it",
                ifForbidden: user.remedyForOwn(path: file))
            if let remedy = user.remedy(for: content.rights, path: file) {
                throw Misfit(finding: "other users can read it", remedy: remedy)
            }
            return try word(in: content.bytes)
        }
        let advice = "add LoadCredential=NAME:/PATH/OF/THE/SECRET to the unit of httpdnsd"
        guard let credentials else {
            throw Misfit(
                finding: "is read as the name of a systemd credential, but CREDENTIALS_DIRECTORY is not set",
                remedy: "write the absolute path of a file with the secret, or \(advice)")
        }
        // systemd keeps other users from reading these files.
        return try word(
            in: read(
                "\(credentials)/\(file)", remedyIfMissing: "\(advice) and restart httpdnsd",
                ifForbidden: "set User= in the unit instead of server.user in the settings"
            ).bytes)
    }

    private static func read(
        _ path: String, remedyIfMissing: String, ifForbidden: String
    ) throws(Misfit) -> (bytes: [UInt8], rights: FileRights) {
        do throws(SystemError) {
            let (content, rights) = try TextFile.readWithRights(path, maxBytes: maxFileBytes)
            return (content, rights)
        } catch {
            let remedy =
                switch error {
                case let error where error.isNoSuchFile: remedyIfMissing
                case let error where error.isPermissionDenied: ifForbidden
                default: "make it a regular file that httpdnsd can read"
                }
            throw Misfit(finding: "can't be read: \(error)", remedy: remedy)
        }
    }

    private static func word(in bytes: [UInt8]) throws(Misfit) -> Secret {
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
        else {
            throw Misfit(finding: "is empty", remedy: "write only the secret into it")
        }
        let key = bytes[first...last]
        guard key.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Misfit(
                finding: "contains more than one word of printable ASCII", remedy: "write only the secret into it")
        }
        return Secret(String(decoding: key, as: UTF8.self))
    }
}

/// Judges which other users can read a file that only this process may read.
package struct FileReader {
    package let userID: UInt32
    package let groupID: UInt32

    /// Remedy for a daemon that runs with the shared uid 65534.
    package static let remedyForShared =
        "run: \(Account.command(making: "httpdnsd")); then start httpdnsd as root, or name another user in "
        + "server.user"

    /// True for uid 65534 (nobody), which other programs may also have.
    var isShared: Bool { userID == Machine.sharedID }
    private var isGroupShared: Bool { groupID == Machine.sharedID }

    package static var process: FileReader { FileReader(userID: Machine.user.userID, groupID: Machine.user.groupID) }

    /// Returns the command that excludes other users and lets this process read the file; nil if permissions are
    /// right. Group root counts as private: its members can read everything anyway.
    func remedy(for rights: FileRights, path: String) -> String? {
        let isOurs = rights.groupID == groupID && !isGroupShared
        let isOursOrRoots = isOurs || rights.groupID == 0
        guard rights.isReadableByOthers || (rights.isReadableByGroup && !isOursOrRoots) else { return nil }
        let name = shellWord(path)
        if isOurs, groupID != 0 { return "run: chmod 0640 \(name)" }
        if rights.userID == userID || userID == 0 { return "run: chmod 0600 \(name)" }
        return commandToHaveIt(name)
    }

    /// Returns the commands that give this process, and no other user, access to a file of root's.
    func remedyForOwn(path: String) -> String {
        commandToHaveIt(shellWord(path))
            + "; user \(userID) also needs search permission (x) on its directories"
    }

    private func commandToHaveIt(_ name: String) -> String {
        isGroupShared
            ? "run: chown \(userID) \(name) && chmod 0600 \(name)"
            : "run: chgrp \(groupID) \(name) && chmod 0640 \(name)"
    }
}
