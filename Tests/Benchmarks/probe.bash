# What verified addresses cost and whether they err: first answers and hits with and without probes, beside good servers
# and beside tarpits; 10,000 probes of good servers, some of them slow, of which none may be mismatched; and the CPU that
# one takes. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

rounds=10 seconds=2 rate=200
certificates=300 probes=10000 probesForCPU=2000
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    rounds=1 seconds=1 rate=50
    certificates=4 probes=200 probesForCPU=50
    isSmoke=true
fi

# The goals. A difference counts when it is larger than that between two daemons that do the same, and than what the
# clock of a busy machine can tell.
noisePercent=10
noiseMilliseconds=(0.1 0.3 1.0) # at p50, p95, p99
maxMismatched=0
maxCPUMilliseconds=1
maxDescriptorsMore=80 # 64 probes, and the connections to the provider
maxAnonymousMoreKB=4096
maxProbes=64

addresses=200             # of answers: 127.9.1.1 to 127.9.200.1
slowDelays=(100 300 700 1200) # milliseconds; all within the timeout
timeout=2s

candidates=(off again good tarpits)
declare -A pids=() ports=()
. Tests/Benchmarks/harness
realtime=$(scheduling || true)

build() {
    compile choice-load choice-load.c
    compile instant-upstream instant-upstream.c replay-messages.c
    compile probe-peers probe-peers.c
    swift build -c release --static-swift-stdlib --product httpdnsd
    swift build -c release --static-swift-stdlib --product httpdnsctl
    swift build -c release --static-swift-stdlib --product probe-load
}

# MARK: servers

# certificate FILE KEY NAME: signed by the authority with the same kind of key.
certificate() {
    openssl req -new -key "$work/$2.key" -subj "/CN=$3" -addext "subjectAltName=DNS:$3" -out "$work/request"
    openssl x509 -req -in "$work/request" -CA "$work/$2-ca.pem" -CAkey "$work/$2-ca.key" -CAcreateserial -days 2 \
        -copy_extensions copyall -out "$work/$1.pem" 2>/dev/null
}

make_certificates() {
    local kind name
    openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$work/ecdsa.key"
    openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$work/rsa.key"
    for kind in ecdsa rsa; do
        cp "$work/$kind.key" "$work/$kind-ca.key"
        openssl req -x509 -key "$work/$kind-ca.key" -subj "/CN=Test CA $kind" -days 2 -out "$work/$kind-ca.pem"
        certificate "$kind" "$kind" "$kind.probe.example"
    done
    cat "$work/ecdsa-ca.pem" "$work/rsa-ca.pem" >"$work/ca.pem"
    certificate memory ecdsa "*.memory.example"
    for ((name = 0; name < certificates; name++)); do
        progress "certificate $name of $certificates ..."
        certificate "n$name" ecdsa "n$name.probe.example"
    done
    progress ""
}

# virtual_host NAME FILE KEY LISTEN...
virtual_host() {
    printf 'server { server_name "%s"; ssl_certificate %s; ssl_certificate_key %s; location / { return 204; }' \
        "$1" "$work/$2.pem" "$work/$3.key"
    printf ' listen %s ssl;' "${@:4}"
    printf ' }\n'
}

# Names of their own at one address, and one certificate for all names of the load at those of the answers.
start_nginx() {
    local name
    free_port
    good=$port
    {
        echo "daemon off; worker_processes 2; pid $work/nginx.pid; error_log stderr;"
        echo "events { worker_connections 2048; }"
        echo "http { access_log off; ssl_protocols TLSv1.2 TLSv1.3; server_names_hash_bucket_size 128;"
        echo "server_names_hash_max_size 4096;"
        for name in client_body proxy fastcgi uwsgi scgi; do echo "${name}_temp_path $work/$name;"; done
        virtual_host "*.memory.example" memory ecdsa \
            $(seq -f "127.9.%g.1:$good" "$addresses")
        for name in ecdsa rsa; do virtual_host "$name.probe.example" "$name" "$name" "127.8.0.1:$good"; done
        for ((name = 0; name < certificates; name++)); do
            virtual_host "n$name.probe.example" "n$name" ecdsa "127.8.0.1:$good"
        done
        echo "}"
    } >"$work/nginx.conf"
    start nginx nginx -c "$work/nginx.conf" -e stderr
    await nginx test -s "$work/nginx.pid"
}

