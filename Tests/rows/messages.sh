# Sourced by Tests/rows/run: the rows about deleting and editing messages.
# shellcheck shell=sh disable=SC2154 # users and conversations come from the script

row M-01 'a message has deletedBy, absent until someone deletes'
M_01() {
    ask 1 "HISTORY $c1 $alice"
    reject deletedBy=
    does 1 "DELETE $c1 $m $bob" "HISTORY $c1 $alice"
    expect "id=$m" "deletedBy=$bob"
}

row M-02 'a message without deletedBy is read back from the disk'
M_02() {
    converge
    crash 3
    restart 3
    eventually 3 "HISTORY $c1 $bob" "id=$m" 'text="see you at 6"'
    reject deletedBy=
    unit FieldsTests
}

row M-03 'fields that a node does not know travel through it unharmed'
M_03() {
    does 1 "SEND $c1 $alice id=x type=action item=i1 whole" "EDIT $c1 x $alice wholly" \
        "PIN $c1 x $bob" "DELETE $c1 x $bob" "READ $c1 $bob"
    everywhere "HISTORY $c1 $alice" id=x "from=$alice" type=action item=i1 text=wholly edited= \
        "pinnedBy=$bob" "deletedBy=$bob" "readBy=$bob"
    unit FrameCodingTests
}

row M-04 'deleted for a user is deletedBy with that user in it'
M_04() {
    does 1 "DELETE $c1 $m $bob"
    ask 1 "HISTORY $c1 $bob"
    reject "id=$m"
    ask 1 "HISTORY $c1 $alice"
    expect "id=$m" "deletedBy=$bob"
}

row M-05 ◆ 'in a chat of three, two who delete for themselves leave it to the third'
M_05() {
    does 1 "SEND $c3 $alice id=x still here"
    does 1 "DELETE $c3 x $bob" "DELETE $c3 x $carol"
    sabotage does 1 "DELETE $c3 x $alice"
    nowhere "HISTORY $c3 $bob" id=x
    everywhere "HISTORY $c3 $alice" id=x 'text="still here"' "deletedBy=$bob,$carol"
    reject deletedForEveryone=true
}

row M-11 'deleting for me twice is deleting once'
M_11() {
    does 1 "DELETE $c1 $m $bob" "DELETE $c1 $m $bob for=me"
    ask 1 "HISTORY $c1 $alice"
    expect_count 1 "id=$m" "deletedBy=$bob"
}

row M-12 'any participant may delete a message for himself'
M_12() {
    does 1 "DELETE $c1 $m $bob"
    nowhere "HISTORY $c1 $bob" "id=$m"
}

row M-13 'what one deleted for himself the others see'
M_13() {
    does 1 "DELETE $c1 $m $bob"
    everywhere "HISTORY $c1 $alice" "id=$m" 'text="see you at 6"'
}

row M-14 'a message is addressed under its conversation'
M_14() {
    ask 1 "DELETE $c3 $m $alice"
    expect 'ERR 404 Message not found'
}

row M-15 'deleting what is not there: 404'
M_15() {
    ask 1 "DELETE $c1 nope $alice for=everyone"
    expect 'ERR 404 Message not found'
}

row M-16 'only the sender deletes for everyone'
M_16() {
    ask 1 "DELETE $c1 $m $bob for=everyone"
    expect 'ERR 403 Only the sender can delete for everyone'
    everywhere "HISTORY $c1 $bob" "id=$m" 'text="see you at 6"'
}

row M-17 'a message deleted for everyone reads [Message deleted]'
M_17() {
    does 1 "DELETE $c1 $m $alice for=everyone"
    everywhere "HISTORY $c1 $bob" "id=$m" 'text="[Message deleted]"'
}

row M-18 'and has deletedForEveryone=true'
M_18() {
    does 1 "DELETE $c1 $m $alice for=everyone"
    everywhere "HISTORY $c1 $bob" "id=$m" deletedForEveryone=true
}

row M-19 ◆ 'and its placeholder is hidden from the sender himself'
M_19() {
    everywhere "HISTORY $c1 $alice" "id=$m"
    rely does 1 "DELETE $c1 $m $alice for=everyone"
    nowhere "HISTORY $c1 $alice" "id=$m"
    everywhere "HISTORY $c1 $bob" "id=$m" 'text="[Message deleted]"'
}

row M-20 'the server checks the sender'
M_20() {
    for each in 1 2 3; do
        eventually "$each" "DELETE $c1 $m $bob for=everyone" \
            'ERR 403 Only the sender can delete for everyone'
    done
}

row M-22 'deleted for everyone: gone for the sender, a placeholder for others'
M_22() {
    does 1 "DELETE $c1 $m $alice for=everyone"
    eventually_not 3 "HISTORY $c1 $alice" "id=$m"
    eventually 2 "HISTORY $c1 $bob" "id=$m" deletedForEveryone=true
    reject 'text="see you at 6"'
}

