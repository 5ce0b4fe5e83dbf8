// Key files: valid keys, and the error text for operators without one.

import FoundationEssentials
import LinuxIO
import Resolver
import Settings
import Testing

@testable import Upstreams

@Suite("Provider keys")
struct ProviderKeysTests {
    private let folder = KeyFolder()

    private func provider(_ path: String?) -> Settings.Provider {
        var provider = Settings.Provider.builtIn[0]
        provider.name = "tencent"
        provider.keyFile = path
        return provider
    }

    private func complaints(_ path: String, credentials: String? = nil) -> [String] {
        do throws(UnusableSettings) {
            _ = try ProviderKeys([provider(path)], settingsFile: "f.toml", credentials: credentials)
            return []
        } catch {
            return error.complaints
        }
    }

    @Test(
        "the key is the file's content without the blanks around it",
        arguments: ["567890", "567890\n", " \t567890\r\n\n", "a!~"])
    func content(text: String) throws {
        let tencent = provider(try folder.file(Array(text.utf8)))
        let keys = try ProviderKeys([provider(nil), tencent], settingsFile: "f.toml")
        #expect(keys[tencent].key?.text == text.filter { !$0.isWhitespace })
        #expect(keys[provider(nil)] == ProviderSecrets())
    }

    @Test("a file that is missing or no file is named with its provider and what to do")
    func unreadable() throws {
        _ = try folder.file([])
        let path = folder.path
        let missing = complaints(path + "/none")
        #expect(missing.count == 1)
        #expect(missing[0].hasPrefix("f.toml: provider tencent: key-file \(path)/none: can't be read: "))
        #expect(missing[0].hasSuffix("; write only the secret into it"))
        #expect(complaints(path)[0].hasSuffix("; make it a regular file that httpdnsd can read"))
    }