start_servers() {
    start_nginx
    start slow "$bin/probe-peers" slow "$good" "${slowDelays[@]}"
    await slow grep -qx ready "$work/slow.log"
    free_port
    tarpits=$port
    start tarpits "$bin/probe-peers" tarpits "$tarpits" "$addresses"
    await tarpits grep -qx ready "$work/tarpits.log"
    start upstream "$bin/instant-upstream" "$addresses"
    await upstream test -s "$work/upstream.log"
    read -r _ http <"$work/upstream.log"
}

# start_daemon CANDIDATE
start_daemon() {
    local isOn=true probed=$good
    case $1 in
    off | again) isOn=false ;;
    tarpits) probed=$tarpits ;;
    esac
    free_port
    ports[$1]=$port
    cat >"$work/$1.toml" <<END
[server]
listen = ["127.0.0.1:$port"]
[[provider]]
name = "upstream"
dialect = "json"
url = "http://127.0.0.1:$http/resolve"
[system-resolver]
resolv-conf = "/dev/null"
[cache]
store = ""
[control]
socket = "$work/$1.sock"
[probe]
enabled = $isOn
ports = [$probed]
timeout = "$timeout"
ca-file = "$work/ca.pem"
[[rule]]
match = ["."]
probe = $isOn
allow-private = true
END
    start "$1" .build/release/httpdnsd --config "$work/$1.toml"
    await "$1" grep -q ' ready: ' "$work/$1.log"
}

# MARK: answers beside probes

statistic() { .build/release/httpdnsctl --socket "$work/$1.sock" --json stats | sed -E "s/.*\"$2\":([0-9]+).*/\1/"; }
descriptors() { find "/proc/${pids[$1]}/fd" -mindepth 1 | wc -l; }
anonymous_kB() { awk '$1 == "RssAnon:" { print $2 }' "/proc/${pids[$1]}/status"; }

# watch CANDIDATE: notes what it holds, for the largest of it.
watch() { echo "$(descriptors "$1") $(anonymous_kB "$1")" >>"$work/$1.held"; }

# round CANDIDATE FIRST: new names, and beside them those of the round before for the second time: these are hits, and
# what lets their addresses be probed.
round() {
    local count=$((rate * seconds))
    start again-load "$bin/choice-load" "${ports[$1]}" "$rate" "$seconds" $(($2 - count))
    start load "$bin/choice-load" "${ports[$1]}" "$rate" "$seconds" "$2"
    while kill -0 "${pids[load]}" 2>/dev/null; do
        watch "$1"
        sleep 0.25
    done
    wait "${pids[load]}" "${pids[again-load]}" || fail "no load: $(tail -n 3 "$work/load.log" "$work/again-load.log")"
    unset "pids[load]" "pids[again-load]"
    sed 1d "$work/load.log" >>"$work/$1.misses"
    sed 1d "$work/again-load.log" >>"$work/$1.hits"
}

