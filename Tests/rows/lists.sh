# Sourced by Tests/rows/run: the rows about archives, pins, marks and who may what.
# shellcheck shell=sh disable=SC2154 # users and conversations come from the script

row A-02 'several users archive one conversation'
A_02() {
    does 1 "ARCHIVE $c1 $alice" "ARCHIVE $c1 $bob"
    everywhere "CHATS $alice show=archived" "id=$c1" archived=true
    everywhere "CHATS $bob show=archived" "id=$c1" archived=true
}

row A-03 'a pinned message says by whom and when'
A_03() {
    does 1 "PIN $c1 $m $bob"
    everywhere "HISTORY $c1 $alice" "id=$m" "pinnedBy=$bob" pinnedAt=
}

row A-04 'what a chat line has'
A_04() {
    everywhere "CHATS $bob" CHAT "id=$c1" "participants=$alice,$bob" "last=$m" \
        "lastFrom=$alice" lastAt= lastText= unread=1 createdAt=
}

row A-05 ◆ 'read and delivered, by whom'
A_05() {
    does 1 "DELIVERED $c1 $bob"
    everywhere "HISTORY $c1 $alice" "id=$m" "deliveredTo=$bob"
    reject readBy=
    rely does 1 "READ $c1 $bob $m"
    everywhere "HISTORY $c1 $alice" "id=$m" "deliveredTo=$bob" "readBy=$bob"
}

row A-09 'archiving twice is archiving once'
A_09() {
    does 1 "ARCHIVE $c1 $bob" "ARCHIVE $c1 $bob"
    everywhere "CHATS $bob show=archived" "id=$c1"
}

row A-10 'archiving moves no list of others'
A_10() {
    does 1 "SEND $c3 $carol id=x newest"
    everywhere "CHATS $alice" "id=$c3" last=x
    ask 1 "CHATS $alice"
    before=$(values id)
    does 1 "ARCHIVE $c1 $bob" "CHATS $alice"
    expect_order id "$before"
}

row A-11 'unarchived, it is in the list again'
A_11() {
    does 1 "ARCHIVE $c1 $bob"
    nowhere "CHATS $bob" "id=$c1"
    does 1 "UNARCHIVE $c1 $bob"
    everywhere "CHATS $bob" "id=$c1"
    reject "id=$c1" archived=true
}

row A-12 ◆ 'archiving affects only the caller'
A_12() {
    does 1 "ARCHIVE $c1 $bob"
    sabotage does 1 "ARCHIVE $c1 $alice"
    nowhere "CHATS $bob" "id=$c1"
    everywhere "CHATS $alice" "id=$c1"
}

row A-13 'archived conversations, the latest first'
A_13() {
    does 1 "SEND $c3 $alice newer" "ARCHIVE $c1 $bob" "ARCHIVE $c3 $bob"
    everywhere "CHATS $bob show=archived" "id=$c3"
    ask 1 "CHATS $bob show=archived"
    expect_order id "$c3 $c1"
}

row A-14 'active conversations, the latest first'
A_14() {
    does 1 "SEND $c3 $alice newer" "CHATS $bob"
    expect_order id "$c3 $c1"
    does 1 "SEND $c1 $alice newest" "ARCHIVE $c3 $bob" "CHATS $bob"
    expect_order id "$c1"
    ask 1 "CHATS $bob show=all"
    expect_order id "$c1 $c3"
}

row A-15 'both lists answer at once, on a node that was just started'
A_15() {
    does 1 "ARCHIVE $c3 $bob"
    converge
    crash 2
    restart 2
    eventually 2 "CHATS $bob" "id=$c1"
    eventually 2 "CHATS $bob show=archived" "id=$c3"
    unit TermIndexTests
}

row A-16 'pinned, by the caller'
A_16() {
    does 1 "PIN $c1 $m $bob"
    everywhere "PINNED $c1 $alice" "id=$m" "pinnedBy=$bob"
}