row M-23 'a list has no message that its user deleted'
M_23() {
    does 1 "DELETE $c1 $m $bob"
    nowhere "HISTORY $c1 $bob" "id=$m"
    does 1 "PIN $c1 $m $alice"
    nowhere "PINNED $c1 $bob" "id=$m"
}

row M-25 'for the others nothing else changes, the order neither'
M_25() {
    does 1 "SEND $c1 $bob id=b two" "SEND $c1 $alice id=c three" "HISTORY $c1 $alice"
    before=$reply
    does 1 "DELETE $c1 b $bob for=everyone" "HISTORY $c1 $alice"
    expect_order id "$m b c"
    printf '%s\n' "$before" | grep ^MESSAGE >"$work/before"
    printf '%s\n' "$reply" | grep ^MESSAGE >"$work/after"
    same 'lines that differ' 1 "$(diff "$work/before" "$work/after" | grep -c '^>')"
}

row M-27 'what is hidden stays hidden over a crash'
M_27() {
    does 1 "SEND $c1 $alice id=x other" "DELETE $c1 $m $bob"
    crash 1
    restart 1
    eventually 1 "HISTORY $c1 $bob" id=x
    reject "id=$m"
}

row M-50 'two delete at once on two nodes'
M_50() {
    does 1 "SEND $c3 $alice id=x twice"
    everywhere "HISTORY $c3 $alice" id=x
    printf 'DELETE %s x %s\n' "$c3" "$bob" | nc -N 127.0.0.1 "$((ports + 101))" >"$work/one" &
    one=$!
    printf 'DELETE %s x %s\n' "$c3" "$carol" | nc -N 127.0.0.1 "$((ports + 102))" >"$work/two" &
    other=$!
    wait "$one" "$other"
    everywhere "HISTORY $c3 $alice" id=x "deletedBy=$bob,$carol"
    converge
}

row M-52 'an edited message has the time of the edit'
M_52() {
    ask 1 "HISTORY $c1 $bob"
    reject edited=
    does 1 "EDIT $c1 $m $alice see you at 7"
    everywhere "HISTORY $c1 $bob" "id=$m" edited= 'text="see you at 7"'
}

row M-53 'earlier texts can be read'
M_53() {
    does 1 "EDIT $c1 $m $alice see you at 7"
    everywhere "EDITS $c1 $m $bob" EDIT 'text="see you at 6"'
    expect EDIT 'text="see you at 7"'
}

row M-54 'only the sender edits'
M_54() {
    ask 1 "EDIT $c1 $m $bob mine"
    expect 'ERR 403 You can only edit your own messages within 15 minutes'
}

row M-55 'what one deleted for himself one does not edit'
M_55() {
    does 1 "DELETE $c1 $m $alice"
    ask 1 "EDIT $c1 $m $alice again"
    expect 'ERR 403 You can only edit your own messages within 15 minutes'
}

row M-56 ◆ 'the window for edits is strict'
M_56() {
    (
        GRAPEVINE_STATE=$work/window
        GRAPEVINE_PORTS=$((ports + 50))
        GRAPEVINE_NODE_OPTIONS='--edit-window 2s'
        export GRAPEVINE_STATE GRAPEVINE_PORTS GRAPEVINE_NODE_OPTIONS
        "$root/cluster/up" 1 >"$work/cluster" 2>&1
    ) || stop 'a node with --edit-window 2s does not start'
    # The node with the window is number 51 from here.
    does 51 "CREATE $c1 $alice,$bob" "SEND $c1 $alice id=w early"
    does 51 "EDIT $c1 w $alice in time"
    rely sleep 2.1
    ask 51 "EDIT $c1 w $alice too late"
    GRAPEVINE_STATE=$work/window "$root/cluster/down" --wipe >"$work/cluster" 2>&1 || :
    expect 'ERR 403 You can only edit your own messages within 15 minutes'
    unit RulesTests
}

row M-61 'a blank text is refused'
M_61() {
    # shellcheck disable=SC1003 # the escapes are the node's
    ask 1 "EDIT $c1 $m $alice \\n \\t" "SEND $c1 $alice \\n" "SEND $c1 $alice    "
    expect_count 3 'ERR 400 Message cannot be empty'
}

row M-62 'editing what is not there: 404'
M_62() {
    ask 1 "EDIT $c1 nope $alice x"
    expect 'ERR 404 Message not found'
}

row M-63 'the sentence of a refused edit'
M_63() {
    ask 2 "EDIT $c1 $m $bob mine"
    eventually 2 "EDIT $c1 $m $bob mine" \
        'ERR 403 You can only edit your own messages within 15 minutes'
}

