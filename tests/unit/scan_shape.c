/* SPDX-License-Identifier: MIT */
/* scan_shape.c - each rule about the scan shape once. */
#include "test.h"

#include <string.h>

#include "formats/scan_shape.h"

static ronchi_source_options options;
static ronchi_scan_facts facts;
static ronchi_scan_choice choice;

static int setup(void **state)
{
    (void)state;
    ronchi_source_options_defaults(&options);
    memset(&facts, 0, sizeof facts);
    return 0;
}

static void choose(uint64_t frames)
{
    facts.frames = frames;
    ronchi_scan_choose(&facts, &options, &choice);
}

static void expect(size_t rows, size_t cols, uint64_t flyback, const char *from)
{
    assert_int_equal(choice.status, RONCHI_OK);
    assert_int_equal(choice.rows, rows);
    assert_int_equal(choice.cols, cols);
    assert_int_equal(choice.flyback, flyback);
    size_t chosen = 0;
    for (size_t i = 0; i < choice.n_evidence; i++)
        if (choice.evidence[i].chosen) {
            chosen++;
            assert_non_null(strstr(choice.evidence[i].from, from));
            assert_true(choice.evidence[i].agrees);
        }
    assert_int_equal(chosen, 1);
}

static void refuse(ronchi_status status, const char *option)
{
    assert_int_equal(choice.status, status);
    assert_non_null(strstr(choice.action, option));
    assert_true(choice.reason[0] != 0);
    for (size_t i = 0; i < choice.n_evidence; i++)
        assert_int_equal(choice.evidence[i].chosen, 0);
}

static void user(size_t rows, size_t cols)
{
    options.scan_rows = rows;
    options.scan_cols = cols;
}

static void test_user(void **state)
{
    (void)state;
    user(3, 8);
    choose(24);
    expect(3, 8, 0, "--scan-shape");
    assert_int_equal(choice.expected, 24);
    /* the user stands above any record */
    ronchi_scan_add(&facts, RONCHI_SCAN_COMPANION, "companion x.h5", 4, 6, 0, 0);
    choose(24);
    expect(3, 8, 0, "--scan-shape");
    assert_int_equal(choice.n_evidence, 2);
}

static void test_user_misfit(void **state)
{
    (void)state;
    user(3, 8);
    choose(20);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
    choose(30); /* 3 x (8 + 2): shown, not chosen */
    refuse(RONCHI_ERR_NEEDED, "--flyback 2");
    choose(31);
    refuse(RONCHI_ERR_NEEDED, "--flyback");
}

static void test_user_flyback(void **state)
{
    (void)state;
    user(3, 8);
    options.flyback = 2;
    options.flyback_at = RONCHI_FLYBACK_END;
    choose(30);
    expect(3, 8, 2, "--scan-shape");
    assert_int_equal(choice.flyback_at, RONCHI_FLYBACK_END);
    choose(33); /* all is said: what follows the last line is left alone */
    expect(3, 8, 2, "--scan-shape");
    choose(29);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
}

/* The user gives the shape, the companion its prescan. */
static void test_user_and_prescan(void **state)
{
    (void)state;
    user(24, 32);
    ronchi_scan_add(&facts, RONCHI_SCAN_COMPANION, "companion x.h5", 24, 32, 2, 0);
    choose(816);
    expect(24, 32, 2, "--scan-shape");
}

static void test_attribute(void **state)
{
    (void)state;
    ronchi_scan_add(&facts, RONCHI_SCAN_JSON, "json x.json", 4, 6, -1, 0);
    ronchi_scan_add(&facts, RONCHI_SCAN_ATTRIBUTE, "attribute scan_shape", 4, 6, -1, 0);
    choose(24);
    expect(4, 6, 0, "attribute"); /* in order of trust, not of arrival */
}

static void test_companion(void **state)
{
    (void)state;
    ronchi_scan_add(&facts, RONCHI_SCAN_COMPANION, "companion x.h5", 24, 32, 2, 0);
    choose(816);
    expect(24, 32, 2, "companion");
    assert_int_equal(choice.flyback_at, RONCHI_FLYBACK_START);
    choose(768); /* the prescan was not stored */
    expect(24, 32, 0, "companion");
    choose(700);
    refuse(RONCHI_ERR_INCOMPLETE, "wait");
    choose(840); /* 24 x (32 + 3): the companion says 2 */
    refuse(RONCHI_ERR_NEEDED, "--flyback 3");
}

