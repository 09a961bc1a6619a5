#!/bin/sh
# Calls that are wrong, and help: exact words, exit code 2, nothing on standard output.
. "$SOURCE_DIR/tests/cli/lib.sh"

# wrong WORDS... <<line: exit code 2, exactly that line on standard error, nothing on standard output.
wrong() {
    run 2 "$@"
    err_is
    [ ! -s out ] || fail "output beside an error"
}

wrong frobnicate <<E
ronchi: unknown command frobnicate; see ronchi --help
E
wrong imge x <<E
ronchi: unknown command imge (did you mean image?); see ronchi --help
E
wrong image x --scan-shap 3,3 <<E
ronchi: unknown option --scan-shap (did you mean --scan-shape?); see ronchi image --help
E
wrong image x --zzzzzzzz <<E
ronchi: unknown option --zzzzzzzz; see ronchi image --help
E
wrong com x -x <<E
ronchi: unknown option -x; see ronchi com --help
E
wrong inspect <<E
ronchi: something is missing: ronchi inspect PATH [--json]; see ronchi inspect --help
E
wrong frame x 1 2 3 <<E
ronchi: one argument too many: 3; see ronchi frame --help
E
wrong com x -o <<E
ronchi: -o needs a value: FILE; see ronchi com --help
E
wrong inspect x --json=1 <<E
ronchi: --json takes no value, not '1'; see ronchi inspect --help
E
for bad in 60 60,10 a,b 1,2,3 -1,5 nan,1 0x10,20 '1, 2'; do
    wrong image x --adf "$bad" <<E
ronchi: --adf '$bad': must be IN,OUT (numbers, 0 <= IN <= OUT); see ronchi image --help
E
done
for bad in 3Q 1.5G -1M M 20000000T '' ' 1M'; do
    wrong inspect x --budget "$bad" <<E
ronchi: --budget '$bad': must be SIZE (a whole number with K, M, G or T, such as 256M); see ronchi inspect --help
E
done
for bad in -3 3.0 1e3 99999999999999999999 0x10 +1; do
    wrong inspect x --threads "$bad" <<E
ronchi: --threads '$bad': must be N (a whole number from 0); see ronchi inspect --help
E
done
for bad in 3:3,4:5 5:4,0:1 1,2 0:1 a:b,0:1 0:1,0:1,0:1; do
    wrong mean x --region "$bad" <<E
ronchi: --region '$bad': must be R0:R1,C0:C1 (whole numbers, R0 < R1 and C0 < C1); see ronchi mean --help
E
done
wrong inspect x --flagged drop <<E
ronchi: --flagged 'drop': must be keep|zero|median (one of these); see ronchi inspect --help
E
wrong image x --bf --center 3 -o a.npy <<E
ronchi: --center '3': must be R,C (two numbers); see ronchi image --help
E
wrong inspect x --threads 0 <<E
ronchi: --threads must be 1 or more
E
wrong image x -o a.npy <<E
ronchi: say which image: --bf, --adf IN,OUT, --df IN or --mask M.npy; see ronchi image --help
E
wrong image x --bf --adf 1,inf -o a.npy <<E
ronchi: 2 images, 1 times -o: give one for each image, in the same order
E
wrong image x --bf <<E
ronchi: say where to: -o NAME.npy, NAME.tiff or NAME.png; see ronchi image --help
E
wrong image x --bf -o a.jpg <<E
ronchi: a.jpg: the name of an output must end in .npy, .tiff or .png
E
wrong frame x one 2 -o a.npy <<E
ronchi: one 2: scan row and column must be whole numbers from 0
E
wrong simulate a.h5 <<E
ronchi: a.h5: the name must end in _master.h5
E
wrong convert x y.h5 <<E
ronchi: y.h5: must end in .qem, or be a folder
E
wrong export x y.h5 <<E
ronchi: y.h5: the name of an export must end in .npy or _master.h5
E
wrong verify x.h5 <<E
ronchi: x.h5: verify checks .qem files: ronchi inspect looks at originals
E
touch there.npy
wrong image x --bf -o there.npy <<E
ronchi: there.npy: exists already: give --force to replace it, or another name
E

# Help goes to standard output with exit code 0; without any word it is a wrong call.
run 2
[ ! -s out ] || fail "output for a wrong call"
cp err plain
run 0 --help
cmp -s out plain || fail "ronchi and ronchi --help differ"
run 0 help
cmp -s out plain || fail "ronchi help and ronchi --help differ"
names=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' plain)
[ "$(echo $names)" = "inspect convert verify frame image mean com dpc parallax rotate export simulate bench version" ] || fail "commands: $names"
for name in $names; do
    [ "$name" != version ] || continue
    run 0 "$name" --help
    cp out "help-$name"
    out_has "^Example:"
    out_has "  ronchi $name "
    out_has "  -h, --help "
    run 0 help "$name"
    cmp -s out "help-$name" || fail "help $name and $name --help differ"
    if awk 'length > 124' out | grep .; then fail "lines too long for a terminal"; fi
done

run 0 version
cp out plain
run 0 --version
cmp -s out plain || fail "version and --version differ"

# Standard output that cannot be written is an error, not silence.
if [ -w /dev/full ]; then
    code=0
    "$RONCHI" --help >/dev/full 2>err || code=$?
    [ $code -eq 3 ] || fail "a full disk gives exit code $code"
    one_line
fi
