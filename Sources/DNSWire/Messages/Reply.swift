// Writes replies: header, the question as received, a rendered answer with decremented TTLs, and OPT. Serves cached
// answers, fresh answers and refusals. Must never exceed the client's size limit.

package enum Reply {
    /// Returns the bytes that `body` writes, at most `limitBytes`.
    package static func message(limitBytes: Int, _ body: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
        var message: [UInt8] = []
        message.append(addingCapacity: limitBytes, initializingWith: body)
        return message
    }

    /// The parts of a `RenderedAnswer`, borrowed from it or from a cache slot.
    package struct Body: ~Escapable {
        package let code: ResponseCode
        let answerCount: UInt16
        let authorityCount: UInt16
        let isCut: Bool
        let isAuthentic: Bool
        /// `RenderedAnswer.errorOption`.
        let errorOption: Span<UInt8>
        let bytes: Span<UInt8>
        let ttlOffsets: Span<UInt16>

        @_lifetime(copy errorOption, copy bytes, copy ttlOffsets)
        package init(
            code: ResponseCode, answerCount: UInt16, authorityCount: UInt16, isCut: Bool, isAuthentic: Bool = false,
            errorOption: Span<UInt8>, bytes: Span<UInt8>, ttlOffsets: Span<UInt16>
        ) {
            self.code = code
            self.answerCount = answerCount
            self.authorityCount = authorityCount
            self.isCut = isCut
            self.isAuthentic = isAuthentic
            self.errorOption = errorOption
            self.bytes = bytes
            self.ttlOffsets = ttlOffsets
        }

        @_lifetime(borrow answer)
        package init(_ answer: borrowing RenderedAnswer) {
            code = answer.responseCode
            answerCount = answer.answerCount
            authorityCount = answer.authorityCount
            isCut = answer.isCut
            isAuthentic = answer.isAuthentic
            errorOption = answer.errorOption.span
            bytes = answer.body.span
            ttlOffsets = answer.ttlOffsets.span
        }
    }

    /// Appends a complete reply to `output`, which must be empty and have room for `limit` bytes.
    ///
    /// - Parameters:
    ///   - ageSeconds: subtracted from every TTL, down to 0.
    ///   - limit: the largest reply in bytes, at least 512, such as `Query.replyLimitBytes`.
    ///   - extendedError: stands before the answer's own.
    /// - A body that does not fit is cut after the last whole record, and TC is set. Some clients (musl before 1.2.4)
    ///   never retry over TCP and use the partial answer.
    /// - Extended errors make room for records (RFC 8914 section 3): first their texts, which are for people, then the
    ///   errors, and TC is set.
    package static func write(
        _ body: borrowing Body, to query: Query, in packet: Span<UInt8>, ageSeconds: UInt32, limit: Int,
        extendedError: ExtendedError? = nil, into output: inout OutputSpan<UInt8>
    ) {
        let tail = query.edns == nil ? 0 : EDNS.emptyRecordBytes + optionBytes(query)
        let room = limit - Header.byteCount - query.questionBytes - tail
        let errors = errorDetail(extendedError, body.errorOption, query, room: room - body.bytes.count)
        let cut = fit(body, into: room - errors.bytes)
        var flags = Header.replyFlags(
            to: query.flags, code: body.code, isTruncated: cut.isTruncated || errors.detail == .dropped)
        if body.isAuthentic, query.readsAuthenticData { flags |= Header.authenticDataFlag }
        let questions: UInt64 = query.questionBytes == 0 ? 0 : 1
        output.appendBigEndian(
            UInt64(query.id) << 48 | UInt64(flags) << 32 | questions << 16 | UInt64(cut.answers))
        output.appendBigEndian(UInt32(cut.authorities) << 16 | (tail == 0 ? 0 : 1))
        output.append(packet.extracting(Header.byteCount..<(Header.byteCount + query.questionBytes)))
        let start = output.count
        output.append(body.bytes.extracting(0..<cut.bytes))
        countDown(body, records: Int(cut.answers) + Int(cut.authorities), from: start, by: ageSeconds, in: &output)
        if query.edns != nil {
            appendOptionRecord(code: body.code, query, errorBytes: errors.bytes, to: &output)
            appendErrors(errors.detail, extendedError, body.errorOption, to: &output)
        }
    }

    /// Writes a reply without records: refusals, failures and query errors.
    package static func write(
        code: ResponseCode, to query: Query, in packet: Span<UInt8>, extendedError: ExtendedError? = nil,
        into output: inout OutputSpan<UInt8>
    ) {
        let nothing: [UInt8] = []
        let noOffsets: [UInt16] = []
        let body = Body(
            code: code, answerCount: 0, authorityCount: 0, isCut: false, errorOption: nothing.span,
            bytes: nothing.span, ttlOffsets: noOffsets.span)
        write(
            body, to: query, in: packet, ageSeconds: 0, limit: EDNS.minPayloadBytes, extendedError: extendedError,
            into: &output)
    }

    /// Writes an empty reply with TC set. Without extended errors and cookie it is no larger than the query.
    package static func writeTruncated(
        to query: Query, in packet: Span<UInt8>, into output: inout OutputSpan<UInt8>
    ) {
        let nothing: [UInt8] = []
        let noOffsets: [UInt16] = []
        let body = Body(
            code: .noError, answerCount: 0, authorityCount: 0, isCut: true, errorOption: nothing.span,
            bytes: nothing.span, ttlOffsets: noOffsets.span)
        write(body, to: query, in: packet, ageSeconds: 0, limit: EDNS.minPayloadBytes, into: &output)
    }

    // MARK: parts

    private static func fit(
        _ body: borrowing Body, into room: Int
    ) -> (bytes: Int, answers: UInt16, authorities: UInt16, isTruncated: Bool) {
        guard body.bytes.count > room else {
            return (body.bytes.count, body.answerCount, body.authorityCount, body.isCut)
        }
        var bytes = 0
        var records: UInt16 = 0
        for index in body.ttlOffsets.indices {
            let lengthField = Int(body.ttlOffsets[index]) + 4
            let end = lengthField + 2 + Int(body.bytes.bigEndian16(at: lengthField))
            guard end <= room else { break }
            bytes = end
            records += 1
        }
        return (bytes, min(records, body.answerCount), records - min(records, body.answerCount), true)
    }

    private static func countDown(
        _ body: borrowing Body, records: Int, from start: Int, by ageSeconds: UInt32, in output: inout OutputSpan<UInt8>
    ) {
        guard ageSeconds > 0 else { return }
        var bytes = output.mutableSpan
        for index in 0..<records {
            let offset = Int(body.ttlOffsets[index])
            let ttl = body.bytes.bigEndian32(at: offset)
            bytes.setBigEndian(ttl > ageSeconds ? ttl - ageSeconds : 0, at: start + offset)
        }
    }

    /// Size of the options, without extended errors.
    private static func optionBytes(_ query: Query) -> Int {
        (query.replyCookie == nil ? 0 : Cookie.optionBytes)
            + (query.repliesKeepalive ? EDNS.Keepalive.optionBytes : 0)
            + (query.hidesSubnet ? EDNS.ClientSubnet.emptyOptionBytes : 0)
    }

    /// Appends the OPT record (RFC 6891 section 6.1.2) up to the extended errors; our version is 0. DO is copied (RFC
    /// 3225 section 3), unless no upstream of the name can carry it: such a reply must not suggest that signatures were
    /// asked for.
    private static func appendOptionRecord(
        code: ResponseCode, _ query: Query, errorBytes: Int, to output: inout OutputSpan<UInt8>
    ) {
        output.append(0)
        let typeAndPayload = UInt64(RecordType.opt.rawValue) << 48 | UInt64(EDNS.ourPayloadBytes) << 32
        output.appendBigEndian(
            typeAndPayload | UInt64(code.rawValue >> 4) << 24 | UInt64(query.dnssec.optionFlags))
        output.appendBigEndian(UInt16(optionBytes(query) + errorBytes))
        query.replyCookie?.write(to: &output)
        if query.repliesKeepalive {
            output.appendBigEndian(EDNS.Keepalive.optionCode)
            output.appendBigEndian(UInt16(EDNS.Keepalive.optionBytes - 4))
            output.appendBigEndian(EDNS.Keepalive.timeout)
        }
        // RFC 7871 section 7.2.1: the option comes back, here with scope 0: no subnet was sent for the answer.
        if let family = query.edns?.hiddenFamily {
            output.appendBigEndian(EDNS.ClientSubnet.optionCode)
            output.appendBigEndian(UInt16(EDNS.ClientSubnet.emptyOptionBytes - 4))
            output.appendBigEndian(UInt32(family) << 16)
        }
    }

    /// How much of its extended errors a reply has.
    private enum ErrorDetail { case none, whole, codes, dropped }

    /// - Parameter room: what the records leave; may be negative.
    /// - Returns: the detail for which there is room, and the size of the options.
    private static func errorDetail(
        _ extendedError: ExtendedError?, _ own: Span<UInt8>, _ query: Query, room: Int
    ) -> (detail: ErrorDetail, bytes: Int) {
        guard extendedError != nil || !own.isEmpty, query.edns != nil else { return (.none, 0) }
        let whole = (extendedError?.optionBytes ?? 0) + own.count
        if whole <= room { return (.whole, whole) }
        let codes = ((extendedError == nil ? 0 : 1) + (own.isEmpty ? 0 : 1)) * ExtendedError.optionBytesWithoutText
        return codes <= room ? (.codes, codes) : (.dropped, 0)
    }

    private static func appendErrors(
        _ detail: ErrorDetail, _ extendedError: ExtendedError?, _ own: Span<UInt8>, to output: inout OutputSpan<UInt8>
    ) {
        switch detail {
        case .none, .dropped: return
        case .whole:
            extendedError?.write(to: &output)
            output.append(own)
        case .codes:
            if let extendedError { ExtendedError.write(extendedError.code, to: &output) }
            if !own.isEmpty { ExtendedError.write(own.bigEndian16(at: ExtendedError.codeOffset), to: &output) }
        }
    }
}

