/* route, gather, combine: rows to their experts and back. In: router logits, rows. Out: a route (route.h), rows by
 * place,
 * sums.                                                                                                        exact
 *   route    p[e] = e^(x[e] - max x) / sum, e ascending; the `used` greatest, the first of equal ones. Scalar code that
 *            serves as its own definition: a row has about a hundred numbers. Second round, one tile: a counting sort
 *            of all rows by expert
 *   combine  y[m] = ((w0 * x[place 0]) + w1 * x[place 1]) + ...        choices by descending weight
 *
 *   tile     one row */
#include "linear/route.h"

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile_route(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_route *op = (const struct op_route *)o;
    const float *x = AT(const float *, op->x + m * op->x_stride);
    const struct route_parts route = route_parts(op->route, op->experts, step->tokens * op->used);
    uint32_t *chosen = route.places + m * op->used;
    float *weights = route.weights + m * op->used, most = x[0], all = 0, sum = 0;
    for (uint32_t e = 1; e < op->experts; e++) most = x[e] > most ? x[e] : most;
    for (uint32_t e = 0; e < op->experts; e++) all += exp__ref(x[e] - most);
    for (uint32_t c = 0; c < op->used; c++) {
        uint32_t best = op->experts;
        for (uint32_t e = 0; e < op->experts; e++) {
            int taken = 0;
            for (uint32_t before = 0; before < c; before++) taken |= chosen[before] == e;
            if (!taken && (best == op->experts || x[e] > x[best])) best = e;
        }
        chosen[c] = best;
        weights[c] = exp__ref(x[best] - most) / all;
        sum += weights[c];
    }
    for (uint32_t c = 0; op->normalize && c < op->used; c++) weights[c] = weights[c] / sum;
}

static uint32_t one(const struct op *o, const struct step *step) {
    (void)o;
    return step->tokens > 0;
}

/* Replaces each row's choices by their places. */
static void tile_sort(const struct op *o, const struct step *step, uint32_t t) {
    (void)t;
    const struct op_route *op = (const struct op_route *)o;
    const uint32_t count = step->tokens * op->used;
    const struct route_parts route = route_parts(op->route, op->experts, count);
    for (uint32_t e = 0; e <= op->experts; e++) route.starts[e] = 0;
    for (uint32_t i = 0; i < count; i++) route.starts[route.places[i]]++;
    for (uint32_t e = 0, place = 0; e <= op->experts; e++) {
        const uint32_t rows = route.starts[e];
        route.starts[e] = place;
        place += rows;
    }
    /* Each start advances as rows are placed, and ends at the next expert's start. */
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = route.starts[route.places[i]]++;
        route.row_at[place] = i / op->used;
        route.places[i] = place;
    }
    for (uint32_t e = op->experts; e > 0; e--) route.starts[e] = route.starts[e - 1];
    route.starts[0] = 0;
}

static void tile_gather(const struct op *o, const struct step *step, uint32_t place) {
    const struct op_gather *op = (const struct op_gather *)o;
    const uint32_t row = route_parts(op->route, op->experts, row_count(o, step)).row_at[place];
    const float *x = AT(const float *, op->x + row * op->x_stride);
    float *y = AT(float *, op->y + place * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i += 4) store(y + i, load(x + i));
}

/* definition: OP_COMBINE */
void combine__ref(const struct op_combine *op, const struct step *step, uint32_t m) {
    const struct route_parts route = route_parts(op->route, op->experts, step->tokens * op->used);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) {
        for (uint32_t c = 0; c < op->used; c++) {
            const float *x = AT(const float *, op->x + route.places[m * op->used + c] * op->x_stride);
            const float product = x[i] * route.weights[m * op->used + c];
            y[i] = c == 0 ? product : y[i] + product;
        }
    }
}

static void tile_combine(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_combine *op = (const struct op_combine *)o;
    const struct route_parts route = route_parts(op->route, op->experts, step->tokens * op->used);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t c = 0; c < op->used; c++) {
        const float *x = AT(const float *, op->x + route.places[m * op->used + c] * op->x_stride);
        const v128_t weight = splat(route.weights[m * op->used + c]);
        for (uint32_t i = 0; i < round_up(op->n, GROUP); i += 4) {
            const v128_t product = mul(load(x + i), weight);
            store(y + i, c == 0 ? product : add(load(y + i), product));
        }
    }
}

/* kernel: OP_ROUTE route_rows plain */
/* second round: OP_ROUTE route_sort plain */
const struct kernel route_rows = {tiles, tile_route}, route_sort = {one, tile_sort};
/* kernel: OP_GATHER gather_rows plain */
/* kernel: OP_COMBINE combine_rows plain */
const struct kernel gather_rows = {tiles, tile_gather}, combine_rows = {tiles, tile_combine};
