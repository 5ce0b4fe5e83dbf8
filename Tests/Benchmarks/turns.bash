# What one miss after the other costs the main thread: instructions by valgrind, of the resolver, the requests and the
# turns of the loop together. The server is dnsdist, which answers every question itself at once. Started by
# scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

fewer=200
more=1200
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    fewer=20 more=40 isSmoke=true
fi

# The goal: instructions for each miss.
maxInstructions=240000

declare -A pids=() ports=()
. Tests/Benchmarks/harness
. Tests/Benchmarks/servers

# count NAMES: instructions of the main thread from its start to its end, with so many questions.
count() {
    free_port
    ports[counted]=$port
    server_prefix=(env SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --separate-threads=yes
        "--callgrind-out-file=$work/calls")
    server_program=$bin/httpdnsd
    start_httpdnsd_as counted 'server.threads = 1' "$no_system_resolver" "$(provider upstream 127.0.0.1)"
    questions 1 "$1"
    ask counted -c 1 -q 1
    [ "$(lost "$1")" -eq 0 ] || fail "$(lost "$1") of $1 questions have no answer"
    stop counted
    instructions=$(awk '/^(totals|summary):/ { print $2; exit }' "$work/calls-01")
    [ -n "$instructions" ] || fail "valgrind has counted nothing: $(tail -n 3 "$work/counted.log")"
}

install_missing "${build_packages[@]}" "${bench_packages[@]}"
PATH=$PATH:/usr/sbin
build_for_valgrind httpdnsd
realtime=
start_upstream
progress "$fewer questions ..."
count "$fewer"
few=$instructions
progress "$more questions ..."
count "$more"
progress ""
each=$(((instructions - few) / (more - fewer)))
echo "$each instructions of the main thread for each miss"
goal "instructions of the main thread for each miss:" "$each" "$maxInstructions"
exit "$status"
