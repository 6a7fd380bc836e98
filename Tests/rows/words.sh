# Sourced by Tests/rows/run: the words that rows are written in.
#
# A row runs in a shell of its own, with users and conversations of its own:
#   $alice $bob $carol       three users
#   $c1 (alice, bob)         with one message of alice, $m: "see you at 6"
#   $c3 (alice, bob, carol)  without any message
# What it says is done and seen; the first check that fails ends it. A check takes words: a line of
# the last reply has to hold all of them; one that ends with `=` stands for any value. `n1` is the
# node with the ports of `cluster/up`.
# shellcheck shell=sh disable=SC2154 # the script that sources this sets what is missing here

# Monotonic time in hundredths of a second.
clock() {
    read -r uptime _ </proc/uptime
    echo "${uptime%.*}${uptime#*.}"
}

# Hundredths of a second as seconds: 1234 -> 12.34
seconds() {
    printf '%d.%02d' "$(($1 / 100))" "$(($1 % 100))"
}

# ask N LINE…: sends the lines over a connection of their own to node N, leaves the replies in
# $reply.
ask() {
    place=$1
    shift
    reply=$(printf '%s\n' "$@" | timeout 20 nc -N 127.0.0.1 "$((ports + 100 + place))") || :
    asked="n$place: $*"
}

# does N LINE…: asks, and every reply has to be OK.
does() {
    ask "$@"
    reject ERR
    expect OK
}

# lines WORD…: those of standard input that hold every word.
lines() {
    for word; do printf '%s\n' "$word"; done >"$work/words"
    awk 'NR == FNR { word[++words] = $0; next }
        {
            for (i = 1; i <= words; i++) {
                ends = word[i] ~ /=$/ ? "" : " "
                if (!index(" " $0 " ", " " word[i] ends)) next
            }
            print
        }' "$work/words" -
}

# expect WORD…: a line of the last reply holds them all.
expect() {
    seen=$(printf '%s\n' "$reply" | lines "$@")
    [ -n "$seen" ] || stop "no line '$*'"
    note "$seen"
}

# reject WORD…: no line of the last reply does.
reject() {
    found=$(printf '%s\n' "$reply" | lines "$@")
    [ -z "$found" ] || stop "there should be no line '$*'"
}

# expect_count N WORD…: so many lines of the last reply hold them.
expect_count() {
    wanted=$1
    shift
    count=$(printf '%s\n' "$reply" | lines "$@" | wc -l)
    [ "$count" -eq "$wanted" ] || stop "$count lines '$*' instead of $wanted"
    note "$count lines '$*'"
}

# values KEY: of the data lines of the last reply, in their order.
values() {
    printf '%s\n' "$reply" | sed -n "/^OK/d; s/^[A-Z].* $1=\([^ ]*\).*/\1/p" | tr '\n' ' ' |
        sed 's/ $//'
}

# answered KEY: its value in the last status line that has it.
answered() {
    printf '%s\n' "$reply" | sed -n "s/^OK.* $1=\([^ ]*\).*/\1/p" | tail -n 1
}

# expect_order KEY 'VALUE VALUE…': the data lines have these values of it, in this order.
expect_order() {
    found=$(values "$1")
    [ "$found" = "$2" ] || stop "the order by $1 is '$found' instead of '$2'"
    note "$1: $found"
}

# same WHAT A B: both are the same.
same() {
    [ "$2" = "$3" ] || stop "$1 differs: '$2' and '$3'"
    note "$1: $2"
}

# eventually N LINE WORD…: asks until a line of the reply holds the words.
eventually() {
    node=$1
    line=$2
    shift 2
    deadline=$(($(clock) + patience))
    while :; do
        ask "$node" "$line"
        [ -z "$(printf '%s\n' "$reply" | lines "$@")" ] || break
        [ "$(clock)" -lt "$deadline" ] || break
        sleep 0.05
    done
    expect "$@"
}

# eventually_not N LINE WORD…: asks until the reply is OK and no line of it holds the words.
eventually_not() {
    node=$1
    line=$2
    shift 2
    deadline=$(($(clock) + patience))
    while :; do
        ask "$node" "$line"
        if printf '%s\n' "$reply" | grep -q '^OK' &&
            [ -z "$(printf '%s\n' "$reply" | lines "$@")" ]; then break; fi
        [ "$(clock)" -lt "$deadline" ] || break
        sleep 0.05
    done
    reject "$@"
    expect OK
    note "no line '$*' on n$node"
}

# everywhere LINE WORD…: eventually on each of the three nodes.
everywhere() {
    for copy in 1 2 3; do eventually "$copy" "$@"; done
}

# nowhere LINE WORD…: eventually on none of the three nodes.
nowhere() {
    for copy in 1 2 3; do eventually_not "$copy" "$@"; done
}