    @Test("an empty file is no key", arguments: ["", " \n\t\r\n"])
    func empty(text: String) throws {
        #expect(
            complaints(try folder.file(Array(text.utf8)))[0].hasSuffix(
                ": is empty; write only the secret into it"))
    }

    @Test("what can't be a key is refused, and not one byte of it is shown")
    func absurd() throws {
        for content in [Array("two words".utf8), Array("two\nlines".utf8), [0x61, 0], [0xC3, 0xA9], [0x61, 0x7F]] {
            let path = try folder.file(content)
            #expect(
                complaints(path) == [
                    "f.toml: provider tencent: key-file \(path): contains more than one word of printable ASCII; "
                        + "write only the secret into it"
                ])
        }
        #expect(complaints(try folder.file(Array(repeating: 0x61, count: 1025)))[0].contains("can't be read"))
        #expect(complaints(try folder.file(Array(repeating: 0x61, count: 1024))).isEmpty)
    }

    @Test("a provider's three secrets come from three files")
    func three() throws {
        var tencent = provider(try folder.file(Array("k".utf8)))
        tencent.cipherKeyFile = try folder.file(Array("c".utf8), name: "cipher")
        tencent.proxyKeyFile = "proxy"
        _ = try folder.file(Array("p\n".utf8), name: "proxy", mode: 0o644)
        let secrets = try ProviderKeys([tencent], settingsFile: "f.toml", credentials: folder.path)[tencent]
        #expect(secrets.key?.text == "k" && secrets.cipherKey?.text == "c" && secrets.proxyPassword?.text == "p")
    }

    @Test("each file that does not serve is named with its key")
    func named() throws {
        var tencent = provider("/n/1")
        tencent.cipherKeyFile = "/n/2"
        tencent.proxyKeyFile = "n3"
        #expect {
            try ProviderKeys([tencent], settingsFile: "f.toml", credentials: nil)
        } throws: { error in
            let complaints = (error as? UnusableSettings)?.complaints ?? []
            return complaints.map { $0.prefix { $0 != ";" }.split(separator: ":")[2] }
                == [" key-file /n/1", " cipher-key-file /n/2", " proxy-key-file \(Self.hidden)"]
        }
    }

    private static let hidden = "(a value that is not shown, because it may be a key)"

    @Test("a value that is no path is the name of a credential, and is not shown, because it may be a pasted key")
    func credentials() throws {
        #expect(
            complaints("hunter2") == [
                "f.toml: provider tencent: key-file \(Self.hidden): is read as the name of a systemd credential, but "
                    + "CREDENTIALS_DIRECTORY is not set; write the absolute path of a file with the secret, or add "
                    + "LoadCredential=NAME:/PATH/OF/THE/SECRET to the unit of httpdnsd"
            ])
        let missing = complaints("hunter2", credentials: "/nowhere")
        #expect(missing[0].hasPrefix("f.toml: provider tencent: key-file \(Self.hidden): can't be read: "))
        #expect(
            missing[0].hasSuffix(
                "; add LoadCredential=NAME:/PATH/OF/THE/SECRET to the unit of httpdnsd and restart httpdnsd"))
        #expect(!missing[0].contains("hunter2"))
    }

    @Test(
        "a path that may be a pasted key is read, but not shown", arguments: ["/hunter2", "/hunter/2+", "/hunter/2="])
    func pastedPath(_ path: String) {
        let found = complaints(path)
        #expect(
            found.count == 1 && found[0].hasPrefix("f.toml: provider tencent: key-file \(Self.hidden): can't be read"))
        #expect(!found[0].contains("hunter"))
        let reader = FileReader(userID: 998, groupID: 997)
        #expect(!Settings.Provider.shown(reader.remedyForOwn(path: path), about: path).contains("hunter"))
    }

    @Test("a file that other users can read is refused with the command that keeps them out")
    func readableByOthers() throws {
        let path = try folder.file(Array("hunter2".utf8), mode: 0o604)
        let found = complaints(path)
        #expect(found.count == 1)
        #expect(
            found[0].hasPrefix("f.toml: provider tencent: key-file \(path): other users can read it; run: chmod 06"))
        #expect(!found[0].contains("hunter2"))
        _ = try folder.file(Array("hunter2".utf8), mode: 0o600)
        #expect(complaints(path) == [])
    }

    @Test("user 65534 may hold no key, neither in a file nor in a credential, and the complaint names the remedy")
    func sharedUser() throws {
        _ = try folder.file(Array("hunter2".utf8), mode: 0o600)
        let nobody = FileReader(userID: 65_534, groupID: 997)
        for (file, shown) in [("\(folder.path)/key", "\(folder.path)/key"), ("emas", Self.hidden)] {
            let error = #expect(throws: UnusableSettings.self) {
                try ProviderKeys(
                    [provider(file)], settingsFile: "f.toml", credentials: folder.path, user: nobody)
            }
            #expect(
                error?.complaints == [
                    "f.toml: provider tencent: key-file \(shown): is refused: other programs may run as user 65534, as "
                        + "httpdnsd does, and could read it; run: useradd --system --user-group --no-create-home "
                        + "httpdnsd; then start httpdnsd as root, or name another user in server.user"
                ])
        }
        #expect(throws: Never.self) { try ProviderKeys([provider(nil)], settingsFile: "f.toml", user: nobody) }
    }

    @Test("our group and root's may read a key, others' may not, and the command leaves it readable for us")
    func groups() {
        let us = FileReader(userID: 998, groupID: 997)
        let root = FileReader(userID: 0, groupID: 0)
        // The reader is in nogroup, which other programs share.
        let ungrouped = FileReader(userID: 998, groupID: 65_534)
        let cases: [(FileReader, owner: UInt32, group: UInt32, mode: UInt32, String?)] = [
            (us, 998, 997, 0o600, nil), (us, 0, 997, 0o640, nil), (us, 998, 0, 0o640, nil), (us, 998, 5, 0o600, nil),
            (us, 998, 5, 0o640, "run: chmod 0600 /k"), (us, 998, 997, 0o644, "run: chmod 0640 /k"),
            (us, 0, 997, 0o604, "run: chmod 0640 /k"), (us, 998, 0, 0o644, "run: chmod 0600 /k"),
            (us, 0, 0, 0o644, "run: chgrp 997 /k && chmod 0640 /k"),
            (us, 1000, 1000, 0o644, "run: chgrp 997 /k && chmod 0640 /k"),
            (root, 0, 0, 0o640, nil), (root, 0, 0, 0o644, "run: chmod 0600 /k"),
            (root, 1000, 1000, 0o640, "run: chmod 0600 /k"),
            (ungrouped, 998, 65_534, 0o600, nil), (ungrouped, 998, 65_534, 0o640, "run: chmod 0600 /k"),
            (ungrouped, 0, 65_534, 0o640, "run: chown 998 /k && chmod 0600 /k"),
        ]
        for (reader, owner, group, mode, remedy) in cases {
            let rights = FileRights(userID: owner, groupID: group, mode: mode)
            #expect(reader.remedy(for: rights, path: "/k") == remedy, "\(owner) \(group) \(String(mode, radix: 8))")
        }
        let open = FileRights(userID: 0, groupID: 0, mode: 0o644)
        #expect(root.remedy(for: open, path: "/a b/it's") == #"run: chmod 0600 '/a b/it'\''s'"#)
    }

    @Test("a secret is not shown when it or its holder is printed")
    func redacted() throws {
        let tencent = provider(try folder.file(Array("hunter2".utf8)))
        let keys = try ProviderKeys([tencent], settingsFile: "f.toml")
        var dumped = ""
        dump(keys, to: &dumped)
        let account = try ProviderAccount(tencent, keys[tencent])
        dump(Provider(id: ProviderID(1), account, seed: 0).secrets, to: &dumped)
        dump(account.secrets, to: &dumped)
        let texts = ["\(keys)", "\(keys[tencent])", String(reflecting: keys[tencent].key), dumped]
        #expect(texts.allSatisfy { !$0.contains("hunter2") && $0.contains("(secret)") }, "\(texts)")
    }
}

/// A folder of key files, removed with the value.
private final class KeyFolder {
    let path = FileManager.default.temporaryDirectory.path + "/keys-\(UUID())"

    func file(_ content: [UInt8], name: String = "key", mode: Int = 0o600) throws -> String {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let file = path + "/" + name
        try Data(content).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