extension OutputSpan<UInt8> {
    /// Appends a number. Inlining is forced, because every reply makes some calls.
    @inlinable @inline(__always) @_lifetime(self: copy self)
    package mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
        let size = MemoryLayout<Value>.size
        precondition(size <= freeCapacity, "a reply is cut to its limit before it is written")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            unsafe UnsafeMutableRawBufferPointer(buffer)
                .storeBytes(of: value.bigEndian, toByteOffset: count, as: Value.self)
            count += size
        }
    }

    /// Appends bytes by one block copy instead of a byte loop, since the fast path spends its time here.
    @inlinable @inline(__always) @_lifetime(self: copy self)
    package mutating func append(_ bytes: Span<UInt8>) {
        precondition(bytes.count <= freeCapacity, "a reply is cut to its limit before it is written")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            unsafe bytes.withUnsafeBytes { source in
                guard let start = source.baseAddress, let free = buffer.baseAddress else { return }
                unsafe UnsafeMutableRawPointer(free + count).copyMemory(from: start, byteCount: source.count)
            }
            count += bytes.count
        }
    }
}

extension MutableSpan<UInt8> {
    @_lifetime(self: copy self)
    mutating func setBigEndian(_ value: UInt32, at offset: Int) {
        self[offset] = UInt8(value >> 24)
        self[offset + 1] = UInt8(truncatingIfNeeded: value >> 16)
        self[offset + 2] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 3] = UInt8(truncatingIfNeeded: value)
    }
}
