// An nginx process with certificates of its own, for cases that a stub cannot show: TLS, HTTP/2, virtual hosts. It
// inherits a listening socket, so that its port is free, and ends with the value.

import Glibc

final class Nginx {
    let port: UInt16
    private let certificates = Certificates()
    private var process: pid_t = 0

    var folder: String { certificates.folder }
    var caFile: String { certificates.caFile }

    /// Starts three hosts on one address, selected by SNI: a default one whose certificate names the address,
    /// one.example and two.example. Each states in the body how it was reached.
    init() {
        let listener: Int32
        (listener, port) = Sockets.listen()
        certificates.make("default", for: "IP:127.0.0.1")
        certificates.make("one.example", for: "DNS:one.example")
        certificates.make("two.example", for: "DNS:two.example")
        Command.write(configuration, to: folder + "/nginx.conf")
        Command.write(String(repeating: "0", count: 1_000_000), to: folder + "/bomb")
        process = Command.start(
            "/usr/sbin/nginx", ["-p", folder, "-e", "stderr", "-c", folder + "/nginx.conf"],
            inheriting: listener)
        close(listener)
    }

    deinit {
        kill(process, SIGTERM)
        Command.wait(for: process)
    }

    private var configuration: String {
        """
        daemon off; worker_processes 1; pid \(folder)/nginx.pid; error_log stderr crit;
        events { worker_connections 256; }
        http {
            access_log off; gzip on; gzip_types *; gzip_min_length 1; gzip_http_version 1.0;
            client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi; uwsgi_temp_path \(folder)/uwsgi; scgi_temp_path \(folder)/scgi;
            \(server("default", options: "default_server"))
            \(server("one.example"))
            \(server("two.example"))
        }
        """
    }

    private func server(_ name: String, options: String = "") -> String {
        """
        server {
            listen 127.0.0.1:\(port) ssl http2 \(options);
            server_name \(name);
            ssl_certificate \(folder)/\(name).pem; ssl_certificate_key \(folder)/\(name).key;
            location / {
                add_header X-Number-On-Connection $connection_requests;
                add_header X-Resumed $ssl_session_reused;
                return 200
                    "\(name) host=$host sni=$ssl_server_name connection=$connection $request_method $request_uri";
            }
            # "return" does not read a request's body; what is passed on was read whole.
            location /dns-query { proxy_pass https://127.0.0.1:\(port)/passed-on; add_header X-Body $request_body; }
            location /bomb { root \(folder); }
            location /moved { return 302 /elsewhere; }
        }
        """
    }
}

enum Command {
    static func run(_ program: String, _ arguments: [String]) {
        let status = wait(for: start(program, arguments))
        precondition(status == 0, "\(program) \(arguments) ended with \(status)")
    }

    /// - Parameter output: the file for the program's standard output.
    static func start(
        _ program: String, _ arguments: [String], inheriting listener: Int32? = nil, output: String? = nil
    ) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        if let output { unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_CREAT | O_WRONLY, 0o600) }
        if let listener { unsafe posix_spawn_file_actions_adddup2(&actions, listener, 3) }
        var process: pid_t = 0
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        // The variable that passes an open listening socket to nginx.
        let environment = ["PATH=/usr/bin:/bin"] + (listener == nil ? [] : ["NGINX=3;"])
        let variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe freeAll(words + variables) }
        let code = unsafe posix_spawnp(&process, program, &actions, nil, words, variables)
        precondition(code == 0, "cannot start \(program)")
        return process
    }

    private static func freeAll(_ words: [UnsafeMutablePointer<CChar>?]) {
        for index in unsafe words.indices { unsafe free(words[index]) }
    }

    @discardableResult
    static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
        return status
    }

    static func write(_ text: String, to path: String) {
        let file = unsafe open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o644)
        precondition(file >= 0, "cannot write \(path)")
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            precondition(written > 0, "cannot write \(path)")
            rest = rest.dropFirst(written)
        }
        close(file)
    }
}
