// Reads and changes the files of a takeover, as a plan says. It makes no decisions.

import Control
import DNSWire
import LinuxIO

enum SystemFiles {
    /// Time limit of a program. Notified programs answer within a second; a busy machine may need longer.
    static let programTimeout = Duration.seconds(30)
    private static let maxOutputBytes = 64 << 10

    static func survey() throws(SystemError) -> Survey {
        var survey = Survey()
        survey.states = try states(of: SystemPaths.looked)
        survey.resolvConfDestination = FileSnapshot.destination(ofLinkAt: SystemPaths.resolvConf)
        survey.resolvConfContent = resolvConfContent()
        survey.uplinkContent = content(of: SystemPaths.resolvedUplinks)
        survey.mountPoints = MountTable.points()
        survey.running = RunningPrograms.names()
        survey.isStubAnswering = DaemonAddresses.isListening(atStub: "127.0.0.53")
        survey.rewriterSettings = MachineFiles.rewriterSettings
        if survey.running.contains("NetworkManager") {
            let ended = try? ChildProgram.run(
                "NetworkManager", ["--print-config"], timeout: programTimeout, maxBytes: maxOutputBytes)
            survey.networkManagerSettings = String(decoding: ended?.output ?? [], as: UTF8.self)
        }
        return survey
    }

    static func daemonUnit() -> DaemonUnit {
        let ended = try? ChildProgram.run(
            "systemctl", DaemonUnit.question, timeout: programTimeout, maxBytes: maxOutputBytes)
        return DaemonUnit(ended?.exitCode == 0 ? String(decoding: ended?.output ?? [], as: UTF8.self) : "")
    }

    static func restorePlan(_ record: TakeoverRecord) throws(SystemError) -> RestorePlan {
        RestorePlan(record, try states(of: RestorePlan.looked(record)), resolvConfContent: resolvConfContent())
    }

    /// The content that programs read at resolv.conf, through a link if it is one.
    static func resolvConfContent() -> [UInt8] { content(of: SystemPaths.resolvConf) }

    static func states(of paths: [String]) throws(SystemError) -> [String: FileSnapshot] {
        var states: [String: FileSnapshot] = [:]
        for path in paths {
            do throws(SystemError) {
                states[path] = try FileSnapshot(at: path, maxBytes: TakeoverRecord.maxFileBytes)
            } catch {
                // The file is unreadable without root, or larger than any such file should be.
                guard error.isPermissionDenied || error.isTooLarge else { throw error }
                states[path] = .other
            }
        }
        return states
    }

    private static func content(of path: String) -> [UInt8] {
        (try? TextFile.read(path, maxBytes: TakeoverRecord.maxFileBytes)) ?? []
    }

    static func put(_ state: FileSnapshot, at path: String, isWrittenOver: Bool) throws(SystemError) {
        let unfinished = SystemPaths.unfinished(path)
        switch state {
        case .absent: try FileReplacement.remove(path)
        case .directory: try FileReplacement.makeDirectory(path)
        case .link(let target, let rights):
            try FileReplacement.putLink(to: target, rights, at: path, by: unfinished)
        case .file(let bytes, let rights):
            // A file that was mounted at this path may have been unmounted since.
            if isWrittenOver, MountTable.points().contains(path) {
                try FileReplacement.writeOver(path, with: bytes)
            } else {
                try FileReplacement.put(bytes, rights, at: path, by: unfinished)
            }
        case .other: break
        }
    }

    /// Removes the temporary files that an interrupted run may have left beside the paths.
    static func sweep(_ record: TakeoverRecord) throws(SystemError) {
        for path in record.paths { try FileReplacement.remove(SystemPaths.unfinished(path.path)) }
    }

    /// Runs a program and returns why it failed; nil on success.
    static func run(_ call: ProgramCall) -> String? {
        do throws(SystemError) {
            let ended = try ChildProgram.run(
                call.name, call.arguments, timeout: programTimeout, maxBytes: maxOutputBytes)
            guard ended.exitCode != 0 else { return nil }
            let lastLine = String(decoding: ended.output, as: UTF8.self).split(separator: "\n").last ?? ""
            let words = lastLine.isEmpty ? "" : ": \(lastLine)"
            return "\(call.line) ended with \(ended.exitCode)\(words)".shown(maxBytes: SystemWorkReport.maxLineBytes)
        } catch {
            return "\(call.line): \(error)"
        }
    }
}
