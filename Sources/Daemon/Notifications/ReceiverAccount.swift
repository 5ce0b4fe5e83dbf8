// A receiver that is ready to be sent to: its settings, its key, and the endpoints to dial.

import DNSWire
import HTTPClient
import Settings
import Upstreams

struct ReceiverAccount: Equatable {
    /// The receiver's name for logs and statistics: "https://alerts.example", without path and query; "#2" for another
    /// receiver of that origin.
    let name: String
    let settings: Settings.Receiver
    let key: Secret?

    /// Returns all receivers of the settings. Reports all errors together.
    static func all(in settings: Settings, _ options: Options) throws(UnusableSettings) -> [ReceiverAccount] {
        let receivers = settings.receivers.enumerated().map { index, receiver in
            let origin = receiver.url.origin
            let same = settings.receivers[..<index].filter { $0.url.origin == origin }.count
            return (name: same == 0 ? origin : "\(origin)#\(same + 1)", settings: receiver)
        }
        let files = receivers.flatMap { name, receiver in
            receiver.secretFiles.map { ProviderKeys.File(owner: "notify \(name)", key: $0.key, file: $0.file) }
        }
        let keys = try ProviderKeys(files: files, settingsFile: SettingsFile.path(options))
        return receivers.map { name, receiver in
            ReceiverAccount(name: name, settings: receiver, key: receiver.keyFile.flatMap { keys[file: $0] })
        }
    }

    /// The endpoints, one per address, in the order of the settings. No connection is kept: the next POST may be days
    /// away.
    var endpoints: [HTTPEndpoint] {
        let location = settings.url.location
        return settings.addresses.compactMap { address in
            HTTPEndpoint(
                scheme: location.isSecure ? .https : .http, host: location.host.plainText, port: location.port,
                address: address.description, caFile: settings.caFile)
        }
    }
}
