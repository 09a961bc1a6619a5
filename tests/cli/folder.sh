#!/bin/sh
# convert on a folder: layout kept, copies left alone, a broken original does not stop the rest.
. "$SOURCE_DIR/tests/cli/lib.sh"

mkdir -p in/day1 in/day2/deep
sim() {
    run 0 simulate "$1" --scan 4,5 --detector 16,16 --seed "$2" --quiet
    [ ! -s out ] || fail "--quiet printed something"
}
sim in/day1/a_master.h5 1
sim in/day2/b_master.h5 2
sim in/day2/deep/c_master.h5 3
printf 'not HDF5' >in/day1/broken_master.h5

run 1 convert in copies
grep -v ' -> ' out >summary || true
cp out said
[ "$(grep -c '_master.h5 -> copies/' said)" -eq 3 ] || fail "not three lines of success"
grep -q '^3 converted, 1 failed, 0 had a copy already: ' said || fail "the summary is wrong"
one_line
err_has '^ronchi: in/day1/broken_master.h5: '
for copy in day1/a day2/b day2/deep/c; do
    run 0 verify copies/$copy.qem --against in/${copy}_master.h5
done
[ ! -e copies/day1/broken.qem ] || fail "a copy of a broken original"

# Again: nothing to do but the broken one.
run 1 convert in copies
grep -q '^0 converted, 1 failed, 3 had a copy already: ' out || fail "copies were not left alone"
rm in/day1/broken_master.h5
run 0 convert in copies
run 0 convert in copies --force --verify
grep -q '^3 converted, 0 failed, 0 had a copy already: ' out || fail "--force did not convert again"

# Without a second argument copies stand beside their originals; into a folder that is there; into one that is not.
run 0 convert in/day1
[ -e in/day1/a.qem ] || fail "no copy beside the original"
run 2 convert in/day1/a_master.h5
one_line
mkdir there
run 0 convert in/day1/a_master.h5 there
cmp -s there/a.qem in/day1/a.qem || fail "the same original gave different copies"
run 0 convert in/day1/a_master.h5 new/er/
cmp -s new/er/a.qem in/day1/a.qem || fail "the same original gave different copies"

mkdir empty
run 2 convert empty
one_line
err_has 'no \*_master.h5 in this folder or below'
run 2 convert nowhere_master.h5 x.qem
one_line
