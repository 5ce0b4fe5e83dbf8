// httpdns-lab: a simulated HTTPDNS provider. Exit codes: 0 ended by a signal, 1 failed, 3 usage.

import Glibc

func complain(_ text: String) {
    var bytes = Array("httpdns-lab: \(text)\n".utf8)
    _ = unsafe write(STDERR_FILENO, &bytes, bytes.count)
}

do throws(LabArguments.UsageError) {
    switch try LabArguments.parse(Array(CommandLine.arguments.dropFirst())) {
    case .help: print(LabArguments.usage)
    case .version: print("httpdns-lab \(LabProgram.version)")
    case .run(let arguments):
        do throws(LabProgram.Failure) {
            try LabProgram.run(arguments)
        } catch {
            complain(error.message)
            exit(1)
        }
    }
} catch {
    complain("\(error.finding)\n  \(error.hint)")
    exit(3)
}
