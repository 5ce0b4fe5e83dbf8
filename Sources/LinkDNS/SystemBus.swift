// Reads properties of services on the system bus (D-Bus) and follows their changes. Starts no service and never blocks.

import CSystemd

@safe package final class SystemBus {
    package struct Property: Hashable, Sendable {
        /// The service's name on the bus.
        let service: String
        let path: String
        let interface: String
        let name: String
    }

    /// Error number of the library's call.
    package struct Failure: Error, Equatable {
        package let code: Int32
    }

    /// The events for which `descriptor` is to be watched.
    package struct Interest: Equatable {
        package let reads: Bool
        package let writes: Bool
    }

    private let bus: OpaquePointer
    private let properties: [Property]
    /// Values at the last reply. A service that is not there has none.
    package private(set) var values: [Property: BusValue] = [:]
    /// Properties with a reply, also if the service is not there.
    private var answered: Set<Property> = []
    /// Requests in flight. A property that changes meanwhile is asked for again after the reply.
    private var asked: Set<Property> = []
    private var due: Set<Property> = []
    private var hasNews = false

    private static let standardInterface = "org.freedesktop.DBus.Properties"
    /// Time limit of a reply: longer than a service that works takes; without a reply the values stay.
    private static let replyMicroseconds: UInt64 = 10_000_000
    /// Messages handled in one turn; the rest keeps the descriptor readable.
    private static let maxMessagesPerTurn = 256

    /// Begins to connect and asks for the values and changes.
    ///
    /// - Throws: ENOENT and ECONNREFUSED without a bus, and the like.
    package init(_ properties: [Property]) throws(Failure) {
        var bus: OpaquePointer?
        try unsafe SystemBus.check(sd_bus_open_system(&bus))
        guard let bus = unsafe bus else { throw Failure(code: ENOMEM) }
        unsafe (self.bus, self.properties) = (bus, properties)
        for place in Set(properties.map { Place(service: $0.service, path: $0.path) }) { try follow(place) }
        for property in properties { try ask(property) }
    }

    deinit { unsafe sd_bus_close_unref(bus) }

    package var descriptor: Int32 { unsafe sd_bus_get_fd(bus) }

    package var interest: Interest {
        let events = unsafe sd_bus_get_events(bus)
        guard events >= 0 else { return Interest(reads: true, writes: false) }
        return Interest(reads: events & POLLIN != 0, writes: events & POLLOUT != 0)
    }

    /// When `process` is due at the latest, in microseconds of CLOCK_MONOTONIC; nil: no deadline.
    package var deadlineMicroseconds: UInt64? {
        var deadline: UInt64 = 0
        guard unsafe sd_bus_get_timeout(bus, &deadline) >= 0, deadline != csystemd_no_timeout() else { return nil }
        return deadline
    }

    /// All properties have been answered at least once.
    package var isComplete: Bool { answered.count == properties.count }

    /// Handles what has arrived, and time-outs.
    ///
    /// - Returns: whether a value has changed.
    /// - Throws: the connection has ended.
    package func process() throws(Failure) -> Bool {
        for _ in 0..<SystemBus.maxMessagesPerTurn {
            guard try unsafe SystemBus.check(sd_bus_process(bus, nil)) > 0 else { break }
        }
        try askDue()
        return exchange(&hasNews, with: false)
    }

    /// Reads properties again whose changes the service does not report.
    package func readAgain(_ properties: [Property]) throws(Failure) {
        due.formUnion(properties.filter { values[$0] != nil })
        try askDue()
    }

    // MARK: requests

    private func askDue() throws(Failure) {
        for property in properties where due.contains(property) && !asked.contains(property) {
            due.remove(property)
            try ask(property)
        }
    }

    private struct Place: Hashable {
        let service: String
        let path: String
    }

    /// Follows changes of the object's properties, and the start and end of its service.
    private func follow(_ place: Place) throws(Failure) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try unsafe SystemBus.check(
            sd_bus_match_signal_async(
                bus, nil, place.service, place.path, SystemBus.standardInterface, "PropertiesChanged",
                { message, context, _ in unsafe SystemBus.of(context).changed(message) }, nil, context))
        let rule =
            "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
            + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(place.service)'"
        try unsafe SystemBus.check(
            sd_bus_add_match_async(
                bus, nil, rule, { message, context, _ in unsafe SystemBus.of(context).ownerChanged(message) }, nil,
                context))
    }

    private func ask(_ property: Property) throws(Failure) {
        var message: OpaquePointer?
        try unsafe SystemBus.check(
            sd_bus_message_new_method_call(
                bus, &message, property.service, property.path, SystemBus.standardInterface, "Get"))
        guard let message = unsafe message else { throw Failure(code: ENOMEM) }
        defer { unsafe sd_bus_message_unref(message) }
        try unsafe SystemBus.check(sd_bus_message_set_auto_start(message, 0))
        for text in [property.interface, property.name] {
            try unsafe SystemBus.check(sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), text))
        }
        let request = Request(self, property)
        let context = unsafe Unmanaged.passRetained(request).toOpaque()
        var slot: OpaquePointer?
        let result = unsafe sd_bus_call_async(
            bus, &slot, message,
            { message, context, _ in
                guard let context = unsafe context else { return 0 }
                let request = unsafe Unmanaged<Request>.fromOpaque(context).takeUnretainedValue()
                unsafe request.bus?.answered(request.property, message)
                return 0
            }, context, SystemBus.replyMicroseconds)
        guard result >= 0, let slot = unsafe slot else {
            unsafe Unmanaged<Request>.fromOpaque(context).release()
            throw Failure(code: -result)
        }
        // The slot ends after the reply, or with the bus.
        unsafe sd_bus_slot_set_destroy_callback(slot) { context in
            if let context = unsafe context { unsafe Unmanaged<Request>.fromOpaque(context).release() }
        }
        unsafe sd_bus_slot_set_floating(slot, 1)
        unsafe sd_bus_slot_unref(slot)
        asked.insert(property)
    }

    /// A request whose reply the library reports.
    private final class Request {
        weak let bus: SystemBus?
        let property: Property

        init(_ bus: SystemBus, _ property: Property) { (self.bus, self.property) = (bus, property) }
    }

    // MARK: news

    private static func of(_ context: UnsafeMutableRawPointer?) -> SystemBus {
        guard let context = unsafe context else { preconditionFailure("the bus is registered with each match") }
        return unsafe Unmanaged<SystemBus>.fromOpaque(context).takeUnretainedValue()
    }

    private func answered(_ property: Property, _ message: OpaquePointer?) {
        asked.remove(property)
        answered.insert(property)
        guard let message = unsafe message else { return }
        let isError = unsafe sd_bus_message_is_method_error(message, nil) > 0
        // A service without a reply is busy. One that is not there, or has no such property, answers with an error.
        if isError, unsafe sd_bus_message_is_method_error(message, "org.freedesktop.DBus.Error.NoReply") > 0 { return }
        let value = isError ? nil : unsafe BusValue.next(of: message)
        guard values[property] != value else { return }
        values[property] = value
        hasNews = true
    }

    /// Plans to read all properties of the object anew, in their order, although the signal may have the new values.
    private func changed(_ message: OpaquePointer?) -> Int32 {
        guard let message = unsafe message, let path = unsafe sd_bus_message_get_path(message) else { return 0 }
        let changed = unsafe String(cString: path)
        due.formUnion(properties.filter { $0.path == changed })
        return 0
    }

    private func ownerChanged(_ message: OpaquePointer?) -> Int32 {
        guard let message = unsafe message, let service = unsafe BusValue.next(of: message)?.text else { return 0 }
        due.formUnion(properties.filter { $0.service == service })
        return 0
    }

    @discardableResult
    private static func check(_ result: Int32) throws(Failure) -> Int32 {
        guard result >= 0 else { throw Failure(code: -result) }
        return result
    }
}
