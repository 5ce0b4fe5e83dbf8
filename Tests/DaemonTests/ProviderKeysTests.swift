// Key files: what is a key, and what an operator reads when there is none.

import FoundationEssentials
import Settings
import Testing

@testable import Daemon

@Suite("Provider keys")
struct ProviderKeysTests {
    private let folder = KeyFolder()

    private func provider(_ path: String?) -> Settings.Provider {
        var provider = Settings.Provider.builtIn[0]
        provider.name = "tencent"
        provider.keyFile = path
        return provider
    }

    private func complaints(_ path: String) -> [String] {
        do throws(SettingsFile.Unusable) {
            _ = try ProviderKeys([provider(path)], settingsFile: "f.toml")
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
        #expect(keys[tencent] == text.filter { !$0.isWhitespace })
        #expect(keys[provider(nil)] == nil)
    }

    @Test("a file that is missing or no file is named with its provider and what to do")
    func unreadable() throws {
        _ = try folder.file([])
        let path = folder.path
        let missing = complaints(path + "/none")
        #expect(missing.count == 1)
        #expect(missing[0].hasPrefix("f.toml: provider tencent: key-file \(path)/none: can't be read: "))
        #expect(missing[0].hasSuffix("; put the vendor's token there"))
        #expect(complaints(path)[0].hasSuffix("; make it a file that httpdnsd may read"))
    }

    @Test("an empty file is no key", arguments: ["", " \n\t\r\n"])
    func empty(text: String) throws {
        #expect(complaints(try folder.file(Array(text.utf8)))[0].hasSuffix(": is empty; put the vendor's token there"))
    }

    @Test("what can't be a key is refused, and not one byte of it is shown")
    func absurd() throws {
        for content in [Array("two words".utf8), Array("two\nlines".utf8), [0x61, 0], [0xC3, 0xA9], [0x61, 0x7F]] {
            let path = try folder.file(content)
            #expect(
                complaints(path) == [
                    "f.toml: provider tencent: key-file \(path): holds more than one word of plain ASCII; "
                        + "leave nothing there but the vendor's token"
                ])
        }
        #expect(complaints(try folder.file(Array(repeating: 0x61, count: 1025)))[0].contains("can't be read"))
        #expect(complaints(try folder.file(Array(repeating: 0x61, count: 1024))).isEmpty)
    }
}

/// A folder for one key file, removed with it.
private final class KeyFolder {
    let path = FileManager.default.temporaryDirectory.path + "/keys-\(UUID())"

    func file(_ content: [UInt8]) throws -> String {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(content).write(to: URL(filePath: path + "/key"))
        return path + "/key"
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
