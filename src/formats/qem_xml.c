/* SPDX-License-Identifier: MIT */
/*
 * qem_xml.c - is a text well-formed XML 1.0?  Only that: nothing is kept.  Documents with a document type are refused
 * by the caller, so only the five predefined entities and character references can occur.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/qem_internal.h"

enum { MAX_DEPTH = 1000, MAX_ATTRIBUTES = 256 };

typedef struct scanner {
    const char *text;
    size_t size, at;
    const char *wrong;
    size_t depth;
    size_t names[MAX_DEPTH], lengths[MAX_DEPTH];                          /* open elements: where their names stand */
    size_t attributes[MAX_ATTRIBUTES], attribute_lengths[MAX_ATTRIBUTES]; /* of the tag being read */
} scanner;

static bool bad(scanner *s, const char *wrong)
{
    if (!s->wrong)
        s->wrong = wrong;
    return false;
}

static int peek(const scanner *s, size_t ahead)
{
    return s->size - s->at > ahead ? (unsigned char)s->text[s->at + ahead] : -1;
}

static bool starts(const scanner *s, const char *word)
{
    size_t n = strlen(word);
    return s->size - s->at >= n && memcmp(s->text + s->at, word, n) == 0;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* True when white space was there. */
static bool skip_space(scanner *s)
{
    size_t from = s->at;
    while (is_space(peek(s, 0)))
        s->at++;
    return s->at > from;
}

/* Characters beyond ASCII count as name characters: nearly all are, and no reader of ours depends on it. */
static bool name_start(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || c >= 0x80;
}

static bool name_more(int c)
{
    return name_start(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static bool skip_name(scanner *s)
{
    if (!name_start(peek(s, 0)))
        return bad(s, "a name is missing");
    while (name_more(peek(s, 0)))
        s->at++;
    return true;
}

/* Moves past 'word', which must come. */
static bool skip_past(scanner *s, const char *word, const char *wrong)
{
    for (; s->at < s->size; s->at++) {
        unsigned char c = (unsigned char)s->text[s->at];
        if (starts(s, word)) {
            s->at += strlen(word);
            return true;
        }
        if (c < 0x20 && !is_space(c))
            return bad(s, "a control character");
    }
    return bad(s, wrong);
}

/* ------------------------------------------------------------------------------------------------- references */

static bool legal_character(unsigned long code)
{
    return code == 9 || code == 10 || code == 13 || (code >= 0x20 && code <= 0xD7FF) ||
           (code >= 0xE000 && code <= 0xFFFD) || (code >= 0x10000 && code <= 0x10FFFF);
}

static bool skip_reference(scanner *s)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (starts(s, entities[i])) {
            s->at += strlen(entities[i]);
            return true;
        }
    if (!starts(s, "&#"))
        return bad(s, "an unknown entity");
    bool hex = peek(s, 2) == 'x';
    size_t from = s->at + (hex ? 3 : 2), n = 0;
    char digits[16];
    while (from + n < s->size && n < sizeof digits - 1 && s->text[from + n] != ';') {
        char c = s->text[from + n];
        bool digit = c >= '0' && c <= '9', letter = hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
        if (!digit && !letter)
            return bad(s, "a malformed character reference");
        digits[n++] = c;
    }
    digits[n] = 0;
    if (!n || from + n >= s->size || s->text[from + n] != ';' || !legal_character(strtoul(digits, NULL, hex ? 16 : 10)))
        return bad(s, "a malformed character reference");
    s->at = from + n + 1;
    return true;
}

/* ------------------------------------------------------------------------------------------------------- tags */

static bool skip_value(scanner *s)
{
    int quote = peek(s, 0);
    if (quote != '"' && quote != '\'')
        return bad(s, "an attribute without quotes");
    s->at++;
    for (int c = peek(s, 0); c != quote; c = peek(s, 0)) {
        if (c < 0)
            return bad(s, "an attribute that does not end");
        if (c == '<' || (c < 0x20 && !is_space(c)))
            return bad(s, "a forbidden character in an attribute");
        if (c == '&') {
            if (!skip_reference(s))
                return false;
        } else {
            s->at++;
        }
    }
    s->at++;
    return true;
}

/* One attribute, number 'count' of its tag; its name must not have come before. */
static bool skip_attribute(scanner *s, size_t count)
{
    size_t name = s->at;
    if (!skip_name(s))
        return false;
    size_t n = s->at - name;
    for (size_t i = 0; i < count; i++)
        if (s->attribute_lengths[i] == n && memcmp(s->text + s->attributes[i], s->text + name, n) == 0)
            return bad(s, "an attribute given twice");
    s->attributes[count] = name;
    s->attribute_lengths[count] = n;
    skip_space(s);
    if (peek(s, 0) != '=')
        return bad(s, "an attribute without value");
    s->at++;
    skip_space(s);
    return skip_value(s);
}

static bool open_tag(scanner *s)
{
    size_t name = ++s->at;
    if (!skip_name(s))
        return false;
    size_t length = s->at - name;
    for (size_t count = 0;; count++) {
        bool space = skip_space(s);
        if (starts(s, "/>")) {
            s->at += 2;
            return true;
        }
        if (peek(s, 0) == '>')
            break;
        if (!space)
            return bad(s, "a tag that does not end");
        if (count == MAX_ATTRIBUTES)
            return bad(s, "more than 256 attributes");
        if (!skip_attribute(s, count))
            return false;
    }
    s->at++;
    if (s->depth == MAX_DEPTH)
        return bad(s, "elements nested too deeply");
    s->names[s->depth] = name;
    s->lengths[s->depth++] = length;
    return true;
}

static bool close_tag(scanner *s)
{
    s->at += 2;
    size_t name = s->at;
    if (!skip_name(s))
        return false;
    size_t length = s->at - name;
    skip_space(s);
    if (peek(s, 0) != '>')
        return bad(s, "an end tag that does not end");
    if (!s->depth || s->lengths[s->depth - 1] != length ||
        memcmp(s->text + name, s->text + s->names[s->depth - 1], length) != 0)
        return bad(s, "an end tag without its beginning");
    s->at++;
    s->depth--;
    return true;
}

static bool skip_comment(scanner *s)
{
    s->at += 4;
    if (!skip_past(s, "--", "a comment that does not end"))
        return false;
    if (peek(s, 0) != '>')
        return bad(s, "two hyphens inside a comment");
    s->at++;
    return true;
}

static bool skip_instruction(scanner *s)
{
    size_t name = s->at += 2;
    if (!skip_name(s))
        return false;
    if (s->at - name == 3 && strncasecmp(s->text + name, "xml", 3) == 0)
        return bad(s, "an XML declaration that is not at the beginning");
    if (!is_space(peek(s, 0)) && !starts(s, "?>"))
        return bad(s, "a malformed processing instruction");
    return skip_past(s, "?>", "a processing instruction that does not end");
}

/* <?xml version="1.x" encoding="..." standalone="..."?> */
static bool skip_declaration(scanner *s)
{
    static const char *const names[] = {"version", "encoding", "standalone"};
    if (!starts(s, "<?xml") || !is_space(peek(s, 5)))
        return true;
    s->at += 5;
    for (size_t i = 0; i < 3; i++) {
        bool space = skip_space(s);
        if (!starts(s, names[i])) {
            if (i == 0)
                return bad(s, "an XML declaration without version");
            continue;
        }
        if (!space)
            return bad(s, "a malformed XML declaration");
        s->at += strlen(names[i]);
        skip_space(s);
        if (peek(s, 0) != '=')
            return bad(s, "a malformed XML declaration");
        s->at++;
        skip_space(s);
        size_t value = s->at + 1;
        if (!skip_value(s))
            return false;
        size_t n = s->at - 1 - value;
        if (i == 1 && n >= 3 &&
            (strncasecmp(s->text + value, "utf-16", n < 6 ? n : 6) == 0 || strncasecmp(s->text + value, "ucs", 3) == 0))
            return bad(s, "an encoding that the text does not have");
    }
    skip_space(s);
    if (!starts(s, "?>"))
        return bad(s, "a malformed XML declaration");
    s->at += 2;
    return true;
}

/* -------------------------------------------------------------------------------------------------- the whole */

static bool skip_text(scanner *s)
{
    int c = peek(s, 0);
    if (c == '&')
        return skip_reference(s);
    if (starts(s, "]]>"))
        return bad(s, "]]> in text");
    if (c < 0x20 && !is_space(c))
        return bad(s, "a control character");
    s->at++;
    return true;
}

static bool skip_item(scanner *s)
{
    if (starts(s, "<!--"))
        return skip_comment(s);
    if (starts(s, "<![CDATA[") && s->depth)
        return skip_past(s, "]]>", "a CDATA section that does not end");
    if (starts(s, "<?"))
        return skip_instruction(s);
    if (starts(s, "</"))
        return close_tag(s);
    if (peek(s, 0) == '<')
        return open_tag(s);
    if (s->depth)
        return skip_text(s);
    return skip_space(s) || bad(s, "text outside of the root element");
}

const char *ronchi_xml_well_formed(const char *text, size_t size, size_t *at)
{
    scanner *s = calloc(1, sizeof *s);
    if (!s)
        return "no memory to check it";
    s->text = text;
    s->size = size;
    if (starts(s, "\xEF\xBB\xBF"))
        s->at = 3;
    bool ok = skip_declaration(s), root = false;
    while (ok && s->at < s->size) {
        bool element = peek(s, 0) == '<' && peek(s, 1) != '!' && peek(s, 1) != '?';
        if (element && !s->depth && root)
            ok = bad(s, "more than one root element");
        root = root || element;
        ok = ok && skip_item(s);
    }
    if (ok && (s->depth || !root))
        bad(s, root ? "an element that does not end" : "no root element");
    const char *wrong = s->wrong;
    *at = s->at;
    free(s);
    return wrong;
}
