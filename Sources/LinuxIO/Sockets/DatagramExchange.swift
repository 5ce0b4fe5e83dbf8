// Sends one datagram and waits for the first matching reply. Blocks; for command-line programs, never for the daemon.

package import DNSWire
import Glibc

package enum DatagramExchange {
    /// - Parameters:
    ///   - source: source address; nil: the kernel chooses by the route.
    ///   - isWanted: returns whether a datagram is the answer. Others are ignored.
    /// - Returns: nil if no answer arrives in time, or none can.
    package static func ask(
        _ question: [UInt8], at address: SocketAddress, from source: SocketAddress? = nil, timeout: Duration,
        _ isWanted: ([UInt8]) -> Bool
    ) -> [UInt8]? {
        let deadline = Clock.now() + timeout
        do throws(SystemError) {
            let socket = try DatagramSocket(connectedTo: address, from: source)
            guard try socket.send(question.span) == .sent else { return nil }
            while true {
                switch try socket.receive(maxBytes: maxBytes) {
                case .datagram(let bytes) where isWanted(bytes): return bytes
                case .datagram: continue
                case .refused: return nil
                case .wouldBlock:
                    var entry = pollfd(fd: socket.descriptor.raw, events: Int16(POLLIN), revents: 0)
                    let ready = try SystemCall.run("poll") {
                        unsafe poll(&entry, 1, Clock.milliseconds(from: Clock.now(), to: deadline))
                    }
                    guard ready > 0 else { return nil }
                }
            }
        } catch {
            return nil
        }
    }

    private static let maxBytes = 4096
}
