# Sourced by every script here, which first sets `usage` and `set -eu`: where things are, and how
# to start, find and ask a node. Node nK has gossip port 7100+K, admin port 7200+K, the port 7300+K
# for apps, the port 7400+K for probes and figures, its data in .cluster/nK/, its process id in
# .cluster/nK.pid and its output in .cluster/nK.log (.log.1 is the output of its life before);
# cluster/play has port 7500. A
# second cluster beside it has GRAPEVINE_STATE, another folder in place of .cluster, and
# GRAPEVINE_PORTS, another number in place of 7100, which the folder remembers. With GRAPEVINE_KEY_FILE the nodes prove that key
# to each other and encrypt.
# shellcheck shell=sh disable=SC2154 # the scripts set usage

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
state=${GRAPEVINE_STATE:-$root/.cluster}
# A folder remembers the ports of its nodes.
ports=7100
if [ -f "$state/ports" ]; then read -r ports <"$state/ports"; fi
ports=${GRAPEVINE_PORTS:-$ports}
binary=${GRAPEVINE_BIN:-$root/.build/release/grapevine}

# The options of the build that proves and does not ship: optimized, with the planted bugs and the
# checks of exclusive access and isolation at run time, and without debug information.
proof='-c release --traits PlantedBugs -Xswiftc -enable-testing -Xswiftc -gnone
--scratch-path .build-proof'

misused() {
    printf '%s\n' "$usage" >&2
    exit 64
}

fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$1" >&2
    exit "${2:-1}"
}

# Monotonic time in hundredths of a second.
clock() {
    read -r uptime _ </proc/uptime
    echo "${uptime%.*}${uptime#*.}"
}

# Hundredths of a second as seconds: 1234 -> 12.34
seconds() {
    printf '%d.%02d' "$(($1 / 100))" "$(($1 % 100))"
}

gossip() {
    echo "127.0.0.1:$((ports + ${1#n}))"
}

admin_port() {
    echo "$((ports + 100 + ${1#n}))"
}

http_port() {
    echo "$((ports + 200 + ${1#n}))"
}

ops_port() {
    echo "$((ports + 300 + ${1#n}))"
}

# The one argument of kill, start, wipe, pause and resume.
require_name() {
    [ "$#" -eq 1 ] || misused
    case $1 in
    n[1-9]) ;;
    *) misused ;;
    esac
}

# Every node that was ever started here, running or not; a wiped one is known by its log.
nodes() {
    for index in 1 2 3 4 5 6 7 8 9; do
        for trace in "$state/n$index" "$state/n$index.log" "$state/n$index.pid"; do
            if [ -e "$trace" ]; then
                echo "n$index"
                break
            fi
        done
    done
}

# The process id of a node, or failure if it does not run. A pid file can outlive its process and
# the number be given to another: it is ours only if it runs with this name and this folder.
pid_of() {
    [ -f "$state/$1.pid" ] && read -r pid <"$state/$1.pid" || return 1
    case $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" || :) in
    *" node --name $1 --data $state/$1 "*) echo "$pid" ;;
    *) return 1 ;;
    esac
} 2>/dev/null

running() {
    for node in $(nodes); do
        if pid_of "$node" >/dev/null; then echo "$node"; fi
    done
}

# Whether a process is stopped by SIGSTOP: it keeps its ports and answers nothing.
is_paused() {
    grep -q '^State:[[:space:]]*T' "/proc/$1/status" 2>/dev/null
}