row A-17 ◆ 'unpinned, a message has neither pinnedBy nor pinnedAt'
A_17() {
    does 1 "PIN $c1 $m $bob"
    everywhere "HISTORY $c1 $alice" "id=$m" pinnedBy=
    rely does 1 "UNPIN $c1 $m $alice"
    nowhere "HISTORY $c1 $alice" "id=$m" pinnedBy=
    nowhere "HISTORY $c1 $alice" "id=$m" pinnedAt=
    nowhere "PINNED $c1 $alice" "id=$m"
}

row A-18 'any participant pins and unpins any message'
A_18() {
    does 1 "PIN $c1 $m $bob" "UNPIN $c1 $m $bob" "PIN $c1 $m $alice" "UNPIN $c1 $m $bob"
    nowhere "PINNED $c1 $bob" "id=$m"
}

row A-19 ◆ 'who is not the sender changes the pin, and no text'
A_19() {
    who=$bob
    sabotage eval 'who=$alice'
    does 1 "PIN $c1 $m $who"
    ask 1 "EDIT $c1 $m $who mine" "DELETE $c1 $m $who for=everyone"
    expect_count 2 'ERR 403'
    everywhere "HISTORY $c1 $alice" "id=$m" 'text="see you at 6"' "pinnedBy=$bob"
    reject edited=
    unit RulesTests
}

row A-20 'pinned messages, the newest pin first'
A_20() {
    does 1 "SEND $c1 $alice id=b two" "SEND $c1 $alice id=c three"
    for each in b "$m" c; do does 1 "PIN $c1 $each $bob"; done
    everywhere "PINNED $c1 $alice" id=c
    ask 1 "PINNED $c1 $alice"
    expect_order id "c $m b"
}

row A-21 'only participants read a conversation'
A_21() {
    for each in 1 2 3; do
        eventually "$each" "HISTORY $c1 $carol" 'ERR 403 Only participants can do this'
        ask "$each" "PINNED $c1 $carol" "EDITS $c1 $m $carol"
        expect_count 2 'ERR 403 Only participants can do this'
    done
}

row A-22 'only participants change it'
A_22() {
    ask 1 "ARCHIVE $c1 $carol" "PIN $c1 $m $carol" "INVITE $c1 $carol $carol" \
        "READ $c1 $carol" "SEND $c1 $carol hello"
    expect_count 5 'ERR 403 Only participants can do this'
}

row A-33 'a pin and an archiving are seen live'
A_33() {
    eventually 3 "HISTORY $c1 $alice" "id=$m"
    watch alices 3 "$alice"
    does 1 "PIN $c1 $m $bob" "ARCHIVE $c1 $alice"
    hear alices 100 EVENT kind=pin "conversation=$c1" "by=$bob" "id=$m"
    hear alices 100 EVENT kind=archive "conversation=$c1"
    does 1 "UNPIN $c1 $m $bob" "UNARCHIVE $c1 $alice"
    hear alices 100 EVENT kind=unpin "conversation=$c1" "id=$m"
    hear alices 100 EVENT kind=unarchive "conversation=$c1"
}

row A-36 'the total of unread messages is the sum'
A_36() {
    does 1 "SEND $c3 $alice one" "SEND $c3 $carol two"
    everywhere "UNREAD $bob" UNREAD "conversation=$c3" count=2
    expect UNREAD "conversation=$c1" count=1
    expect OK total=3
}

row A-37 'two pin at once, the later holds everywhere'
A_37() {
    isolate
    does 2 'SET ack=local' "PIN $c1 $m $bob"
    does 1 'SET ack=local' "PIN $c1 $m $alice"
    heal
    everywhere "HISTORY $c1 $bob" "id=$m" "pinnedBy=$alice"
}

row A-38 ◆ 'what is deleted leaves the pinned list'
A_38() {
    does 1 "SEND $c1 $alice id=x two" "PIN $c1 $m $alice" "PIN $c1 x $alice"
    rely does 1 "DELETE $c1 $m $alice for=everyone" "DELETE $c1 x $bob"
    nowhere "PINNED $c1 $bob" MESSAGE
    everywhere "PINNED $c1 $alice" id=x
    reject "id=$m"
    ask 1 "PIN $c1 $m $bob"
    expect 'ERR 409'
}
