// The takeover record is read back unchanged, and damage is detected.

@testable import httpdnsctl
import LinuxIO
import TestSupport
import Testing

@Suite("The record of a takeover")
struct RecordTextTests {
    private func record(_ manager: ResolvConfWriter) -> TakeoverRecord {
        TakeoverPlan(SampleMachine.survey(manager), addresses: SampleMachine.addresses).record
    }

    @Test("each kind's record is read as it was written", arguments: ResolvConfWriter.allCases)
    func roundTrip(manager: ResolvConfWriter) throws {
        var record = record(manager)
        #expect(try TakeoverRecord(record.text) == record)
        record.isComplete = true
        #expect(try TakeoverRecord(record.text) == record)
    }

    @Test("any bytes come back, and so do modes, owners and links")
    func anyBytes() throws {
        var random = SeededRandom(seed: 8)
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let owner = FileRights(
                userID: .random(in: 0 ... .max, using: &random), groupID: .random(in: 0 ... .max, using: &random),
                mode: .random(in: 0...0o7777, using: &random))
            let path = TakenPath(
                path: "/etc/a \"file\"", role: .sharedSettings, former: .file(bytes, owner),
                ours: .link(target: Array("to\n\\x00 \"there\"".utf8) + [0xFF], owner),
                isWrittenOver: bytes.count.isMultiple(of: 2))
            let record = TakeoverRecord(
                manager: .openresolv, addresses: ["::1"], isComplete: false, paths: [path],
                calls: [ProgramCall(name: "resolvconf", arguments: ["-u", "", "a b"])])
            #expect(try TakeoverRecord(record.text) == record)
        }
    }

    @Test("every beginning of a record is known to be no whole one", arguments: ResolvConfWriter.allCases)
    func cut(manager: ResolvConfWriter) {
        let text = record(manager).text
        for count in 0..<text.count {
            #expect(throws: RecordFault.self) { try TakeoverRecord(Array(text.prefix(count))) }
        }
    }

    @Test(
        "a line that is invalid is named",
        arguments: [
            "what 1", "path \"relative\" resolvConf replaced", "path \"/a\" nobody replaced", "former absent",
            "ours absent", "steps half", "keeper \"plain", "run", "address  \"::1\"", "keeper \"a\\q\"",
        ])
    func faults(line: String) {
        let text = "httpdnsd-takeover 1\nkeeper \"nobody\"\n\(line)\nsteps begun\nend\n"
        #expect(throws: RecordFault(line: 3)) { try TakeoverRecord(Array(text.utf8)) }
    }

    @Test("other files are none", arguments: ["", "nameserver 192.0.2.1\n", "httpdnsd-takeover 2\nend\n"])
    func others(text: String) {
        #expect(throws: RecordFault.self) { try TakeoverRecord(Array(text.utf8)) }
    }

    @Test("damaged bytes never stop the program")
    func damaged() {
        var random = SeededRandom(seed: 9)
        let text = record(.openresolv).text
        for _ in 0..<2000 {
            var bytes = text
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            _ = try? TakeoverRecord(bytes)
        }
    }

    @Test("what was changed since is told by path")
    func changed() {
        let record = record(.plainFile)
        var states = Dictionary(record.paths.map { ($0.path, $0.ours) }) { first, _ in first }
        #expect(record.changed(states).isEmpty)
        states[SystemPaths.resolvConf] = .absent
        #expect(record.changed(states) == [SystemPaths.resolvConf])
    }
}