row M-64 'the order of checks: 400, 404, 403'
M_64() {
    ask 1 "EDIT $c1 nope $carol \\n"
    expect 'ERR 400 Message cannot be empty'
    ask 1 "EDIT nowhere.$c1 nope $carol x"
    expect 'ERR 404 Message not found'
    ask 1 "EDIT $c1 nope $carol x"
    expect 'ERR 403 Only participants can do this'
    ask 1 "EDIT $c1 nope $bob x"
    expect 'ERR 404 Message not found'
    ask 1 "EDIT $c1 $m $bob x"
    expect 'ERR 403 You can only edit your own messages within 15 minutes'
}

row M-65 'a text is kept as it was typed'
M_65() {
    does 1 "EDIT $c1 $m $alice   x "
    everywhere "HISTORY $c1 $bob" "id=$m" 'text="  x "'
}

row M-66 'the time of an edit is the time of the server'
M_66() {
    earliest=$(date -u +%FT%T.%3NZ)
    does 1 "EDIT $c1 $m $alice see you at 7"
    latest=$(date -u +%FT%T.%3NZ)
    ask 1 "HISTORY $c1 $bob"
    edited=$(values edited)
    middle=$(printf '%s\n' "$earliest" "$edited" "$latest" | sort | sed -n 2p)
    same 'edited, between before and after' "$middle" "$edited"
}

row M-67 ◆ 'earlier texts keep their order and their repeats'
M_67() {
    does 1 "EDIT $c1 $m $alice b" "EDIT $c1 $m $alice see you at 6"
    rely does 1 "EDIT $c1 $m $alice b"
    eventually 3 "EDITS $c1 $m $bob" EDIT
    everywhere "HISTORY $c1 $bob" "id=$m" text=b
    ask 3 "EDITS $c1 $m $bob"
    same 'texts' 'see you at 6,b,see you at 6,b,' \
        "$(printf '%s\n' "$reply" | sed -n 's/.* text="*\([^"]*\)"*$/\1/p' | tr '\n' ',')"
}

row M-85 'a node logs what it does, one event a line'
M_85() {
    reply=$(cat "$state/n1.log")
    asked='the log of n1'
    expect ready name=n1
    expect info node=n1
}

row F-01 'the last, first and middle message, and several in a row, can be deleted'
F_01() {
    for each in a b c d e; do does 1 "SEND $c3 $alice id=$each text $each"; done
    for each in e a c b d; do
        does 1 "DELETE $c3 $each $alice for=everyone" "HISTORY $c3 $bob" "HISTORY $c3 $alice"
    done
    expect_count 5 deletedForEveryone=true
    ask 1 "HISTORY $c3 $alice"
    reject MESSAGE
    expect OK
}

row F-10 'a list of users and a flag for everyone, both shown'
F_10() {
    does 1 "DELETE $c1 $m $alice for=everyone"
    everywhere "HISTORY $c1 $bob" "id=$m" deletedForEveryone=true "deletedBy=$alice"
}

row F-14 'deletions outlive every node at once'
F_14() {
    does 1 "DELETE $c1 $m $alice for=everyone"
    for each in 1 2 3; do crash "$each"; done
    for each in 1 2 3; do restart "$each"; done
    everywhere "HISTORY $c1 $bob" "id=$m" 'text="[Message deleted]"'
}

row F-15 'two hundred deletions at once'
F_15() {
    ask 1 "$(for number in $(seq 200); do echo "SEND $c3 $alice id=r$number r$number"; done)"
    expect_count 200 OK id=
    ask 2 "$(for number in $(seq 200); do echo "DELETE $c3 r$number $alice"; done)"
    expect_count 200 OK
    nowhere "HISTORY $c3 $alice limit=1000" MESSAGE
}

row F-19 'deleted for me, the other still sees it'
F_19() {
    does 2 "DELETE $c1 $m $alice"
    everywhere "HISTORY $c1 $bob" "id=$m" 'text="see you at 6"'
}

row F-22 'every field of a message goes everywhere, and is cleared with the message'
F_22() {
    does 1 "SEND $c1 $alice id=x type=voice" "PIN $c1 x $bob" "DELIVERED $c1 $bob"
    everywhere "HISTORY $c1 $alice" id=x type=voice "pinnedBy=$bob" pinnedAt= \
        "deliveredTo=$bob"
    does 1 "DELETE $c1 x $alice for=everyone"
    everywhere "HISTORY $c1 $bob" id=x deletedForEveryone=true
    reject id=x pinnedBy=
    reject id=x edited=
    unit FieldsTests
}

row REAL 'deleted for everyone, a text and its earlier versions are on no disk'
REAL() {
    word=swordfish.$c1
    does 1 "SEND $c1 $alice id=x first-$word" "EDIT $c1 x $alice second-$word" \
        "EDIT $c1 x $alice third-$word"
    everywhere "HISTORY $c1 $bob" id=x "text=third-$word"
    reply=$(grep -alr -e "first-$word" "$state"/n[1-9]/ || :)
    asked='grep -a before the deletion'
    [ -n "$reply" ] || stop 'an acknowledged text is on no disk'
    rely does 2 "DELETE $c1 x $alice for=everyone"
    purged "first-$word" "second-$word" "third-$word"
}
