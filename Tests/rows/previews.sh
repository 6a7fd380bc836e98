# Sourced by Tests/rows/run: the rows about previews and about what a conversation is.
# shellcheck shell=sh disable=SC2154 # users and conversations come from the script

row P-01 'deleting one'\''s own messages never fails'
P_01() {
    ask 1 "$(for number in $(seq 1000); do echo "SEND $c3 $alice id=r$number r$number"; done)"
    expect_count 1000 OK id=
    ask 1 "$(
        for number in $(seq 1000); do echo "DELETE $c3 r$number $alice for=everyone"; done
    )"
    reject ERR
    expect_count 1000 OK
}

row P-04 'deleting for everyone is for the sender'
P_04() {
    ask 2 "DELETE $c1 $m $bob for=everyone"
    eventually 2 "DELETE $c1 $m $bob for=everyone" 'ERR 403'
    does 2 "DELETE $c1 $m $alice for=everyone"
}

row P-10 'five sends, the third and the fifth deleted'
P_10() {
    for each in 1 2 3 4 5; do does 1 "SEND $c3 $alice id=$each text $each"; done
    does 1 "DELETE $c3 3 $alice for=everyone"
    everywhere "CHATS $bob" "id=$c3" 'lastText="text 5"'
    does 1 "DELETE $c3 5 $alice for=everyone"
    everywhere "CHATS $bob" "id=$c3" 'lastText="text 4"'
}

row P-11 'the last message deleted, the preview is the one before it'
P_11() {
    does 1 "SEND $c1 $alice id=x newer"
    everywhere "CHATS $bob" "id=$c1" last=x
    does 1 "DELETE $c1 x $alice for=everyone"
    everywhere "CHATS $bob" "id=$c1" "last=$m" 'lastText="see you at 6"'
}

row P-13 'a list of chats hears of what is to be added to it'
P_13() {
    watch bobs 3 "$bob"
    does 1 "CREATE other.$c1 $alice,$bob"
    hear bobs 100 EVENT kind=member "conversation=other.$c1" "user=$bob" change=added
    watch carols 3 "$carol"
    does 1 "INVITE $c1 $alice $carol"
    hear carols 100 EVENT kind=member "conversation=$c1" "user=$carol" change=added
}

row P-14 'no message left: no last=, and "No messages yet"'
P_14() {
    does 1 "DELETE $c1 $m $alice for=everyone"
    everywhere "CHATS $bob" "id=$c1" 'lastText="No messages yet"'
    reject "id=$c1" last=
}

row P-15 'a preview has text, sender and time'
P_15() {
    everywhere "CHATS $bob" "id=$c1" "last=$m" "lastFrom=$alice" 'lastText="see you at 6"' lastAt=
}

row P-16 'the newest message is the same everywhere'
P_16() {
    isolate
    does 1 'SET ack=local' "SEND $c1 $alice id=here one side"
    does 2 'SET ack=local' "SEND $c1 $bob id=there other side"
    heal
    everywhere "CHATS $bob" "id=$c1" last=there
}

row P-17 'there is no stored preview that could be wrong'
P_17() {
    does 1 "SEND $c1 $alice id=x newer"
    everywhere "CHATS $bob" "id=$c1" last=x
    isolate
    does 1 'SET ack=local' "DELETE $c1 x $alice for=everyone"
    does 2 'SET ack=local' "EDIT $c1 x $alice newest" "EDIT $c1 $m $alice see you at 8"
    heal
    everywhere "CHATS $bob" "id=$c1" "last=$m" 'lastText="see you at 8"'
}

row P-18 'a preview is right within a second of the deletion'
P_18() {
    does 1 "SEND $c1 $alice id=x newer"
    eventually 2 "HISTORY $c1 $bob" id=x
    watch bobs 2 "$bob"
    does 1 "DELETE $c1 x $alice for=everyone"
    hear bobs 100 EVENT kind=delete "conversation=$c1" id=x for=everyone
    ask 2 "CHATS $bob"
    expect "id=$c1" "last=$m"
}

row P-19 'a chat has the time of its last message'
P_19() {
    ask 1 "HISTORY $c1 $bob"
    at=$(values at)
    ask 1 "CHATS $bob"
    expect "id=$c1" "lastAt=$at"
}

