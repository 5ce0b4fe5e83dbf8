# Completion of httpdnsctl's command line for bash. As /usr/share/bash-completion/completions/httpdnsctl it is found by
# itself; ". etc/completion/httpdnsctl.bash" tries it out. It asks the daemon for the names of providers, and for
# nothing else.

_httpdnsctl_commands="status stats cache flush prefetch httpdns rule providers network fleet verify verdicts
    report evidence audit whois explain query top inflight watch recorder log reload help system doctor setup report-bug"

# What may stand behind a command.
_httpdnsctl_words() {
    case $1 in
    status) echo "--json" ;;
    stats) echo "--json --prometheus --watch" ;;
    cache) echo "ls get dump --json" ;;
    flush) echo "--all --tree --type --fleet --json" ;;
    prefetch) echo "--json" ;;
    httpdns) echo "off on --for --json" ;;
    rule) echo "add ls rm --for --json" ;;
    providers) echo "reset test --json" ;;
    network) echo "history names --write --json" ;;
    fleet) echo "--json" ;;
    verify) echo "--json" ;;
    verdicts) echo "--json" ;;
    report) echo "--json" ;;
    evidence) echo "--json" ;;
    audit) echo "--json" ;;
    whois) echo "--json" ;;
    explain) echo "--client --json" ;;
    query) echo "--provider --no-cache --json" ;;
    top) echo "--json" ;;
    inflight) echo "--json" ;;
    watch) echo "--name --clients --json" ;;
    recorder) echo "dump read --clients --json" ;;
    log) echo "error warning info debug --for --json" ;;
    reload) echo "--json" ;;
    help) echo "--json" ;;
    system) echo "status use restore --dry-run --if-dead --json" ;;
    doctor) echo "--config --json" ;;
    setup) echo "--replace --dry-run --output --providers --provider-addresses --account --account-id --access-key --url --addresses --key-file --lan --allow --take-over --json" ;;
    report-bug) echo "--output --config --json" ;;
    esac
}

_httpdnsctl_providers() {
    "${words[0]}" "${socket[@]}" providers 2>/dev/null | awk 'NR > 1 && /^[^ ]/ { print $1 }'
}

# What may follow on the word before the one that is completed; fails where that says nothing.
_httpdnsctl_values() {
    case "$command $1" in
    "flush --type") echo "A AAAA CNAME HTTPS MX NS PTR SOA SRV SVCB TXT" ;;
    "httpdns --for" | "rule --for" | "log --for") echo "30s 10m 1h 1d" ;;
    "query --provider" | "providers reset" | "providers test") _httpdnsctl_providers ;;
    "help help") echo "$_httpdnsctl_commands" ;;
    "setup --providers") echo "alidns dnspod google cloudflare cloudflare-security quad9 quad9-ecs quad9-unfiltered adguard adguard-family adguard-unfiltered mullvad mullvad-base dns-sb dns4eu controld-unfiltered controld nextdns none" ;;
    "setup --account") echo "no alidns alicloud alicloud-v2 dnspod-https dnspod-aes dnspod-des volcengine baidu ucloud" ;;
    "setup --take-over") echo "yes no" ;;
    *) return 1 ;;
    esac
}

_httpdnsctl() {
    local words=("${COMP_WORDS[@]}") current=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}
    local at=1 command="" socket=() choices
    while [ "$at" -lt "$COMP_CWORD" ]; do
        case ${words[at]} in
        --socket)
            socket=(--socket "${words[at + 1]}")
            at=$((at + 1)) ;;
        -*) ;;
        *)
            command=${words[at]}
            break ;;
        esac
        at=$((at + 1))
    done
    if [ "$last" = --socket ] && [ -z "$command" ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    case "$command $last" in
    "recorder read" | "doctor --config" | "report-bug --config" | "report-bug --output" | "setup --output" \
        | "setup --key-file")
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return ;;
    esac
    if [ -z "$command" ]; then
        choices="$_httpdnsctl_commands --socket --json --version --help"
    else
        choices=$(_httpdnsctl_values "$last") || choices=$(_httpdnsctl_words "$command")
    fi
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}

complete -F _httpdnsctl httpdnsctl
