# Sourced by Tests/rows/run: the rows about profiles, items, lists of one's own, and who is in.
# shellcheck shell=sh disable=SC2154 # users and conversations come from the script

row R-02 'profiles: name, e-mail, photo, and since when'
R_02() {
    does 1 "PROFILE $alice name=\"Alice A.\" email=alice@example.org photo=p1"
    everywhere "PROFILE $alice" PROFILE "user=$alice" 'name="Alice A."' email=alice@example.org \
        photo=p1 createdAt=
    does 2 "PROFILE $alice photo=p2"
    everywhere "PROFILE $alice" 'name="Alice A."' photo=p2
    ask 1 "PROFILE $carol"
    expect 'ERR 404'
}

row R-03 'action items: made, done, undone'
R_03() {
    does 1 "ACTION ADD $alice id=i.$c1 Buy milk"
    everywhere "ACTIONS $alice" ACTION "id=i.$c1" 'title="Buy milk"'
    reject done=true
    does 2 "ACTION DONE $alice i.$c1"
    everywhere "ACTIONS $alice" "id=i.$c1" done=true
    does 3 "ACTION UNDONE $alice i.$c1"
    nowhere "ACTIONS $alice" done=true
}

row R-04 'unread messages are counted'
R_04() {
    does 1 "SEND $c1 $alice two" "SEND $c1 $bob mine"
    everywhere "UNREAD $bob" "conversation=$c1" count=2
    expect OK total=2
    everywhere "CHATS $bob" "id=$c1" unread=2
}

row R-05 ◆ 'five types of message'
R_05() {
    does 1 "SEND $c1 $alice id=1 type=text t" "SEND $c1 $alice id=2 type=image" \
        "SEND $c1 $alice id=3 type=voice" "SEND $c1 $alice id=4 type=system joined"
    rely does 1 "SEND $c1 $alice id=5 type=action item=i1 do it"
    everywhere "HISTORY $c1 $bob" id=4
    expect id=1 type=text
    expect id=2 type=image
    expect id=3 type=voice
    expect id=4 type=system
    everywhere "HISTORY $c1 $bob" id=5 type=action item=i1
    ask 1 "SEND $c1 $alice type=video v"
    expect 'ERR 400'
}

row R-06 'chats, messages and items can be deleted'
R_06() {
    does 1 "ACTION ADD $alice id=i.$c1 Buy milk" "ACTION DELETE $alice i.$c1" \
        "DELETE $c1 $m $alice for=everyone" "HIDECHAT $c1 $alice"
    nowhere "ACTIONS $alice" ACTION
    nowhere "CHATS $alice show=all" "id=$c1"
}

row R-07 'a chat in one'\''s list: title, last message, unread, participants'
R_07() {
    does 1 "CREATE t.$c1 $alice,$bob title=Lunch" "SEND t.$c1 $alice id=x soup"
    everywhere "CHATS $bob" "id=t.$c1" title=Lunch last=x lastText=soup lastAt= unread=1 \
        "participants=$alice,$bob"
}

row R-08 ◆ 'an item has title, done, due, priority and chat'
R_08() {
    does 1 "ACTION ADD $alice id=i.$c1 chat=$c1 due=2027-01-02T03:04:05Z priority=high Buy milk" \
        "ACTION DONE $alice i.$c1"
    sabotage does 1 "ACTION EDIT $alice i.$c1 due="
    everywhere "ACTIONS $alice" ACTION "id=i.$c1" done=true due=2027-01-02T03:04:05.000Z \
        priority=high "chat=$c1" 'title="Buy milk"'
}

row R-09 'a chat says when and by whom it was made'
R_09() {
    everywhere "CHATS $bob" "id=$c1" "participants=$alice,$bob" "createdBy=$alice" createdAt=
}

row R-10 'a message: sender, text, time, type, who read it, its item'
R_10() {
    does 1 "SEND $c1 $alice id=x type=action item=i1 do it" "READ $c1 $bob"
    everywhere "HISTORY $c1 $alice" id=x "from=$alice" at= type=action 'text="do it"' item=i1 \
        "readBy=$bob"
}

row R-15 'an item is made from a message'
R_15() {
    does 1 "ACTION ADD $bob id=i.$c1 chat=$c1 message=$m see you at 6"
    everywhere "ACTIONS $bob" "id=i.$c1" "chat=$c1" "message=$m" 'title="see you at 6"'
}

row R-16 'message and item are linked both ways'
R_16() {
    does 1 "ACTION ADD $alice id=i.$c1 chat=$c1 message=x Buy milk" \
        "SEND $c1 $alice id=x type=action item=i.$c1 Buy milk"
    everywhere "ACTIONS $alice" "id=i.$c1" "chat=$c1" message=x
    everywhere "HISTORY $c1 $bob" id=x "item=i.$c1"
}

row R-17 'done and undone at once: the later holds'
R_17() {
    does 1 "ACTION ADD $alice id=i.$c1 Buy milk"
    everywhere "ACTIONS $alice" "id=i.$c1"
    isolate
    does 1 'SET ack=local' "ACTION DONE $alice i.$c1"
    does 2 'SET ack=local' "ACTION DONE $alice i.$c1" "ACTION UNDONE $alice i.$c1"
    heal
    nowhere "ACTIONS $alice" done=true
    everywhere "ACTIONS $alice" "id=i.$c1"
}

