# Sourced by Tests/rows/run: the rows about what is seen live, typing and notifications.
# shellcheck shell=sh disable=SC2154 # users and conversations come from the script

row M-21 'a deletion is seen live'
M_21() {
    eventually 3 "HISTORY $c1 $bob" "id=$m"
    watch bobs 3 "$bob"
    does 1 "DELETE $c1 $m $alice for=everyone"
    hear bobs 100 EVENT kind=delete "conversation=$c1" "by=$alice" "id=$m" for=everyone token=
}

row M-76 'an edit is seen live'
M_76() {
    eventually 2 "HISTORY $c1 $bob" "id=$m"
    watch bobs 2 "$bob"
    does 1 "EDIT $c1 $m $alice see you at 7"
    hear bobs 100 EVENT kind=edit "conversation=$c1" "id=$m" 'text="see you at 7"' edited=
}

row P-03 'others see a deletion live; one for me only I do'
P_03() {
    eventually 3 "HISTORY $c1 $bob" "id=$m"
    watch bobs 3 "$bob"
    watch alices 2 "$alice"
    does 1 "DELETE $c1 $m $bob" "SEND $c1 $bob id=x after"
    hear bobs 100 EVENT kind=delete "id=$m" for=me
    hear alices 100 EVENT kind=message id=x
    unheard alices kind=delete
}

row P-51 ◆ 'typing ends with its connection, and with its node'
P_51() {
    eventually 2 "HISTORY $c1 $bob" "id=$m"
    eventually 3 "HISTORY $c1 $bob" "id=$m"
    watch bobs 2 "$bob"
    talk alices 1
    say alices "TYPING $c1 $alice on"
    hear bobs 100 EVENT kind=typing "conversation=$c1" "by=$alice" on=true
    rely hang_up alices
    hear bobs 100 EVENT kind=typing "conversation=$c1" "by=$alice" on=false
    watch others 2 "$bob"
    talk alices 3
    say alices "TYPING $c1 $alice on"
    hear others 100 EVENT kind=typing "by=$alice" on=true
    crash 3
    hear others 600 EVENT kind=typing "by=$alice" on=false
    restart 3
}

row P-55 'typing is right after many changes'
P_55() {
    eventually 2 "HISTORY $c1 $bob" "id=$m"
    watch bobs 2 "$bob"
    talk alices 1
    for each in $(seq 50); do echo "TYPING $c1 $alice on
TYPING $c1 $alice off"; done >"$work/typing"
    echo "SEND $c1 $alice id=x said" >>"$work/typing"
    cat "$work/typing" >"$work/alices.said"
    hear bobs 300 EVENT kind=message id=x
    hear bobs 100 EVENT kind=typing on=false
    reply=$(lines EVENT kind=typing <"$work/bobs.heard" | tail -n 1)
    asked='the last typing event'
    expect on=false
}

row P-56 'typing on and off, for participants'
P_56() {
    watch bobs 1 "$bob"
    talk alices 1
    say alices "TYPING $c1 $alice on"
    hear bobs 100 EVENT kind=typing "by=$alice" on=true
    say alices "TYPING $c1 $alice off"
    hear bobs 100 EVENT kind=typing "by=$alice" on=false
    ask 1 "TYPING $c1 $carol on"
    expect 'ERR 403 Only participants can do this'
}

# devices USER DEVICE…: each is added on n1.
devices() {
    user=$1
    shift
    for device; do does 1 "DEVICE ADD $user $device token=token-of-$device"; done
}

row P-57 'a message notifies all but its sender'
P_57() {
    devices "$alice" phone
    devices "$bob" phone
    devices "$carol" phone
    does 1 "SEND $c3 $alice id=x hello"
    everywhere "NOTIFICATIONS $bob phone" NOTIFICATION kind=message "conversation=$c3" message=x \
        "from=$alice" text=hello
    everywhere "NOTIFICATIONS $carol phone" NOTIFICATION kind=message message=x
    ask 1 "NOTIFICATIONS $alice phone"
    reject NOTIFICATION
    expect OK
}

row P-58 'not the device that is viewing that conversation'
P_58() {
    devices "$bob" phone
    does 1 "VIEWING $bob phone $c3" "SEND $c3 $alice id=x hello" "SEND $c1 $alice id=y hello"
    everywhere "NOTIFICATIONS $bob phone" message=y
    reject message=x
}

row P-59 'a device that views another conversation is notified'
P_59() {
    devices "$bob" phone
    does 1 "VIEWING $bob phone $c1" "SEND $c3 $alice id=x hello"
    everywhere "NOTIFICATIONS $bob phone" message=x
}

row P-60 'a device that views nothing is notified'
P_60() {
    devices "$bob" phone
    does 1 "VIEWING $bob phone $c3" "VIEWING $bob phone" "SEND $c3 $alice id=x hello"
    everywhere "NOTIFICATIONS $bob phone" message=x
}

row P-62 ◆ 'each device on its own'
P_62() {
    devices "$bob" phone tablet
    does 1 "VIEWING $bob phone $c3"
    sabotage does 1 "VIEWING $bob tablet $c3"
    does 1 "SEND $c3 $alice id=x hello"
    everywhere "NOTIFICATIONS $bob tablet" message=x
    nowhere "NOTIFICATIONS $bob phone" message=x
}

row P-63 'a device is added and removed'
P_63() {
    devices "$bob" phone tablet
    does 1 "DEVICE REMOVE $bob phone" "SEND $c1 $alice id=x hello"
    everywhere "NOTIFICATIONS $bob tablet" message=x
    nowhere_notified "$bob" phone
}

# nowhere_notified USER DEVICE: no notification, whether that is an answer or not.
nowhere_notified() {
    for each in 1 2 3; do
        ask "$each" "NOTIFICATIONS $1 $2"
        reject NOTIFICATION
    done
    note "nothing for $2"
}