# talk NAME N: a connection to node N that stays open; what it hears is in $work/NAME.heard.
talk() {
    rm -f "$work/$1.said" "$work/$1.heard"
    mkfifo "$work/$1.said"
    : >"$work/$1.heard"
    # Opened both ways, it has no end before its process has.
    nc -N 127.0.0.1 "$((ports + 100 + $2))" <>"$work/$1.said" >>"$work/$1.heard" 2>/dev/null &
    echo "$!" >>"$work/talkers"
    echo "$!" >"$work/$1.pid"
}

# say NAME LINE: sends a line over it.
say() {
    printf '%s\n' "$2" >"$work/$1.said"
}

# hear NAME HUNDREDTHS WORD…: a line with these words has come over it, or does so in this time.
hear() {
    name=$1
    limit=$2
    shift 2
    began=$(clock)
    while :; do
        seen=$(lines "$@" <"$work/$name.heard")
        [ -z "$seen" ] || break
        reply=$(tail -n 5 "$work/$name.heard")
        asked="$name heard"
        [ "$(clock)" -lt "$((began + limit))" ] || stop "no '$*' within $(seconds "$limit") s"
        sleep 0.02
    done
    note "$(printf '%s\n' "$seen" | tail -n 1)"
}

# unheard NAME WORD…: no line with these words has come over it until here.
unheard() {
    name=$1
    shift
    reply=$(lines "$@" <"$work/$name.heard")
    asked="$name heard"
    [ -z "$reply" ] || stop "there should be no line '$*'"
}

# watch NAME N USER [OPTION]: talks, and watches what this user may see.
watch() {
    talk "$1" "$2"
    say "$1" "WATCH $3${4:+ $4}"
    hear "$1" "$patience" OK token=
}

# hang_up NAME: the connection is closed, as by a process that dies.
hang_up() {
    read -r talker <"$work/$1.pid"
    kill -KILL "$talker" 2>/dev/null || :
}

# cluster COMMAND…: one of the scripts of cluster/, which has to succeed.
cluster() {
    command=$1
    shift
    "$root/cluster/$command" "$@" >"$work/cluster" 2>&1 || {
        reply=$(cat "$work/cluster")
        asked="cluster/$command $*"
        stop 'failed'
    }
}

# converge: every holder of a shard prints the same line for it.
converge() {
    cluster converged 30
    note "$(tail -n 1 "$work/cluster")"
}

# isolate: n1 is alone, n2 and n3 have each other. Each side holds everything.
isolate() {
    : >"$work/is-cut"
    cluster partition n1 n2,n3
}

heal() {
    cluster heal
    rm -f "$work/is-cut"
    converge
}

# crash N: SIGKILL. restart N: starts it again and waits until it serves.
crash() { cluster kill "n$1"; }
restart() { cluster start "n$1"; }

# purged TEXT…: asks every node to scrub, then no file of any data folder holds one of them.
purged() {
    converge
    for copy in 1 2 3; do does "$copy" SCRUB; done
    deadline=$(($(clock) + patience + 500))
    while :; do
        reply=
        asked='grep -a in the data folders'
        for text; do
            reply="$reply$(grep -alr -e "$text" "$state"/n[1-9]/ || :)"
        done
        [ -n "$reply" ] || break
        [ "$(clock)" -lt "$deadline" ] || stop "a deleted text is still on a disk"
        sleep 0.1
    done
    note "$# texts in no file of any node"
}

# unit FILTER: the unit tests that prove the rest of it, where they are built.
unit() {
    # As cluster/test has built them, or by hand.
    options=
    set -- "$1" "$root"/.build-proof/release/*.xctest
    if [ -e "$2" ]; then
        options='-c release --scratch-path .build-proof'
    else
        set -- "$1" "$root"/.build/debug/*.xctest
    fi
    [ -e "$2" ] || { note "$seen (and: swift test --filter $1)"; return; }
    # shellcheck disable=SC2086 # options are words
    (cd "$root" && swift test --skip-build $options --filter "$1") >"$work/unit" 2>&1 || {
        reply=$(tail -n 3 "$work/unit")
        asked="swift test --skip-build --filter $1"
        stop failed
    }
    grep -q 'Test run with [1-9]' "$work/unit" || stop "no test is named $1"
    note "$seen (and the tests named $1 pass)"
}

# rely COMMAND…: what the row is about; `--break` leaves it out.
rely() {
    if ! "$broken"; then "$@"; fi
}

# sabotage COMMAND…: done by `--break` alone.
sabotage() {
    if "$broken"; then "$@"; fi
}

# note TEXT: what was seen; the last one is printed.
note() {
    printf '%s\n' "$1" | tail -n 1 >"$work/seen"
}

# stop SENTENCE: the row does not hold.
stop() {
    printf '%s; %s -> %s\n' "$1" "${asked:-}" "$(printf '%s' "${reply:-}" | tr '\n' '|')" |
        cut -c 1-400 >"$work/seen"
    exit 1
}