# Fails once the process is gone; one that nobody has waited for yet is gone, too.
is_alive() {
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# No node has anything on disk: whoever starts first creates the cluster. Everybody else joins,
# since a folder that lost its data must wait for its cluster instead of founding another.
is_fresh() {
    for folder in "$state"/n[1-9]; do
        if [ -n "$(ls -A "$folder" 2>/dev/null)" ]; then return 1; fi
    done
}

# web_addresses PORT nK member…: the addresses at which browsers reach these nodes, between commas,
# that of nK first; PORT is http_port or ops_port.
web_addresses() {
    port=$1
    shift
    for node in "$1" $(printf '%s\n' "$@" | sort -u | grep -vx "$1"); do
        echo "http://127.0.0.1:$("$port" "$node")"
    done | paste -sd, -
}

# The file of the secret with which these nodes push notifications, made when it is first needed.
push_key() {
    file=$state/push.key
    [ -f "$file" ] || (umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$file")
    echo "$file"
}

# launch nK member…: starts nK in the background, detached from this script, its terminal and its
# descriptors, and joined to every other member.
launch() {
    name=$1
    shift
    [ -x "$binary" ] || fail "$binary is missing: cluster/up builds it" 69
    join=
    for member; do
        if [ "$member" != "$name" ]; then join="$join${join:+,}$(gossip "$member")"; fi
    done
    if is_fresh; then join=; fi
    mkdir -p "$state/$name"
    echo "$ports" >"$state/ports"
    options="--faults --ops-web $(web_addresses ops_port "$name" "$@") ${GRAPEVINE_NODE_OPTIONS-}"
    case " $options " in
    *" --http "*) ;;
    *)
        options="--http 127.0.0.1:$(http_port "$name") \
            --web $(web_addresses http_port "$name" "$@") $options"
        ;;
    esac
    case " $options " in
    *" --push-key "*) ;;
    *) options="--push-key $(push_key) $options" ;;
    esac
    key_file=${GRAPEVINE_KEY_FILE-}
    if [ -f "$state/$name.log" ]; then mv "$state/$name.log" "$state/$name.log.1"; fi
    # Whoever waits for the ready line may look before the node is there to write it.
    : >"$state/$name.log"
    # shellcheck disable=SC2086 # options are words
    setsid "$binary" node --name "$name" --data "$state/$name" \
        --gossip "$(gossip "$name")" --admin "127.0.0.1:$(admin_port "$name")" \
        --ops "127.0.0.1:$(ops_port "$name")" \
        ${join:+--join "$join"} ${key_file:+--key-file "$key_file"} $options \
        </dev/null >"$state/$name.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo "$!" >"$state/$name.pid"
    echo "$name: started, pid $!${join:+, joins $join}"
}

# The process id of cluster/play, or failure if it does not run.
play_pid() {
    [ -f "$state/play.pid" ] && read -r pid <"$state/play.pid" || return 1
    case $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" || :) in
    *"$root/cluster/play "*) echo "$pid" ;;
    *) return 1 ;;
    esac
} 2>/dev/null

# Starts cluster/play anew, and waits until it has printed the address of the page.
launch_play() {
    end_play
    : >"$state/play.log"
    chmod 600 "$state/play.log"
    GRAPEVINE_STATE=$state GRAPEVINE_PORTS=$ports GRAPEVINE_BIN=$binary \
        setsid "$root/cluster/play" </dev/null >"$state/play.log" 2>&1 3>&- 4>&- 5>&- &
    echo "$!" >"$state/play.pid"
    read -r pid <"$state/play.pid"
    until grep -q '#play=' "$state/play.log"; do
        is_alive "$pid" || fail "cluster/play ended: $(tail -n 1 "$state/play.log")" 69
        sleep 0.05
    done
}

end_play() {
    if pid=$(play_pid); then kill "$pid"; fi
    rm -f "$state/play.pid" "$state/play.log"
}

# Waits until a node that this script launched serves, at most 30 s. If it ended instead, this
# script ends with its exit status.
await_ready() {
    read -r pid <"$state/$1.pid"
    deadline=$(($(clock) + 3000))
    until grep -q "^ready name=$1 " "$state/$1.log"; do
        if ! is_alive "$pid"; then
            status=0
            wait "$pid" || status=$?
            rm -f "$state/$1.pid"
            tail -n 20 "$state/$1.log" >&2
            fail "$1 ended with exit status $status before it was ready" \
                "$((status == 0 ? 1 : status))"
        fi
        if [ "$(clock)" -ge "$deadline" ]; then
            tail -n 20 "$state/$1.log" >&2
            fail "$1 (pid $pid) runs but is not ready after 30 s; does a node it joins run?"
        fi
        sleep 0.05
    done
}

# ask nK 'LINE': prints the reply, or those of several lines; fails when there is none within 2 s.
ask() {
    printf '%s\n' "$2" | timeout 2 nc -N 127.0.0.1 "$(admin_port "$1")"
}

case ${1-} in
-h | --help)
    printf '%s\n' "$usage"
    exit 0
    ;;
esac

case $ports in
[1-9][0-9][0-9][0-9] | [1-5][0-9][0-9][0-9][0-9]) ;;
*) fail "GRAPEVINE_PORTS is '$ports' and no number from 1000 to 59999" 64 ;;
esac
