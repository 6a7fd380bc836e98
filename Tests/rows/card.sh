# Sourced by Tests/rows/run: the rows of the design card.
# shellcheck shell=sh disable=SC2154 # users, conversations and paths come from the script

row C-01 'each node holds shards of conversations, each by one actor'
C_01() {
    ask 1 SHARDS
    expect SHARD here=true state=ready
    shards=$(values id | wc -w)
    [ "$shards" -eq 64 ] || stop "SHARDS prints $shards shards"
    note "64 shards, all ready here (races: swift test --sanitize=thread)"
}

row C-02 'system libraries of Debian, no package from elsewhere'
C_02() {
    reply=$(cat "$root/Package.swift")
    asked='Package.swift'
    expect 'library("CSQLite",'
    expect 'library("CLibuv",'
    case $reply in
    *.package\(*) stop 'a package of others is a dependency' ;;
    esac
    note 'libuv and sqlite3 of the system, no other package'
}

row C-04 'nodes replicate to each other'
C_04() {
    does 1 "SEND $c1 $alice id=x over the wire"
    everywhere "HISTORY $c1 $bob" id=x 'text="over the wire"'
}

row C-05 'archivedBy is an observed-remove set: an add wins over a remove elsewhere'
C_05() {
    does 1 "ARCHIVE $c1 $bob"
    everywhere "CHATS $bob show=archived" "id=$c1"
    isolate
    does 1 'SET ack=local' "UNARCHIVE $c1 $bob" "ARCHIVE $c1 $bob"
    does 2 'SET ack=local' "UNARCHIVE $c1 $bob"
    heal
    everywhere "CHATS $bob show=archived" "id=$c1"
}

row C-06 'of two pins the later holds'
C_06() {
    isolate
    does 1 'SET ack=local' "PIN $c1 $m $alice"
    does 2 'SET ack=local' "PIN $c1 $m $bob"
    heal
    everywhere "PINNED $c1 $alice" "id=$m" "pinnedBy=$bob"
}

row C-07 'a line protocol to control each node'
C_07() {
    for each in 1 2 3; do
        ask "$each" PING
        expect 'OK pong'
    done
}

row C-09 'killed under load, a node comes back to the same'
C_09() {
    talk load 1
    for number in $(seq 300); do
        echo "SEND $c1 $alice id=l$number load $number"
    done >"$work/load"
    cat "$work/load" >"$work/load.said" &
    hear load "$patience" OK id=l50
    crash 2
    hear load 2000 OK id=l300
    restart 2
    converge
    acknowledged=$(lines OK id= <"$work/load.heard" | wc -l)
    ask 2 "HISTORY $c1 $bob limit=1000"
    same 'acknowledged sends, and those in HISTORY of n2' \
        "$acknowledged" "$(printf '%s\n' "$reply" | grep -c ' id=l')"
}

row C-10 'what comes before the end of the input is answered'
C_10() {
    eventually 1 STATUS NODE name=n1 protocol=1 members=3/3 converged=true
    ask 1 PING PING PING
    expect_count 3 'OK pong'
}

row C-12 'Swift, without a warning'
C_12() {
    reply=$(cat "$root/Package.swift")
    asked='Package.swift'
    expect '.treatAllWarnings(as: .error),'
    expect 'swiftLanguageModes: [.v6],'
}