measure_answers() {
    local number place candidate count=$((rate * seconds))
    for candidate in "${candidates[@]}"; do
        start_daemon "$candidate"
        # What grows with use has grown before it counts.
        round "$candidate" $((count * 2))
        rm -f "$work/$candidate".{hits,misses,held}
        watch "$candidate"
    done
    for ((number = 0; number < rounds; number++)); do
        for ((place = 0; place < ${#candidates[@]}; place++)); do
            # Each is first as often as any other.
            candidate=${candidates[(number + place) % ${#candidates[@]}]}
            progress "round $((number + 1)) of $rounds: $candidate ..."
            round "$candidate" $((count * (number + 3)))
        done
    done
    progress "the last probes end ..."
    await_quiet good
    await_quiet tarpits
    for candidate in good tarpits; do watch "$candidate"; done
    progress ""
}

# No probe runs or waits, and no more descriptors are open than at first.
await_quiet() {
    local quiet=0
    until [ "$(statistic "$1" running)" = 0 ] && [ "$(statistic "$1" waiting)" = 0 ] \
        && [ "$(descriptors "$1")" -le "$(head -n 1 "$work/$1.held" | cut -d ' ' -f 1)" ]; do
        [ $((++quiet)) -le 240 ] || fail "$1 has $(descriptors "$1") descriptors, $(statistic "$1" running) probes"
        sleep 0.25
    done
}

# percentile FILE PERCENT: of the waits; a query without an answer waited for ever.
percentile() {
    awk '{ print ($2 < 0 ? 5000 : $2) }' "$1" | sort -n | awk -v p="$2" '{ all[NR] = $1 }
        END { at = int((NR - 1) * p / 100 + 0.5) + 1; print all[at] }'
}

# compare WHAT FILE CANDIDATE: the difference to the daemon without probes, and what of it is noise.
compare() {
    local index percents=(50 95 99) base other value
    for index in 0 1 2; do
        base=$(percentile "$work/off.$2" "${percents[index]}")
        other=$(percentile "$work/again.$2" "${percents[index]}")
        value=$(percentile "$work/$3.$2" "${percents[index]}")
        goal "$1, p${percents[index]}, ms, $value against $base and $other without probes; more by" \
            "$(awk -v a="$value" -v b="$base" -v c="$other" 'BEGIN { printf "%.2f", a - (b < c ? c : b) }')" \
            "$(awk -v b="$base" -v c="$other" -v percent="$noisePercent" -v least="${noiseMilliseconds[index]}" \
                'BEGIN { d = b < c ? c - b : b - c; n = b * percent / 100; n = n < d ? d : n
                         printf "%.2f", n < least ? least : n }')"
    done
}

held() { awk -v column="$2" 'NR == 1 { first = $column } $column > most { most = $column } { last = $column }
    END { print first, most, last }' "$work/$1.held"; }

report_answers() {
    local first most last
    echo "$rate new names a second and as many for the second time, $rounds rounds of $seconds s for each candidate"
    compare "first answers beside good servers" misses good
    compare "hits beside good servers" hits good
    compare "first answers beside $addresses tarpits" misses tarpits
    compare "hits beside $addresses tarpits" hits tarpits
    echo "probes beside good servers: $(statistic good done), verified $(statistic good verified);" \
        "beside tarpits: $(statistic tarpits done), timed out $(statistic tarpits tls-timeout)"
    read -r first most last < <(held tarpits 1)
    goal "descriptors beside tarpits, $first at first, $most at most; more by" $((most - first)) "$maxDescriptorsMore"
    goal "descriptors that were not given back:" $((last - first)) 0
    read -r _ first _ < <(held off 2)
    read -r _ most last < <(held tarpits 2)
    goal "anonymous memory beside tarpits, kB, $most at most, $last at last, $first without probes; more by" \
        $((most - first)) "$maxAnonymousMoreKB"
    echo
}

# MARK: 10,000 probes

# Nine in ten at once, one slow.
write_targets() {
    local name
    for ((name = 0; name < certificates; name++)); do
        if [ $((name % 10)) -eq 9 ]; then
            echo "n$name.probe.example 127.8.1.$((name / 10 % ${#slowDelays[@]} + 1)) $good"
        else
            echo "n$name.probe.example 127.8.0.1 $good"
        fi
    done >"$work/targets"
    if $isSmoke; then echo "n0.probe.example 127.8.1.1 $good" >>"$work/targets"; fi
    for name in ecdsa rsa; do echo "$name.probe.example 127.8.0.1 $good" >"$work/targets-$name"; done
}

# probe NAME TARGETS COUNT: lines of counts and figures.
probe() {
    $realtime .build/release/probe-load "$2" "$3" "$work/ca.pem" "$maxProbes" >"$work/$1.probed" \
        || fail "no probes: $(cat "$work/$1.probed")"
}

figure() { awk -v key="$2" '$1 == key { print $2; found = 1 } END { if (!found) print 0 }' "$work/$1.probed"; }

report_probes() {
    local kind run cpu
    progress "$probes probes under load ..."
    # The daemons have work meanwhile, so that the machine is busy.
    start load "$bin/choice-load" "${ports[off]}" "$rate" 60 $((rate * seconds * (rounds + 10)))
    probe all "$work/targets" "$probes"
    stop load
    progress ""
    echo "$probes probes of good servers under load, $maxProbes at a time, every tenth server slow" \
        "(${slowDelays[*]} ms): $(figure all seconds) s"
    sed 's/^/  /' "$work/all.probed"
    goal "probes that were not done:" $((probes - $(figure all probes))) 0
    goal "mismatched:" $(($(figure all name-mismatch) + $(figure all untrusted))) "$maxMismatched"
    goal "not verified:" $((probes - $(figure all verified))) $((probes / 1000))
    echo
    for kind in ecdsa rsa; do
        cpu=()
        for run in 1 2 3; do
            progress "CPU with $kind, run $run ..."
            probe "$kind" "$work/targets-$kind" "$probesForCPU"
            cpu+=("$(figure "$kind" cpu-ms)")
        done
        progress ""
        goal "CPU of the client per probe, $kind, ms, the least of ${cpu[*]}:" \
            "$(printf '%s\n' "${cpu[@]}" | sort -n | head -n 1)" "$maxCPUMilliseconds"
    done
}

install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
make_certificates
start_servers
write_targets
measure_answers
report_answers
report_probes
exit "$status"
