// Converts an entry to a row and back. Validates every row, since the disk or an operator may have changed it.

import DNSWire

enum EntryRow {
    /// The statement that writes a row. `bind` sets its parameters in the same order.
    static let insert = """
        INSERT OR REPLACE INTO entries(
            question, type_number, partition, provenance, stored_ms, lifetime, demand, rcode, answers, authorities,
            is_cut, body, checksum, name, type, addresses, extended_error)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// The statement that reads rows. `read` reads its columns in the same order.
    static let select = """
        SELECT question, type_number, partition, provenance, stored_ms, lifetime, demand, rcode, answers, authorities,
            is_cut, body, checksum, extended_error
        FROM entries LIMIT ?
        """

    /// Maximum number of addresses in the address column, which is for operators only.
    private static let maxShownAddresses = 16

    static func bind(_ entry: StoredEntry, to statement: borrowing Statement) {
        let question = key(entry.question.name)
        let answer = entry.answer
        statement.bind(question, at: 1)
        statement.bind(entry.question.type.rawValue, at: 2)
        statement.bind(entry.partition, at: 3)
        statement.bind(entry.sourceClass.rawValue, at: 4)
        statement.bind(entry.storedAtMilliseconds, at: 5)
        statement.bind(entry.lifetimeSeconds, at: 6)
        statement.bind(entry.demand, at: 7)
        statement.bind(answer.responseCode.rawValue, at: 8)
        statement.bind(answer.answerCount, at: 9)
        statement.bind(answer.authorityCount, at: 10)
        statement.bind(answer.isCut ? 1 : 0, at: 11)
        statement.bind(answer.body, at: 12)
        statement.bind(checksum(of: entry, question), at: 13)
        statement.bind(Name(wire: question)?.description ?? "", at: 14)
        statement.bind(entry.question.type.description, at: 15)
        let addresses = answer.addresses
        let shown = addresses.prefix(maxShownAddresses).map(\.description).joined(separator: " ")
        statement.bind(addresses.count > maxShownAddresses ? shown + " ..." : shown, at: 16)
        if let error = answer.extendedError { statement.bind(text(of: error), at: 17) }
    }

    /// Returns the entry of a row; nil for a row that `bind` cannot have written.
    static func read(_ statement: borrowing Statement) -> StoredEntry? {
        let wire = statement.bytes(0)
        guard let name = Name(wire: wire), let type = UInt16(exactly: statement.integer(1)),
            let partition = UInt32(exactly: statement.integer(2)),
            let sourceClass = StoredEntry.SourceClass(rawValue: statement.text(3)),
            let lifetime = UInt32(exactly: statement.integer(5)), let code = UInt16(exactly: statement.integer(7)),
            let answers = UInt16(exactly: statement.integer(8)),
            let authorities = UInt16(exactly: statement.integer(9)), (0...1).contains(statement.integer(10))
        else { return nil }
        let question = Question(name, RecordType(rawValue: type))
        let errorText = statement.text(13)
        let extendedError = extendedError(in: errorText)
        guard errorText.isEmpty == (extendedError == nil) else { return nil }
        guard
            let answer = RenderedAnswer(
                verifying: statement.bytes(11), answerCount: answers, authorityCount: authorities,
                responseCode: ResponseCode(rawValue: code), isCut: statement.integer(10) == 1,
                extendedError: extendedError, to: question)
        else { return nil }
        let (storedAt, demand) = (statement.integer(4), statement.real(6))
        let entry = StoredEntry(
            question: question, partition: partition, sourceClass: sourceClass, answer: answer,
            storedAtMilliseconds: storedAt, lifetimeSeconds: lifetime, demand: demand)
        let isInRange =
            entry.storedAtMilliseconds == storedAt && entry.lifetimeSeconds == lifetime && entry.demand == demand
        return isInRange && checksum(of: entry, wire) == statement.integer(12) ? entry : nil
    }

    /// Returns the name in the form of the key column.
    static func key(_ name: Name) -> [UInt8] { name.wire.map(\.lowercased) }

    /// Returns code and text of an extended error, as in "15 malware"; the text may be empty.
    private static func text(of error: ExtendedError) -> String { "\(error.code) \(error.text)" }

    /// Returns nil for a text of another form.
    private static func extendedError(in text: String) -> ExtendedError? {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let code = UInt16(parts[0]) else { return nil }
        return ExtendedError(upstream: code, text: parts[1].utf8)
    }

    private static func checksum(of entry: StoredEntry, _ question: [UInt8]) -> Int64 {
        var sum = RowChecksum()
        sum.absorb(question)
        sum.absorb(UInt64(entry.question.type.rawValue) << 32 | UInt64(entry.partition))
        sum.absorb(entry.sourceClass == .provider ? 1 : 2)
        sum.absorb(UInt64(bitPattern: entry.storedAtMilliseconds))
        sum.absorb(UInt64(entry.lifetimeSeconds))
        sum.absorb(entry.demand.bitPattern)
        let counts = UInt64(entry.answer.answerCount) << 16 | UInt64(entry.answer.authorityCount)
        sum.absorb(UInt64(entry.answer.responseCode.rawValue) << 33 | counts << 1 | (entry.answer.isCut ? 1 : 0))
        sum.absorb(entry.answer.body)
        // Rows of version 2 have no extended error, and keep their checksum.
        if let error = entry.answer.extendedError { sum.absorb(Array(text(of: error).utf8)) }
        return Int64(bitPattern: sum.state)
    }
}

/// Checksum of a row, a variant of FNV-1a over words instead of bytes. It detects damage, not forgery: a process that
/// can write the file can also write a valid checksum. Each step is reversible, so a change of one word is always
/// found. Hash arithmetic must wrap, so it is unchecked.
struct RowChecksum {
    private(set) var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func absorb(_ word: UInt64) {
        state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 32
    }

    mutating func absorb(_ bytes: [UInt8]) {
        absorb(UInt64(bytes.count))
        var word: UInt64 = 0
        for index in bytes.indices {
            word = word << 8 | UInt64(bytes[index])
            if index & 7 == 7 { absorb(word) }
        }
        absorb(word)
    }
}
