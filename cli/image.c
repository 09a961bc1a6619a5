/* SPDX-License-Identifier: MIT */
/* image.c - virtual images: for each scan position the sum of the counts that a mask selects. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* -o by -o, the image each of them shows; with one image all of them show it. */
static int match_outputs(const cli *c)
{
    if (!c->n_images)
        return cli_fail(CLI_BAD_CALL, NULL,
                        "say which image: --bf, --adf IN,OUT, --df IN or --mask M.npy; see ronchi image --help");
    if (c->n_images > 1 && c->n_outputs != c->n_images)
        return cli_fail(CLI_BAD_CALL, NULL, "%zu images, %zu times -o: give one for each image, in the same order",
                        c->n_images, c->n_outputs);
    return CLI_DONE;
}

/* Whether something that is not given has to be read off the disk: centre, radius, or the angle of a pixel. */
static bool needs_disk(const cli *c, const ronchi_acquisition_info *info)
{
    bool angle = c->unit && !info->calibration.det_step_row.known;
    for (size_t i = 0; i < c->n_images; i++) {
        if (c->image[i].kind == OPT_MASK)
            continue;
        if (!c->given[OPT_CENTER] || angle || (c->image[i].kind == OPT_BF && !c->given[OPT_RADIUS]))
            return true;
    }
    return false;
}

/* The disk of the mean pattern. */
static int fit_disk(cli *c, const ronchi_acquisition *acquisition, const ronchi_shape *shape, ronchi_disk *disk)
{
    ronchi_view mean = {0}, flagged = {0};
    int code = cli_array(shape->det_rows, shape->det_cols, RONCHI_F64, &mean);
    if (code == CLI_DONE)
        code = cli_flagged_mask(acquisition, shape, &flagged);
    if (code == CLI_DONE &&
        (ronchi_detector_pattern(acquisition, RONCHI_REDUCE_MEAN, NULL, NULL, &mean, &c->err) != RONCHI_OK ||
         ronchi_detector_fit_disk(&mean, &flagged, disk, &c->err) != RONCHI_OK))
        code = cli_error(&c->err);
    free(mean.data);
    free(flagged.data);
    return code;
}

/* A length of the call in pixels: as given, or through the calibration. */
static int to_px(cli *c, const ronchi_acquisition *acquisition, const ronchi_disk *disk, double length, double *px)
{
    *px = length;
    if (!c->unit || isinf(length) || length == 0)
        return CLI_DONE;
    if (ronchi_detector_mrad_to_px(acquisition, disk, length, px, &c->err) != RONCHI_OK)
        return cli_error(&c->err);
    return CLI_DONE;
}

static void say_ring(const cli *c, cli_option_id kind, double inner, double outer, const ronchi_view *mask)
{
    size_t n = 0, pixels = mask->shape[2] * mask->shape[3];
    for (size_t i = 0; i < pixels; i++)
        n += ((const uint8_t *)mask->data)[i];
    if (c->quiet)
        return;
    if (kind == OPT_BF)
        printf("bf: up to %.2f px, %zu pixels\n", outer, n);
    else if (isinf(outer))
        printf("%s: %.2f px and further, %zu pixels\n", kind == OPT_ADF ? "adf" : "df", inner, n);
    else
        printf("adf: %.2f to %.2f px, %zu pixels\n", inner, outer, n);
}

static int make_mask(cli *c, const ronchi_acquisition *acquisition, const ronchi_disk *disk, const cli_image *image,
                     ronchi_view *mask)
{
    double inner = 0, outer = INFINITY;
    int code = CLI_DONE;
    if (image->kind == OPT_MASK) {
        ronchi_view given;
        code = cli_mask_read(c, image->mask, mask->shape[2], mask->shape[3], &given);
        if (code == CLI_DONE) {
            memcpy(mask->data, given.data, mask->shape[2] * mask->shape[3]);
            free(given.data);
        }
        return code;
    }
    if (image->kind == OPT_BF) {
        outer = disk->radius;
        if (c->given[OPT_RADIUS])
            code = to_px(c, acquisition, disk, c->radius, &outer);
    } else {
        code = to_px(c, acquisition, disk, image->inner, &inner);
        if (code == CLI_DONE && image->kind == OPT_ADF)
            code = to_px(c, acquisition, disk, image->outer, &outer);
    }
    if (code != CLI_DONE)
        return code;
    ronchi_status status = ronchi_detector_annulus(disk->row, disk->col, inner, outer, mask);
    if (status != RONCHI_OK)
        return cli_fail(cli_exit_code(status), NULL, "no ring from %g to %g px around (%g, %g)", inner, outer,
                        disk->row, disk->col);
    say_ring(c, image->kind, inner, outer, mask);
    return CLI_DONE;
}

