#!/bin/sh
# What a call reads is never what it replaces; options that a .qem cannot follow are refused; damage is not copied.
. "$SOURCE_DIR/tests/cli/lib.sh"

run 0 simulate a_master.h5 --scan 12,10 --detector 16,16 --dtype uint32 --flagged-pixels 2 --companion --quiet
run 0 convert a_master.h5 a.qem --quiet
run 0 export a.qem a.npy --quiet
run 0 image a.qem --adf 0,3 --center 8,8 -o image.npy --quiet
run 0 frame a.qem 0 0 -o mask.npy --masked --quiet
cat a_master.h5 a_data_000001.h5 a.h5 a.qem a.npy image.npy mask.npy | sha256sum >before

# refused WORDS...: exit code 2, one line that says so.
refused() {
    run 2 "$@"
    one_line
    err_has 'never replaced'
}
ln -s a.npy linked.npy
refused frame a.npy 0 0 -o a.npy --force
refused frame a.npy 0 0 -o linked.npy --force
refused mean a.npy -o other.npy -o ./a.npy --force
refused image a.qem --mask mask.npy -o mask.npy --force
refused mean a.qem --select image.npy -o image.npy --force
refused export a.npy a.npy --force
refused convert a.qem a.qem --force
refused export a_master.h5 a_master.h5 --force
refused export a_data_000001.h5 a_master.h5 --scan-shape 12,10 --force
cat a_master.h5 a_data_000001.h5 a.h5 a.qem a.npy image.npy mask.npy | sha256sum >after
cmp -s before after || fail "a refused call changed what it reads"

# Files of the same names elsewhere are other files.
mkdir elsewhere
run 0 export a_master.h5 elsewhere/a_master.h5 --quiet
run 0 export a_master.h5 elsewhere/a_master.h5 --force --quiet

# An option that would change nothing is refused instead of left out of account.
for option in '--scan-shape 10,12' '--flyback 1' '--flyback-at end' '--skip 3' '--dataset /x' '--channel c' \
    '--flagged zero'; do
    for words in 'inspect a.qem' 'frame a.qem 0 0 -o no.npy' 'convert a.qem no.qem' 'export a.qem no.npy'; do
        run 2 $words $option
        one_line
        err_has 'is for originals'
    done
done
run 0 verify a.qem --against a_master.h5 --scan-shape 12,10
run 0 convert a_master.h5 b.qem --scan-shape 12,10 --flagged zero --verify
run 2 inspect a_master.h5 --scan-shape 0,0
run 2 inspect a_master.h5 --semiangle-mrad 0

# What can hold no acquisition is named as what it is, and never waited for.
mkfifo pipe.qem
for words in 'inspect pipe.qem' 'frame pipe.qem 0 0 -o no.npy' 'verify a.qem --against pipe.qem'; do
    run 1 $words
    one_line
    err_has 'pipe.qem: .*a device or pipe, not a regular file'
done
: >empty.npy
run 1 inspect empty.npy
err_is <<L
ronchi: empty.npy: is empty: copy it again from the original (byte 0)
L

# A copy of a copy can be verified.
run 0 convert a.qem c.qem --verify
out_has 'every count of the copy equals'
run 0 verify c.qem --against a_master.h5
run 1 verify b.qem --against a_master.h5
one_line
err_has '^ronchi: b.qem: differs from a_master.h5: 240 values differ, the first at scan (0, 0), detector '

# A damaged .qem with digests that are right is not laundered into one without a trace of it.
[ -n "${RONCHI_TEST_DATA:-}" ] || exit 0
for bad in "$RONCHI_TEST_DATA"/qem/bad_*.qem; do
    run 1 convert "$bad" laundered.qem
    one_line
    [ ! -e laundered.qem ] || fail "a copy of $bad"
done
