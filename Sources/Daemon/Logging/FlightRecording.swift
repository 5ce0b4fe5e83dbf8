// The flight recorder with all that reads it: the files on a crash or a burst of failures, and the live views.

import LinuxIO
import Settings
import Telemetry

struct FlightRecording {
    let recorder: FlightRecorder
    let files: FlightFiles
    let watches: QueryWatches

    init(_ records: FlightRecords, _ settings: Settings.Log, loop: EventLoop, outbox: Outbox) throws(SystemError) {
        (recorder, watches) = (FlightRecorder(records), QueryWatches(records))
        files = try FlightFiles(records, loop: loop, outbox: outbox)
        watches.scope = FlightScope(settings.recorder)
    }

    func configure(_ settings: Settings.Log) {
        files.setDirectory(settings.usedRecorderDirectory)
        watches.scope = FlightScope(settings.recorder)
    }
}