static void test_json(void **state)
{
    (void)state;
    ronchi_scan_add(&facts, RONCHI_SCAN_JSON, "json x.json", 512, 512, -1, 268800);
    choose(268800);
    expect(512, 512, 13, "json");
    choose(264192);
    expect(512, 512, 4, "json");
    choose(264193);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
}

static void test_contradiction(void **state)
{
    (void)state;
    ronchi_scan_add(&facts, RONCHI_SCAN_COMPANION, "companion x.h5", 4, 6, 0, 0);
    ronchi_scan_add(&facts, RONCHI_SCAN_JSON, "json x.json", 6, 4, -1, 0);
    choose(24);
    refuse(RONCHI_ERR_DATA, "--scan-shape");
    assert_non_null(strstr(choice.reason, "4 x 6"));
    assert_non_null(strstr(choice.reason, "6 x 4"));
}

static void test_counts(void **state)
{
    (void)state;
    facts.ntrigger = 16;
    facts.nimages = 1;
    choose(16);
    expect(4, 4, 0, "square");
    choose(9); /* a square, but the detector was to take more */
    refuse(RONCHI_ERR_INCOMPLETE, "wait");
    assert_int_equal(choice.expected, 16);
    choose(25);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
}

static void test_endless_triggers(void **state)
{
    (void)state;
    facts.ntrigger = 16777215;
    facts.nimages = 16;
    choose(16);
    expect(4, 4, 0, "square");
    facts.nimages = 1;
    choose(16);
    expect(4, 4, 0, "square");
}

/* One trigger a line says the shape; but not where a square would say another. */
static void test_triggered_lines(void **state)
{
    (void)state;
    facts.ntrigger = 24;
    facts.nimages = 32;
    choose(768);
    expect(24, 32, 0, "ntrigger x nimages");
    facts.ntrigger = 4;
    facts.nimages = 9;
    choose(36);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
}

static void test_square(void **state)
{
    (void)state;
    choose(1);
    expect(1, 1, 0, "square");
    choose((uint64_t)3000000000u * 3000000000u);
    expect(3000000000u, 3000000000u, 0, "square");
    choose(620);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
    const ronchi_evidence *last = &choice.evidence[choice.n_evidence - 1];
    assert_string_equal(last->from, "frame count");
    assert_non_null(strstr(last->says, "20 x 31"));
    options.flyback = 3; /* 20 x (20 + 3) */
    choose(460);
    expect(20, 20, 3, "square");
}

static void test_skip(void **state)
{
    (void)state;
    options.skip = 3;
    choose(19);
    expect(4, 4, 0, "square");
    assert_int_equal(choice.skip, 3);
    assert_int_equal(choice.expected, 19);
    options.skip = 19;
    choose(19);
    assert_int_equal(choice.status, RONCHI_ERR_ARGUMENT);
}

static void test_nothing(void **state)
{
    (void)state;
    choose(0);
    assert_int_equal(choice.status, RONCHI_ERR_INCOMPLETE);
    choose(UINT64_MAX);
    refuse(RONCHI_ERR_NEEDED, "--scan-shape");
    user(SIZE_MAX, SIZE_MAX);
    choose(10);
    assert_int_equal(choice.status, RONCHI_ERR_NEEDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_user, setup),
        cmocka_unit_test_setup(test_user_misfit, setup),
        cmocka_unit_test_setup(test_user_flyback, setup),
        cmocka_unit_test_setup(test_user_and_prescan, setup),
        cmocka_unit_test_setup(test_attribute, setup),
        cmocka_unit_test_setup(test_companion, setup),
        cmocka_unit_test_setup(test_json, setup),
        cmocka_unit_test_setup(test_contradiction, setup),
        cmocka_unit_test_setup(test_counts, setup),
        cmocka_unit_test_setup(test_endless_triggers, setup),
        cmocka_unit_test_setup(test_triggered_lines, setup),
        cmocka_unit_test_setup(test_square, setup),
        cmocka_unit_test_setup(test_skip, setup),
        cmocka_unit_test_setup(test_nothing, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
