#!/bin/sh
# Names of files may hold anything: a terminal never gets their control characters, JSON stays JSON.
. "$SOURCE_DIR/tests/cli/lib.sh"

# Whatever is printed is text: no control character but the line feed, and nothing of a name breaks a line.
harmless() {
    for said in out err; do
        [ "$(tr -d '\n\040-\176' <$said | wc -c)" -eq 0 ] || fail "control characters in $said"
    done
}

run 0 simulate a_master.h5 --scan 4,3 --detector 16,16 --quiet
run 0 convert a_master.h5 a.qem --quiet
escape=$(printf 'x\033[31m\007')
line_feed='y
z'
c1=$(printf 'w\302\2331m') # U+009B starts a sequence as ESC [ does
latin=$(printf 'caf\351')  # not UTF-8
for name in "$escape" "$line_feed" "$c1" "$latin"; do
    run 2 inspect "$name"
    one_line
    harmless
    run 2 "$name"
    one_line
    harmless
    run 2 mean a.qem --region "$name"
    one_line
    harmless
    run 0 convert a_master.h5 "$name.qem"
    harmless
    [ "$(wc -l <out)" -eq 8 ] || fail "a name changes the number of lines"
    run 0 inspect "$name.qem"
    harmless
    run 0 verify "$name.qem"
    harmless
    run 0 frame "$name.qem" 0 0 -o "$name.npy"
    harmless
    [ "$(wc -l <out)" -eq 1 ] || fail "a name changes the number of lines"
    run 0 export "$name.qem" "${name}2.npy"
    harmless
    run 0 inspect "$name.qem" --json
    [ "$(tr -d '\n\040-\176\200-\377' <out | wc -c)" -eq 0 ] || fail "control characters in JSON"
    iconv -f UTF-8 -t UTF-8 out >/dev/null || fail "the JSON is no UTF-8"
done
printf 'ronchi: y\\x0az.qem: exists already: give --force to replace it, or another name\n' >wanted
run 2 convert a_master.h5 "$line_feed.qem"
diff wanted err || fail "the line about a name with a line feed is another one"