row P-20 'previews of images, voice messages and items'
P_20() {
    does 1 "SEND $c1 $alice id=i type=image"
    everywhere "CHATS $bob" "id=$c1" lastText=Photo
    does 1 "SEND $c1 $alice id=v type=voice"
    everywhere "CHATS $bob" "id=$c1" 'lastText="Voice message"'
    does 1 "SEND $c1 $alice id=a type=action item=i1 Buy milk"
    everywhere "CHATS $bob" "id=$c1" 'lastText="Buy milk"'
}

row P-21 'an older message deleted leaves the preview'
P_21() {
    does 1 "SEND $c1 $alice id=x newer" "CHATS $bob"
    before=$(printf '%s\n' "$reply" | lines "id=$c1")
    does 1 "DELETE $c1 $m $alice for=everyone" "CHATS $bob"
    same 'the line, unread= aside' "$(printf '%s\n' "$before" | sed 's/unread=[0-9]*//')" \
        "$(printf '%s\n' "$reply" | lines "id=$c1" | sed 's/unread=[0-9]*//')"
}

row P-22 'of three messages, one after the other is the last'
P_22() {
    does 1 "SEND $c1 $alice id=b second" "SEND $c1 $alice id=c third"
    does 1 "DELETE $c1 c $alice for=everyone"
    everywhere "CHATS $bob" "id=$c1" last=b lastText=second
    does 1 "DELETE $c1 b $alice for=everyone"
    everywhere "CHATS $bob" "id=$c1" "last=$m"
}

row P-24 ◆ 'deleting for me changes my preview, editing changes that of everyone'
P_24() {
    does 1 "SEND $c1 $alice id=x newer"
    rely does 1 "DELETE $c1 x $bob"
    everywhere "CHATS $bob" "id=$c1" "last=$m"
    everywhere "CHATS $alice" "id=$c1" last=x
    does 1 "EDIT $c1 x $alice newest" "EDIT $c1 $m $alice see you at 7"
    everywhere "CHATS $alice" "id=$c1" lastText=newest
    everywhere "CHATS $bob" "id=$c1" 'lastText="see you at 7"'
}

row P-25 'what a message has'
P_25() {
    everywhere "HISTORY $c1 $bob" MESSAGE "id=$m" "from=$alice" at= type=text 'text="see you at 6"'
}

row P-26 'what a conversation has'
P_26() {
    does 1 "CREATE titled.$c1 $alice,$bob title=\"two of us\""
    everywhere "CHATS $bob" CHAT "id=titled.$c1" 'title="two of us"' "participants=$alice,$bob" \
        "createdBy=$alice" createdAt= unread=0
}

row P-27 'to read, write, edit and delete are permissions of their own'
P_27() {
    ask 1 "HISTORY $c1 $carol" "SEND $c1 $carol hello" "EDIT $c1 $m $carol hello" \
        "DELETE $c1 $m $carol" "RESTORE $c1 $m $carol" "PIN $c1 $m $carol" "READ $c1 $carol"
    expect_count 7 'ERR 403 Only participants can do this'
    does 1 "HISTORY $c1 $bob" "SEND $c1 $bob hello" "DELETE $c1 $m $bob" "RESTORE $c1 $m $bob" \
        "PIN $c1 $m $bob" "READ $c1 $bob"
    ask 1 "EDIT $c1 $m $bob mine" "DELETE $c1 $m $bob for=everyone"
    expect_count 2 'ERR 403'
    does 1 "EDIT $c1 $m $alice mine" "DELETE $c1 $m $alice for=everyone"
    unit RulesTests
}

row P-84 'a node says more when asked to'
P_84() {
    crash 3
    GRAPEVINE_NODE_OPTIONS='--log debug'
    export GRAPEVINE_NODE_OPTIONS
    restart 3
    unset GRAPEVINE_NODE_OPTIONS
    does 3 "SEND $c1 $alice logged"
    reply=$(cat "$state/n3.log")
    asked='the log of n3 with --log debug'
    expect debug node=n3
    crash 3
    restart 3
}
