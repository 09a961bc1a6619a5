# lib.sh - what the tests of the command share.  $RONCHI is the command.  Each test works in a fresh folder of its own.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
    echo "FAILED: $*"
    [ ! -f out ] || sed 's/^/  out: /' out
    [ ! -f err ] || sed 's/^/  err: /' err
    exit 1
}

# run CODE WORDS...: runs the command; standard output is in ./out, errors in ./err, the exit code must be CODE.
run() {
    expected=$1
    shift
    code=0
    "$RONCHI" "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$expected" ] || fail "exit code $code instead of $expected: ronchi $*"
}

# out_is / err_is: the whole of it, from standard input.
out_is() {
    cat >wanted
    diff wanted out >difference || { cat difference; fail "standard output differs from what is wanted"; }
}
err_is() {
    cat >wanted
    diff wanted err >difference || { cat difference; fail "standard error differs from what is wanted"; }
}
out_has() {
    grep -q -- "$1" out || fail "no '$1' in the output"
}
err_has() {
    grep -q -- "$1" err || fail "no '$1' in the errors"
}
# An error is one line.
one_line() {
    [ "$(wc -l <err)" -eq 1 ] || fail "the error is not one line"
    grep -q '^ronchi: ' err || fail "the error does not begin with 'ronchi: '"
}
