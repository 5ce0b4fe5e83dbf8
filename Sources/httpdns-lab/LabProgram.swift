// Runs the lab: reads the zone, listens, prints the endpoints, and waits for a signal.

import DNSWire
import Glibc
import HTTPDNS
import LinuxIO

enum LabProgram {
    static let version = "0.1.0"
    /// Bound on a PEM file. Certificate chains have a few KiB.
    private static let maxPEMBytes = 1 << 20

    struct Failure: Error {
        let message: String
    }

    /// Returns after SIGINT or SIGTERM.
    static func run(_ arguments: LabArguments) throws(Failure) {
        let lab = Lab(try zone(arguments.zone))
        // Blocks the signals before any thread starts. All threads inherit the mask, so only sigwait receives the
        // signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)

        let answers = ListenerContext(
            respond: { lab.respond(to: $0, in: context()) }, generation: { lab.resets })
        let paths = ControlPaths(lab)
        let control = ListenerContext(respond: { (paths.respond(to: $0), nil) }, generation: { 0 })
        let http = try listen("http", on: arguments.http, nil, answers)
        let https = try listen("https", on: arguments.https, try credentials(arguments), answers)
        let controlled = try listen("control", on: arguments.control, nil, control)
        print("ready")
        fflush(nil)
        var received: Int32 = 0
        unsafe sigwait(&signals, &received)
        // Stops the listeners and their threads.
        _ = consume controlled
        _ = consume https
        _ = consume http
    }

    private static func zone(_ file: String) throws(Failure) -> Zone {
        let text = try text(of: file, maxBytes: ZoneParser.maxFileBytes)
        do throws(ZoneError) {
            return try ZoneParser.zone(from: text, file: file)
        } catch {
            throw Failure(message: error.description)
        }
    }

    private static func credentials(_ arguments: LabArguments) throws(Failure) -> HTTPListener.Credentials? {
        guard arguments.https != nil, let certificate = arguments.certificate, let key = arguments.key else {
            return nil
        }
        return HTTPListener.Credentials(
            certificate: try text(of: certificate, maxBytes: maxPEMBytes), key: try text(of: key, maxBytes: maxPEMBytes)
        )
    }

    private static func text(of file: String, maxBytes: Int) throws(Failure) -> String {
        do throws(InputFile.Failure) {
            return try InputFile.read(file, maxBytes: maxBytes)
        } catch {
            throw Failure(message: error.reason)
        }
    }

    /// Returns the current time and a random generator for a dialect.
    private static func context() -> DialectContext {
        DialectContext(
            unixMilliseconds: Clock.wallMilliseconds(), nonce: (0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }

    /// Listens and prints `NAME ADDRESS:PORT`.
    private static func listen(
        _ name: String, on endpoint: SocketAddress?, _ credentials: HTTPListener.Credentials?,
        _ context: ListenerContext
    ) throws(Failure) -> HTTPListener? {
        guard let endpoint else { return nil }
        do throws(ListenError) {
            let listener = try HTTPListener(on: endpoint, credentials: credentials, context: context)
            print("\(name) \(SocketAddress(endpoint.address, port: listener.port))")
            return listener
        } catch {
            let reason = unsafe String(cString: strerror(error.errno))
            throw Failure(message: "cannot listen on \(endpoint.address) port \(endpoint.port): \(reason)")
        }
    }
}
