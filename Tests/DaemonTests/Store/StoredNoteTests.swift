// Notes between two runs of a daemon, such as an operator's switch.

import DNSWire
import LinuxIO
import Serving
import Store
import TestSupport
import Testing

@testable import Daemon

/// Notes are reported before the entries and stored at once; a new value replaces the file's.
struct StoredNoteTests {
    private let folder = TemporaryFolder()
    private let loop: EventLoop
    private let start = Clock.now()

    init() throws {
        loop = try EventLoop()
    }

    private func thread() throws -> StoreThread {
        try StoreThread(
            path: folder("cache.db"), cache: ServingStand().cache, maxAge: .seconds(3_600), maxTTL: .seconds(604_800),
            maxRows: 100, loop: loop, outbox: Outbox())
    }

    /// All events up to the last wanted one: notes with their text, other events by their kind.
    private func told(_ thread: StoreThread, until isLast: (String) -> Bool) throws -> [String] {
        var all: [String] = []
        let deadline = Clock.now() + .seconds(20)
        while !all.contains(where: isLast), Clock.now() < deadline {
            try loop.turn(until: deadline)
            all += thread.takeEvents().map { event in
                switch event {
                case .notes(let notes): "notes \(notes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })"
                case .loaded: "loaded"
                case .setAside: "set aside"
                case .failed: "failed"
                case .recovered: "recovered"
                }
            }
        }
        return all
    }

    private func told(_ thread: StoreThread) throws -> [String] { try told(thread) { $0 == "loaded" } }

    @Test("notes are told once, before the entries, and none when the file is fresh")
    func order() throws {
        let first = try thread()
        #expect(try told(first) == ["notes []", "loaded"])
        #expect(first.note("switch", "off", now: start))
        #expect(first.note("nodes", "192.0.2.1", now: start))
        #expect(first.note("switch", "on", now: start))
        #expect(first.nextDeadline == nil, "a note does not wait")
        first.stop()
        let second = try thread()
        #expect(try told(second) == ["notes [\"nodes=192.0.2.1\", \"switch=on\"]", "loaded"])
        #expect(second.note("nodes", nil, now: start))
        second.stop()
        let third = try thread()
        #expect(try told(third) == ["notes [\"switch=on\"]", "loaded"])
        third.stop()
    }

    @Test("a flush leaves notes alone, and what is noted while the file is read counts more than the file")
    func whileLoading() throws {
        let first = try thread()
        _ = first.note("a", "old", now: start)
        _ = first.note("b", "old", now: start)
        first.forget(.everything, now: start)
        first.stop()
        let second = try thread()
        _ = second.note("a", "new", now: start)
        _ = second.note("b", nil, now: start)
        #expect(try told(second) == ["notes [\"a=new\"]", "loaded"])
        second.stop()
        let third = try thread()
        #expect(try told(third) == ["notes [\"a=new\"]", "loaded"])
        third.stop()
    }

    @Test("notes of a file that can't be used are told when it can, with what was noted meanwhile")
    func inUseElsewhere() throws {
        let first = try thread()
        _ = first.note("a", "first", now: start)
        _ = first.note("b", "first", now: start)
        _ = try told(first)
        let second = try thread()
        #expect(try told(second) { $0 == "failed" } == ["failed"])
        _ = second.note("b", "second", now: start)
        let deadline = Clock.now() + .seconds(20)
        while second.counts.failures < 2, Clock.now() < deadline {
            try loop.turn(until: Clock.now() + .milliseconds(1))
        }
        first.stop()
        second.forget(.everything, now: start)
        let last = try told(second)
        #expect(last == ["notes [\"a=first\", \"b=second\"]", "recovered", "loaded"])
        second.stop()
        let third = try thread()
        #expect(try told(third).first == "notes [\"a=first\", \"b=second\"]")
        third.stop()
    }

    @Test("a damaged file tells of no notes, once")
    func damaged() throws {
        folder.write(Array("this is no database, and never was one".utf8), to: folder("cache.db"))
        let thread = try thread()
        #expect(try told(thread).sorted() == ["loaded", "notes []", "set aside"])
        thread.stop()
    }

    @Test("a note that is too large or one too many is refused")
    func refused() throws {
        let first = try thread()
        _ = try told(first)
        #expect(!first.note("", "x", now: start) && !first.note("a\0b", "x", now: start))
        #expect(!first.note("a", String(repeating: "x", count: NoteRow.maxValueBytes + 1), now: start))
        for number in 0..<(NoteRow.maxCount + 3) { _ = first.note("n\(number)", "x", now: start) }
        first.stop()
        let second = try thread()
        let notes = try #require(try told(second).first)
        second.stop()
        #expect(notes.split(separator: ",").count == NoteRow.maxCount)
    }

    @Test("too many notes that wait are refused, those that wait already may change")
    func waiting() {
        var notes: [String: String?] = [:]
        let names = (0..<NoteRow.maxCount).map { "n\($0)" }
        let added = (names + ["more", "n0"]).map { notes.add($0, $0 == "n0" ? nil : "x") }
        #expect(added == names.map { _ in true } + [false, true] && notes.count == NoteRow.maxCount)
    }
}
