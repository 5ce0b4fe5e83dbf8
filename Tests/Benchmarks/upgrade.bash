# Whether a restart of the service, as an upgrade causes it, loses queries or the cache: a booted machine under 5,000
# queries a second, over UDP and over TCP. Needs root. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

install_missing "${build_packages[@]}" "${bench_packages[@]}" debootstrap iproute2 procps
for product in httpdnsd httpdnsctl; do
    swift build -c release --static-swift-stdlib --product "$product" >&2
done
mkdir -p .build/bench
cc -O2 -Wall -Wextra -Werror -o .build/bench/instant-upstream Tests/Benchmarks/instant-upstream.c \
    Tests/Benchmarks/replay-messages.c
PYTHONPATH=Tests/EndToEnd/support exec python3 -B Tests/Benchmarks/upgrade.py "$@"
