/* SPDX-License-Identifier: MIT */
/* numbers.c - numbers from the command line, strictly: all of the text or nothing; and what a mistyped word meant. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool cli_number_count(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0;
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *out = value;
    return true;
}

bool cli_number_bytes(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    unsigned shift = 0;
    if (*unit && strcmp(unit, "B") != 0) {
        const char *found = strchr("KMGT", toupper((unsigned char)*unit));
        if (!found || (unit[1] && strcmp(unit + 1, "iB") != 0))
            return false;
        shift = 10 * (unsigned)(found - "KMGT" + 1);
    }
    uint64_t value;
    if (!cli_number_count(text, digits, &value) || value > (UINT64_MAX >> shift))
        return false;
    *out = value << shift;
    return true;
}

bool cli_number_real(const char *text, size_t length, bool infinity_too, double *out)
{
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (infinity_too && strcmp(copy, "inf") == 0) {
        *out = INFINITY;
        return true;
    }
    /* strtod() also takes blanks, hexadecimal, "nan" and "infinity": none of them is meant by anybody here. */
    if (strspn(copy, "0123456789.eE+-") != length)
        return false;
    errno = 0;
    double value = strtod(copy, &end);
    if (*end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

/* Where the only comma of 'text' is, or NULL. */
static const char *comma(const char *text)
{
    const char *at = strchr(text, ',');
    return at && !strchr(at + 1, ',') ? at : NULL;
}

bool cli_number_counts(const char *text, uint64_t out[2])
{
    const char *at = comma(text);
    uint64_t value[2];
    if (!at || !cli_number_count(text, (size_t)(at - text), &value[0]) ||
        !cli_number_count(at + 1, strlen(at + 1), &value[1]))
        return false;
    memcpy(out, value, sizeof value);
    return true;
}

bool cli_number_reals(const char *text, bool one_will_do, bool infinity_too, double out[2])
{
    const char *at = comma(text);
    double value[2];
    if (!at && one_will_do && cli_number_real(text, strlen(text), false, &value[0])) {
        value[1] = value[0];
    } else if (!at || !cli_number_real(text, (size_t)(at - text), false, &value[0]) ||
               !cli_number_real(at + 1, strlen(at + 1), infinity_too, &value[1])) {
        return false;
    }
    memcpy(out, value, sizeof value);
    return true;
}

/* "R0:R1", either may be left out. */
static bool range(const char *text, size_t length, uint64_t *first, uint64_t *end)
{
    const char *colon = memchr(text, ':', length);
    if (!colon)
        return false;
    size_t left = (size_t)(colon - text), right = length - left - 1;
    *first = 0;
    *end = UINT64_MAX;
    return (left == 0 || cli_number_count(text, left, first)) &&
           (right == 0 || cli_number_count(colon + 1, right, end)) && *first < *end;
}

bool cli_number_region(const char *text, uint64_t out[4])
{
    const char *at = comma(text);
    uint64_t value[4];
    if (!at || !range(text, (size_t)(at - text), &value[0], &value[1]) ||
        !range(at + 1, strlen(at + 1), &value[2], &value[3]))
        return false;
    memcpy(out, value, sizeof value);
    return true;
}

/* Letters to insert, remove, exchange or swap to turn one word into the other; words are short. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t n = strlen(a), m = strlen(b);
    size_t cost[3][LONGEST + 1]; /* rows i, i - 1, i - 2, each by i modulo 3 */
    if (n > LONGEST || m > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            size_t best = i ? j ? SIZE_MAX : i : j;
            if (i && j) {
                best = cost[(i - 1) % 3][j - 1] + (a[i - 1] != b[j - 1]);
                size_t removed = cost[(i - 1) % 3][j] + 1, inserted = cost[i % 3][j - 1] + 1;
                best = removed < best ? removed : best;
                best = inserted < best ? inserted : best;
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                    cost[(i - 2) % 3][j - 2] + 1 < best)
                    best = cost[(i - 2) % 3][j - 2] + 1;
            }
            cost[i % 3][j] = best;
        }
    }
    return cost[n % 3][m];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 3 + 2; /* further away it is another word, not a slip */
    for (size_t i = 0; i < n; i++) {
        size_t d = strncmp(names[i], word, strlen(word)) == 0 ? 1 : distance(word, names[i]);
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}
