// One connection to Redis. Replies come in the order of the commands; on a connection that has subscribed, messages
// come in between.

package import DNSWire
package import LinuxIO

package final class RedisConnection {
    package enum Server: Hashable, Sendable {
        /// The path of the server's socket.
        case local(String)
        case remote(SocketAddress)
    }

    package enum News: Equatable {
        /// The reply to the oldest command without one.
        case reply(RedisReply)
        /// A message of a channel, on a connection that subscribes.
        case message(channel: String, [UInt8])
        /// The last news.
        case ended(reason: String)
    }

    private let socket: StreamSocket
    private let loop: EventLoop
    private let reader: ReplyReader
    private var registration: EventLoop.Registration?
    private var isConnected = false
    private var unsent: [UInt8] = []
    /// The buffer for reading.
    private var room = [UInt8](repeating: 0, count: RedisConnection.readBytes)
    private let isSubscriber: Bool
    private let tell: (RedisConnection, News) -> Void

    /// The maximum size of commands that Redis has not read. With more, `send` returns false.
    package static let maxUnsentBytes = 1 << 20
    private static let silenceMilliseconds: Int32 = 5000
    private static let idleSeconds: Int32 = 2
    private static let readBytes = 16 * 1024
    private static let maxReadsPerTurn = 16

    /// Starts to connect. Commands may be sent at once.
    package init(
        to server: Server, isSubscriber: Bool = false, _ loop: EventLoop,
        _ tell: @escaping (RedisConnection, News) -> Void
    ) throws(SystemError) {
        guard let reader = ReplyReader() else { throw SystemError(call: "redisReaderCreate", code: 12) }
        self.reader = reader
        switch server {
        case .local(let path):
            socket = try StreamSocket(connectingTo: path)
        case .remote(let address):
            socket = try StreamSocket(connectingTo: address)
            // A channel may carry nothing for hours, so that only the socket can find a lost connection.
            try socket.endWhenSilent(
                milliseconds: RedisConnection.silenceMilliseconds, idleSeconds: RedisConnection.idleSeconds)
        }
        (self.isSubscriber, self.loop, self.tell) = (isSubscriber, loop, tell)
        registration = try loop.watch(socket.descriptor.raw, for: .writable) { [weak self] _ in self?.proceed() }
    }

    /// - Returns: false if Redis does not read, so that the command is not sent.
    package func send(_ command: RedisCommand) -> Bool {
        let bytes = command.bytes
        guard unsent.count + bytes.count <= RedisConnection.maxUnsentBytes else { return false }
        unsent += bytes
        if isConnected { flush() }
        return true
    }

    /// Closes the connection without news.
    package func close() {
        if let registration { loop.unwatch(registration) }
        registration = nil
    }

    private func proceed() {
        do throws(SystemError) {
            if !isConnected {
                switch try socket.connectOutcome() {
                case .failed(let error): return end(error.description)
                case .inProgress: return
                case .connected: isConnected = true
                }
            }
            flush()
            for _ in 0..<RedisConnection.maxReadsPerTurn where registration != nil {
                guard let count = try socket.read(over: &room) else { return }
                guard count > 0 else { return end("it closed the connection") }
                take(Array(room[..<count]))
                // No more bytes have come; otherwise the loop calls again.
                if count < room.count { return }
            }
        } catch {
            end(error.description)
        }
    }

    private func take(_ bytes: [UInt8]) {
        do throws(ReplyReader.Failure) {
            for reply in try reader.take(bytes) where registration != nil { tell(self, news(reply)) }
        } catch {
            switch error {
            case .malformed(let reason): end("what it sends is not RESP: \(reason)")
            }
        }
    }

    private func news(_ reply: RedisReply) -> News {
        if isSubscriber, let elements = reply.elements, elements.count == 3,
            elements[0].bytes == Array("message".utf8), let channel = elements[1].bytes, let bytes = elements[2].bytes
        {
            return .message(channel: String(decoding: channel, as: UTF8.self), bytes)
        }
        return .reply(reply)
    }

    private func flush() {
        do throws(SystemError) {
            while !unsent.isEmpty {
                guard try socket.write(from: &unsent) != nil else { break }
            }
        } catch {
            return end(error.description)
        }
        if let registration { try? loop.change(registration, to: unsent.isEmpty ? .readable : [.readable, .writable]) }
    }

    private func end(_ reason: String) {
        guard registration != nil else { return }
        close()
        tell(self, .ended(reason: reason))
    }
}
