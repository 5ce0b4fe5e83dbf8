// The load of `scripts/bench instructions`: one kind of work of the modules without I/O, repeated, for a program that
// counts instructions. The preparation is the same for every COUNT, so the difference between two counts is the work
// alone.

import Glibc

/// `instruction-load WORK COUNT`, with WORK one of `Work`. Prints COUNT if each repetition gave the expected result.
@main
enum InstructionLoad {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let work = Work(rawValue: arguments[1]), let count = Int(arguments[2]),
            (1...Samples.count).contains(count)
        else { return complain("usage: instruction-load WORK COUNT: \(Work.names), at most \(Samples.count)") }
        let samples = Samples()
        let done = work.run(samples, count: count)
        guard done == count else { return complain("\(done) of \(count) were done") }
        print(done)
    }

    private static func complain(_ text: String) {
        var bytes = Array("instruction-load: \(text)\n".utf8)
        _ = unsafe write(STDERR_FILENO, &bytes, bytes.count)
        exit(1)
    }
}
