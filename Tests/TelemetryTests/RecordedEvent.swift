// Records an event as readers get it.

@testable import Telemetry

extension FlightRing {
    func record(_ event: FlightEvent) {
        let slot = FlightSlot(
            event.kind, atNanoseconds: event.nanoseconds, from: event.source, type: event.type, event.code,
            extendedError: event.extendedError, microseconds: event.microseconds, outcome: event.outcome,
            upstream: event.upstream, transport: event.transport, network: event.network)
        record(slot, address: event.address, about: event.name)
    }
}
