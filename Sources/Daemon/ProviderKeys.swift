// What opens providers' accounts, read from their key files at start and at each reload. Never printed, neither in part
// nor in a complaint.

import LinuxIO
import Settings

struct ProviderKeys {
    private var keyOfFile: [String: String] = [:]

    /// Any vendor's tokens and keys are far shorter; keeps a wrong path from filling memory.
    private static let maxFileBytes = 1024

    /// - Parameter settingsFile: said in complaints, for that is where a path is mended.
    init(_ providers: [Settings.Provider], settingsFile: String) throws(SettingsFile.Unusable) {
        var complaints: [String] = []
        for provider in providers {
            guard let path = provider.keyFile, keyOfFile[path] == nil else { continue }
            do throws(Misfit) {
                keyOfFile[path] = try ProviderKeys.read(path)
            } catch {
                complaints.append(
                    "\(settingsFile): provider \(provider.name): key-file \(path): \(error.finding); \(error.remedy)")
            }
        }
        guard complaints.isEmpty else { throw SettingsFile.Unusable(complaints: complaints) }
    }

    /// Nil for a provider without a key file.
    subscript(provider: Settings.Provider) -> String? { provider.keyFile.flatMap { keyOfFile[$0] } }

    private struct Misfit: Error {
        let finding: String
        let remedy: String
    }

    private static func read(_ path: String) throws(Misfit) -> String {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try TextFile.read(path, maxBytes: maxFileBytes)
        } catch {
            let remedy = error.isNoSuchFile ? "put the vendor's token there" : "make it a file that httpdnsd may read"
            throw Misfit(finding: "can't be read: \(error)", remedy: remedy)
        }
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
        else {
            throw Misfit(finding: "is empty", remedy: "put the vendor's token there")
        }
        let key = bytes[first...last]
        guard key.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Misfit(
                finding: "holds more than one word of plain ASCII", remedy: "leave nothing there but the vendor's token"
            )
        }
        return String(decoding: key, as: UTF8.self)
    }
}
