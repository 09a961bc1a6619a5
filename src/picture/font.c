/* SPDX-License-Identifier: MIT */
/*
 * font.c - letters for scale bars and plots: digits, small letters and what units need, 5 x 9 points each, drawn here
 * for this purpose.
 *
 * Rows 0 and 1 are for the ring of the angstrom and for raised signs, the base line is row 8.
 */
#include <string.h>

#include "picture/canvas.h"

enum { LETTER_COLS = 5, LETTER_ROWS = 9 };

typedef struct letter {
    const char *text; /* UTF-8 */
    const char *rows; /* LETTER_ROWS x LETTER_COLS, '#' is drawn */
} letter;

/* clang-format off */
static const letter letters[] = {
    {"0", "     " "     " " ### " "#   #" "#   #" "#   #" "#   #" "#   #" " ### "},
    {"1", "     " "     " "  #  " " ##  " "  #  " "  #  " "  #  " "  #  " " ### "},
    {"2", "     " "     " " ### " "#   #" "    #" "  ## " " #   " "#    " "#####"},
    {"3", "     " "     " " ### " "#   #" "    #" "  ## " "    #" "#   #" " ### "},
    {"4", "     " "     " "   # " "  ## " " # # " "#  # " "#####" "   # " "   # "},
    {"5", "     " "     " "#####" "#    " "#### " "    #" "    #" "#   #" " ### "},
    {"6", "     " "     " " ### " "#    " "#### " "#   #" "#   #" "#   #" " ### "},
    {"7", "     " "     " "#####" "    #" "   # " "   # " "  #  " "  #  " "  #  "},
    {"8", "     " "     " " ### " "#   #" "#   #" " ### " "#   #" "#   #" " ### "},
    {"9", "     " "     " " ### " "#   #" "#   #" " ####" "    #" "    #" " ### "},
    {".", "     " "     " "     " "     " "     " "     " "     " " ##  " " ##  "},
    {"/", "     " "     " "    #" "    #" "   # " "  #  " " #   " "#    " "#    "},
    {"-", "     " "     " "     " "     " "     " " ### " "     " "     " "     "},
    {"+", "     " "     " "     " "  #  " "  #  " "#####" "  #  " "  #  " "     "},
    {"e", "     " "     " "     " "     " " ### " "#   #" "#####" "#    " " ### "},
    {"\xC3\x85", " ### " " # # " " ### " "  #  " " # # " "#   #" "#####" "#   #" "#   #"},
    {"\xE2\x81\xBB", "     " "     " " ####" "     " "     " "     " "     " "     " "     "},
    {"\xC2\xB9", "  #  " " ##  " "  #  " "  #  " "     " "     " "     " "     " "     "},
    {"\xC2\xB5", "     " "     " "     " "     " "#   #" "#   #" "#  ##" "### #" "#    "},
    {"A", "     " "     " "  #  " " # # " "#   #" "#   #" "#####" "#   #" "#   #"},
    {"a", "     " "     " "     " "     " " ### " "    #" " ####" "#   #" " ####"},
    {"d", "     " "     " "    #" "    #" " ####" "#   #" "#   #" "#   #" " ####"},
    {"k", "     " "     " "#    " "#    " "#  # " "# #  " "##   " "# #  " "#  # "},
    {"m", "     " "     " "     " "     " "## # " "# # #" "# # #" "# # #" "# # #"},
    {"n", "     " "     " "     " "     " "# ## " "##  #" "#   #" "#   #" "#   #"},
    {"p", "     " "     " "     " "     " "#### " "#   #" "#### " "#    " "#    "},
    {"r", "     " "     " "     " "     " "# ## " "##  #" "#    " "#    " "#    "},
    {"s", "     " "     " "     " "     " " ####" "#    " " ### " "    #" "#### "},
    {"u", "     " "     " "     " "     " "#   #" "#   #" "#   #" "#  ##" " ## #"},
    {"x", "     " "     " "     " "     " "#   #" " # # " "  #  " " # # " "#   #"},
    {"b", "     " "     " "#    " "#    " "#### " "#   #" "#   #" "#   #" "#### "},
    {"c", "     " "     " "     " "     " " ####" "#    " "#    " "#    " " ####"},
    {"f", "     " "     " "  ## " " #   " "#### " " #   " " #   " " #   " " #   "},
    {"g", "     " "     " "     " "     " " ####" "#   #" " ####" "    #" " ### "},
    {"h", "     " "     " "#    " "#    " "#### " "#   #" "#   #" "#   #" "#   #"},
    {"i", "     " "     " "  #  " "     " " ##  " "  #  " "  #  " "  #  " " ### "},
    {"j", "     " "     " "   # " "     " "  ## " "   # " "   # " "#  # " " ##  "},
    {"l", "     " "     " " ##  " "  #  " "  #  " "  #  " "  #  " "  #  " " ### "},
    {"o", "     " "     " "     " "     " " ### " "#   #" "#   #" "#   #" " ### "},
    {"q", "     " "     " "     " "     " " ####" "#   #" " ####" "    #" "    #"},
    {"t", "     " "     " " #   " " #   " "#### " " #   " " #   " " #   " "  ## "},
    {"v", "     " "     " "     " "     " "#   #" "#   #" "#   #" " # # " "  #  "},
    {"w", "     " "     " "     " "     " "#   #" "#   #" "# # #" "# # #" " # # "},
    {"y", "     " "     " "     " "     " "#   #" "#   #" " ####" "    #" " ### "},
    {"z", "     " "     " "     " "     " "#####" "   # " "  #  " " #   " "#####"},
    {"C", "     " "     " " ### " "#   #" "#    " "#    " "#    " "#   #" " ### "},
    {"=", "     " "     " "     " "     " "#####" "     " "#####" "     " "     "},
    {"(", "     " "     " "   # " "  #  " " #   " " #   " " #   " "  #  " "   # "},
    {")", "     " "     " " #   " "  #  " "   # " "   # " "   # " "  #  " " #   "},
    {",", "     " "     " "     " "     " "     " "     " " ##  " "  #  " " #   "},
    {":", "     " "     " "     " " ##  " " ##  " "     " " ##  " " ##  " "     "},
    {"\xC2\xB0", " ##  " "#  # " "#  # " " ##  " "     " "     " "     " "     " "     "},
    {" ", "     " "     " "     " "     " "     " "     " "     " "     " "     "},
};
/* clang-format on */

