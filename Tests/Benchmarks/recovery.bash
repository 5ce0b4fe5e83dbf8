# How long a client waits when a network fails without a word: the path to an upstream is cut and comes back, and the
# machine moves to another network. httpdnsd beside smartdns, and dnscrypt-proxy where it is installed. Needs root.
# Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

install_missing "${bench_packages[@]}" iproute2 python3
for product in httpdnsd httpdns-lab httpdnsctl; do
    swift build -c release --static-swift-stdlib --product "$product" >&2
done
exec python3 Tests/Benchmarks/recovery.py "$@"