static ronchi_view plane(const ronchi_view *stack, size_t index)
{
    ronchi_view one = *stack;
    one.data = (char *)stack->data + (ptrdiff_t)index * stack->stride[1];
    one.shape[1] = 1;
    return one;
}

static int write_images(cli *c, const ronchi_acquisition *acquisition, const ronchi_acquisition_info *info)
{
    const ronchi_shape *s = &info->shape;
    ronchi_shape mask_shape = {1, c->n_images, s->det_rows, s->det_cols},
                 out_shape = {1, c->n_images, s->scan_rows, s->scan_cols};
    ronchi_disk disk = {0};
    ronchi_dtype dtype = info->dtype == RONCHI_F32 ? RONCHI_F64 : RONCHI_U64;
    ronchi_view flat_masks = {0}, flat_out = {0};
    ronchi_picture_options picture;
    int code = needs_disk(c, info) ? fit_disk(c, acquisition, s, &disk) : CLI_DONE;
    if (code == CLI_DONE && disk.pixels && !c->quiet)
        printf("disk: centre (%.2f, %.2f), radius %.2f px, fitted to %llu pixels of the mean pattern\n", disk.row,
               disk.col, disk.radius, (unsigned long long)disk.pixels);
    if (c->given[OPT_CENTER]) {
        disk.row = c->center[0];
        disk.col = c->center[1];
    }
    if (code == CLI_DONE)
        code = cli_array(c->n_images * s->det_rows, s->det_cols, RONCHI_U8, &flat_masks);
    if (code == CLI_DONE)
        code = cli_array(c->n_images * s->scan_rows, s->scan_cols, dtype, &flat_out);
    ronchi_view masks = ronchi_view_4d(flat_masks.data, RONCHI_U8, &mask_shape);
    ronchi_view out = ronchi_view_4d(flat_out.data, dtype, &out_shape);
    for (size_t i = 0; code == CLI_DONE && i < c->n_images; i++) {
        ronchi_view mask = plane(&masks, i);
        code = make_mask(c, acquisition, &disk, &c->image[i], &mask);
    }
    if (code == CLI_DONE && ronchi_detector_sums(acquisition, &masks, &out, &c->err) != RONCHI_OK)
        code = cli_error(&c->err);
    ronchi_view outside = {0};
    cli_picture_image(c, info, &picture);
    if (code == CLI_DONE)
        code = cli_scan_outside(c, acquisition, s, &outside);
    picture.ignore = outside.data ? &outside : NULL;
    for (size_t i = 0; code == CLI_DONE && i < c->n_outputs; i++) {
        ronchi_view one = plane(&out, c->n_images > 1 ? i : 0);
        code = cli_write(c, c->output[i], &one, &picture);
    }
    free(flat_masks.data);
    free(flat_out.data);
    free(outside.data);
    return code;
}

static int run(cli *c)
{
    ronchi_acquisition *acquisition = NULL;
    ronchi_acquisition_info info;
    int code = match_outputs(c);
    if (code == CLI_DONE)
        code = cli_output_needed(c);
    if (code == CLI_DONE && c->given[OPT_RADIUS] && !(c->radius > 0))
        code = cli_fail(CLI_BAD_CALL, NULL, "--radius must be more than 0");
    if (code == CLI_DONE)
        code = cli_load(c, c->argument[0], &acquisition, &info);
    if (code == CLI_DONE)
        code = write_images(c, acquisition, &info);
    ronchi_acquisition_destroy(acquisition);
    return code;
}

const cli_command command_image = {
    "image",
    "PATH --bf | --adf IN,OUT | --df IN | --mask M.npy  -o FILE ...",
    "bright-field, dark-field and any other virtual image",
    "For every scan position the exact sum of the counts that a mask selects (uint64; float data: float64). A pixel "
    "belongs to\n"
    "a ring when IN <= distance from the centre <= OUT. Several images are made in one pass over the data: give one "
    "-o\n"
    "for each, in the same order. The fitted disk is printed.",
    "ronchi image scan_01.qem --bf --adf 60,90 -o bf.png -o adf.npy",
    1,
    1,
    FOR_IMAGE,
    run,
};