/* Bytes of the character at 'text', by its first byte. */
static size_t character_bytes(const char *text)
{
    unsigned char c = (unsigned char)*text;
    size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4, have = strlen(text);
    return n < have ? n : have;
}

/* A character without a letter is drawn as a box, so that it is seen to be missing. */
static const char *find_letter(const char *text, size_t bytes)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (strlen(letters[i].text) == bytes && memcmp(letters[i].text, text, bytes) == 0)
            return letters[i].rows;
    return "     "
           "     "
           "#####"
           "#   #"
           "#   #"
           "#   #"
           "#   #"
           "#   #"
           "#####";
}

size_t ronchi_text_width(const char *text, size_t scale)
{
    size_t n = 0;
    for (; *text; text += character_bytes(text))
        n++;
    return n ? (n * (LETTER_COLS + 1) - 1) * scale : 0;
}

size_t ronchi_text_height(size_t scale)
{
    return LETTER_ROWS * scale;
}

static void fill(ronchi_canvas *canvas, size_t row, size_t col, size_t rows, size_t cols, uint8_t level)
{
    for (size_t i = row; i < row + rows && i < canvas->rows; i++)
        for (size_t j = col; j < col + cols && j < canvas->cols; j++)
            memset(canvas->bytes + (i * canvas->cols + j) * canvas->channels, level, canvas->channels);
}

void ronchi_text_draw(ronchi_canvas *canvas, const char *text, size_t row, size_t col, size_t scale, uint8_t level)
{
    for (size_t bytes; *text; text += bytes, col += (LETTER_COLS + 1) * scale) {
        bytes = character_bytes(text);
        const char *points = find_letter(text, bytes);
        for (size_t i = 0; i < LETTER_ROWS; i++)
            for (size_t j = 0; j < LETTER_COLS; j++)
                if (points[i * LETTER_COLS + j] == '#')
                    fill(canvas, row + i * scale, col + j * scale, scale, scale, level);
    }
}

/* ---------------------------------------------------------------------------------------------------- scale bar */

enum { MARGIN = 6, GAP = 5, THICK = 3 }; /* in text points */

size_t ronchi_bar_rows(size_t scale)
{
    return (2 * MARGIN + LETTER_ROWS - 2) * scale;
}

size_t ronchi_bar_cols(const ronchi_bar *bar, size_t scale)
{
    return bar->pixels + (2 * MARGIN + GAP) * scale + ronchi_text_width(bar->label, scale);
}

void ronchi_bar_draw(ronchi_canvas *canvas, const ronchi_bar *bar, size_t first, size_t scale)
{
    size_t middle = first + ronchi_bar_rows(scale) / 2, left = MARGIN * scale;
    fill(canvas, middle - THICK * scale / 2, left, THICK * scale, bar->pixels, 0);
    /* the digits' seven rows centred on the bar; the two rows above them belong to rings and raised signs */
    ronchi_text_draw(canvas, bar->label, first + (MARGIN - 2) * scale, left + bar->pixels + GAP * scale, scale, 0);
}