row P-64 'what one node was told of a device, the others know'
P_64() {
    devices "$bob" phone
    eventually 2 "NOTIFICATIONS $bob phone" OK
    does 2 "SEND $c1 $alice id=x hello"
    eventually 3 "NOTIFICATIONS $bob phone" message=x
}

row P-65 'a token is replaced, and nothing is notified twice'
P_65() {
    devices "$bob" phone
    does 1 "SEND $c1 $alice id=x hello" "DEVICE ADD $bob phone token=another"
    everywhere "NOTIFICATIONS $bob phone" message=x
    expect_count 1 NOTIFICATION
    id=$(values id)
    does 2 "NOTIFIED $bob phone $id" "NOTIFIED $bob phone nothing"
    nowhere "NOTIFICATIONS $bob phone" NOTIFICATION
}

row P-67 ◆ 'a message notifies though its node dies right after its OK'
P_67() {
    devices "$bob" phone
    does 1 "SEND $c1 $alice id=x hello"
    crash 1
    sabotage does 2 "DELETE $c1 x $alice for=everyone"
    eventually 2 "NOTIFICATIONS $bob phone" kind=message message=x
    eventually 3 "NOTIFICATIONS $bob phone" kind=message message=x
    expect_count 1 message=x
    restart 1
}

row P-70 'the four cases of viewing'
P_70() {
    devices "$bob" here there idle gone
    does 1 "VIEWING $bob here $c3" "VIEWING $bob there $c1" "VIEWING $bob gone $c3" \
        "VIEWING $bob gone" "SEND $c3 $alice id=x hello"
    for device in there idle gone; do everywhere "NOTIFICATIONS $bob $device" message=x; done
    nowhere "NOTIFICATIONS $bob here" message=x
}

row P-78 'a watch goes on at another node, with nothing missing'
P_78() {
    eventually 2 "HISTORY $c1 $bob" "id=$m"
    watch before 2 "$bob"
    for number in $(seq 20); do does 1 "SEND $c1 $alice id=w$number number $number"; done
    hear before "$patience" EVENT kind=message id=w1
    crash 2
    for number in $(seq 21 40); do does 1 "SEND $c1 $alice id=w$number number $number"; done
    does 1 "DELETE $c1 w40 $alice for=everyone"
    token=$(sed -n 's/.* token=\([^ ]*\).*/\1/p' "$work/before.heard" | tail -n 1)
    watch after 3 "$bob" "since=$token"
    hear after "$patience" EVENT id=w39
    hear after "$patience" EVENT kind=delete id=w40
    for number in $(seq 39); do
        reply=$(cat "$work/before.heard" "$work/after.heard")
        asked='both watches'
        expect EVENT kind=message "id=w$number"
    done
    note 'each of 40 messages, and a deletion, on one of two watches'
    restart 2
}

row SINCE 'a session goes forward only: TOKEN on one node, SINCE on another'
SINCE() {
    ask 1 "SEND $c1 $alice id=x newest" TOKEN
    token=$(answered token)
    [ -n "$token" ] || stop 'TOKEN gives no token'
    ask 3 "SINCE $token" "HISTORY $c1 $bob"
    expect id=x
    reject ERR
    isolate
    ask 2 'SET ack=local' "SEND $c1 $alice id=y newer" TOKEN
    token=$(answered token)
    ask 1 "SINCE $token"
    expect 'ERR 503'
    heal
    does 1 "SINCE $token" "HISTORY $c1 $bob"
    expect id=y
}

row R-01 'from the OK of a send to the line of a watcher elsewhere: p99 within 50 ms'
R_01() {
    eventually 3 "HISTORY $c1 $bob" "id=$m"
    watch bobs 3 "$bob"
    late=0
    for number in $(seq 100); do
        does 1 "SEND $c1 $alice id=s$number number $number"
        began=$(clock)
        until grep -q " id=s$number " "$work/bobs.heard"; do
            [ "$(clock)" -lt "$((began + 100))" ] || stop "no event of s$number within 1 s"
        done
        if [ "$(($(clock) - began))" -gt 5 ]; then late=$((late + 1)); fi
    done
    [ "$late" -le 1 ] || stop "$late of 100 came later than 50 ms"
    note "$late of 100 sends later than 50 ms"
}

row CHAT 'grapevine chat: its node dies, nothing typed and nothing said to it is lost'
CHAT() {
    rm -f "$work/typed"
    mkfifo "$work/typed"
    "${GRAPEVINE_BIN:-$root/.build/release/grapevine}" chat --user "$bob" \
        --node "127.0.0.1:$((ports + 102))" <>"$work/typed" >"$work/client.heard" 2>&1 &
    client=$!
    echo "$client" >>"$work/talkers"
    eventually 2 "HISTORY $c1 $bob" "id=$m"
    echo "/open $c1" >"$work/typed"
    hear client "$patience" "$alice:" 'see you at 6'
    does 1 "SEND $c1 $alice id=x before the kill"
    hear client "$patience" 'before the kill'
    crash 2
    echo 'typed while there is no node' >"$work/typed"
    does 1 "SEND $c1 $alice id=y after the kill" "DELETE $c1 x $alice for=everyone"
    hear client 1000 'after the kill'
    everywhere_else "HISTORY $c1 $alice" "from=$bob" 'text="typed while there is no node"'
    hear client "$patience" "$alice deleted 2"
    echo /quit >"$work/typed"
    status=0
    wait "$client" || status=$?
    restart 2
    same 'the exit status of the client' 0 "$status"
}

# everywhere_else LINE WORD…: eventually on n1 and n3.
everywhere_else() {
    for copy in 1 3; do eventually "$copy" "$@"; done
}