row R-18 'a deleted item stays deleted, whatever happens to it elsewhere'
R_18() {
    does 1 "ACTION ADD $alice id=i.$c1 Buy milk"
    everywhere "ACTIONS $alice" "id=i.$c1"
    isolate
    does 1 'SET ack=local' "ACTION DELETE $alice i.$c1"
    does 2 'SET ack=local' "ACTION DONE $alice i.$c1" \
        "ACTION EDIT $alice i.$c1 title=\"Buy tea\""
    heal
    nowhere "ACTIONS $alice" ACTION
    ask 1 "ACTION DONE $alice i.$c1"
    expect 'ERR 404'
}

row R-19 'an item can stand alone'
R_19() {
    does 1 "ACTION ADD $alice id=i.$c1 Buy milk"
    everywhere "ACTIONS $alice" "id=i.$c1" 'title="Buy milk"'
    reject chat=
    reject message=
}

row R-20 ◆ 'a chat deleted is gone from one'\''s own list; the others keep it'
R_20() {
    rely does 1 "HIDECHAT $c1 $bob"
    sabotage does 1 "LEAVECHAT $c1 $bob"
    nowhere "CHATS $bob show=all" "id=$c1"
    nowhere "UNREAD $bob" "conversation=$c1"
    everywhere "CHATS $alice" "id=$c1" "last=$m" "participants=$alice,$bob"
    does 1 "SEND $c1 $alice id=x back again"
    everywhere "CHATS $bob" "id=$c1" last=x unread=1
    ask 1 "HISTORY $c1 $bob"
    expect_order id x
}

row R-21 'one'\''s own message is deleted for all, and from every disk'
R_21() {
    does 1 "SEND $c1 $alice id=x sturgeon.$c1"
    everywhere "HISTORY $c1 $bob" id=x
    does 1 "DELETE $c1 x $alice for=everyone"
    nowhere "HISTORY $c1 $bob" "text=sturgeon.$c1"
    purged "sturgeon.$c1"
}

row R-22 ◆ 'sample data: two profiles, two chats, three items; a second time adds nothing'
R_22() {
    does 1 SEED
    does 2 SEED
    everywhere 'PROFILE alice' user=alice
    everywhere 'PROFILE bob' user=bob
    sabotage does 1 "CREATE more.$c1 alice,bob" "SEND more.$c1 alice one" "SEND more.$c1 bob two"
    converge
    ask 3 'CHATS alice show=all'
    expect_count 2 CHAT
    chats=$(values id)
    ask 3 'ACTIONS alice' 'ACTIONS bob'
    expect_count 3 ACTION
    expect_count 2 ACTION chat=
    for chat in $chats; do
        ask 3 "HISTORY $chat alice"
        expect MESSAGE from=alice
        expect MESSAGE from=bob
    done
    note '2 profiles, 2 chats of both, 3 items (2 of a chat)'
}

row R-24 'a chat is in the list of each participant'
R_24() {
    for user in "$alice" "$bob" "$carol"; do everywhere "CHATS $user" "id=$c3"; done
}

row R-26 'everybody reads profiles, and who shares a conversation is told'
R_26() {
    does 1 "PROFILE $alice name=Alice"
    watch carols 3 "$carol"
    watch strangers 3 "stranger.$c1"
    everywhere "PROFILE $alice" name=Alice
    does 1 "PROFILE $alice name=Alicia"
    hear carols 100 EVENT kind=profile "user=$alice" name=Alicia
    does 1 "PROFILE stranger.$c1 name=Me"
    hear strangers 100 EVENT kind=profile "user=stranger.$c1"
    unheard strangers "user=$alice"
}

row R-28 'only one'\''s own messages can be deleted for all'
R_28() {
    ask 3 "DELETE $c1 $m $bob for=everyone"
    eventually 3 "DELETE $c1 $m $bob for=everyone" \
        'ERR 403 Only the sender can delete for everyone'
}

row R-29 ◆ 'who is no participant has no access'
R_29() {
    sabotage does 1 "INVITE $c1 $alice $carol"
    for each in 1 2 3; do
        eventually "$each" "HISTORY $c1 $carol" 'ERR 403 Only participants can do this'
    done
    nowhere "CHATS $carol" "id=$c1"
    does 1 "LEAVECHAT $c1 $bob"
    for each in 1 2 3; do
        eventually "$each" "HISTORY $c1 $bob" 'ERR 403 Only participants can do this'
    done
}

row R-36 'name and picture of a sender can be looked up'
R_36() {
    does 1 "PROFILE $alice name=Alice photo=p1"
    eventually 2 "HISTORY $c1 $bob" "id=$m"
    sender=$(values from)
    eventually 2 "PROFILE $sender" name=Alice photo=p1
}

row R-37 'due time, priority and title of an item can be changed'
R_37() {
    does 1 "ACTION ADD $alice id=i.$c1 Buy milk"
    does 2 "ACTION EDIT $alice i.$c1 due=2027-01-02T03:04:05+01:00 priority=low title=\"Buy tea\""
    everywhere "ACTIONS $alice" "id=i.$c1" due=2027-01-02T02:04:05.000Z priority=low \
        'title="Buy tea"'
    does 3 "ACTION EDIT $alice i.$c1 due="
    nowhere "ACTIONS $alice" due=
    does 1 "ACTION ADD $bob id=j.$c1 chat=$c1 mine"
    ask 1 "ACTION DONE $alice j.$c1"
    expect 'ERR 403'
}

row R-40 'what is read is unread no more'
R_40() {
    does 1 "SEND $c1 $alice id=x two"
    everywhere "UNREAD $bob" OK total=2
    does 1 "READ $c1 $bob $m"
    everywhere "UNREAD $bob" OK total=1
    does 1 "READ $c1 $bob"
    everywhere "UNREAD $bob" OK total=0
}
