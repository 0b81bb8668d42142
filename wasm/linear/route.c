/* route, gather, bias_experts, combine: rows to their experts and back. In: router logits, rows. Out: a route,
 * rows by place, sums. The parts of a route: route.h.                                                          exact
 *   route    softmax: p[e] = e^(x[e] - max x) / sum, e ascending. Chooses the `used` largest, on ties the first, and
 *            sums them in the order in which they are chosen. Code that serves as its own definition: a row has about
 *            a hundred numbers. Second round, one tile: a counting sort of all rows by expert
 *            mixer (SparseMixer, Liu et al., 2023): the largest remaining x[e] has the weight
 *            1 / sum e^(x[i] - x[e]) over all remaining i with x[e] - x[i] <= 2 eps max(|x[i]|, x[e])
 *   bias_experts  y[place] = y[place] + bias[e]
 *   combine  y[m] = ((w0 * x[place 0]) + w1 * x[place 1]) + ...        choices by descending weight
 *
 *   tile     one row; of combine, COLUMN_CHUNK columns of it */
#include "linear/route.h"
#include "rows/quantize.h"

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

/* A row's experts: their scores, the keys by which they are chosen, and which are already taken. */
struct experts { float scores[MAX_EXPERTS], keys[MAX_EXPERTS]; uint8_t taken[MAX_EXPERTS]; };

/* Marks the experts of all but the best groups as taken. */
static void drop_groups(const struct op_route *op, struct experts *all) {
    const uint32_t size = op->experts / op->groups;
    float sums[MAX_EXPERTS];
    uint8_t kept[MAX_EXPERTS] = {0};
    for (uint32_t g = 0; g < op->groups; g++) {
        float best = all->keys[g * size], next = -__builtin_inff();
        for (uint32_t e = g * size + 1; e < (g + 1) * size; e++) {
            const float key = all->keys[e];
            next = key > best ? best : key > next ? key : next;
            best = key > best ? key : best;
        }
        sums[g] = op->group_best > 1 ? best + next : best;
    }
    for (uint32_t c = 0; c < op->groups_used; c++) {
        uint32_t best = op->groups;
        for (uint32_t g = 0; g < op->groups; g++) {
            if (!kept[g] && (best == op->groups || sums[g] > sums[best])) best = g;
        }
        kept[best] = 1;
    }
    for (uint32_t e = 0; e < op->groups * size; e++) all->taken[e] = !kept[e / size];
}

/* The expert with the largest untaken key; on ties, the first. */
static uint32_t best_of(const struct op_route *op, const struct experts *all) {
    uint32_t best = op->experts;
    for (uint32_t e = 0; e < op->experts; e++) {
        if (!all->taken[e] && (best == op->experts || all->keys[e] > all->keys[best])) best = e;
    }
    return best;
}

/* The weight of `best` among the untaken experts near it. */
static float mixed(const struct op_route *op, const struct experts *all, uint32_t best) {
    const float *x = all->keys, top = x[best];
    float sum = 0;
    for (uint32_t e = 0; e < op->experts; e++) {
        const float size = __builtin_fabsf(x[e]), factor = size > top ? size : top;
        if (all->taken[e] || top - x[e] > 2 * op->eps * factor) continue;
        sum += exp__ref(x[e] - top);
    }
    return exp__ref(0) / sum;
}

static void score(const struct op_route *op, const float *x, struct experts *all) {
    const float *bias = AT(const float *, op->bias);
    const struct exp_constants constants = exp_constants();
    const int is_sigmoid = op->scoring == SCORE_SIGMOID;
    float most = x[0], sum = 0;
    for (uint32_t e = 1; e < op->experts; e++) most = x[e] > most ? x[e] : most;
    for (uint32_t e = 0; e < op->experts; e++) {
        all->taken[e] = 0;
        all->keys[e] = x[e];
    }
    /* Rows are padded to whole groups, so the last vector may hold numbers that are not read. */
    for (uint32_t e = 0; e < op->experts; e += 4) {
        const v128_t in = load(x + e), odds = exp4(is_sigmoid ? wasm_f32x4_neg(in) : sub(in, splat(most)), &constants);
        store(all->scores + e, is_sigmoid ? wasm_f32x4_div(splat(1), add(splat(1), odds)) : odds);
    }
    for (uint32_t e = 0; e < op->experts; e++) sum += all->scores[e];
    for (uint32_t e = 0; e < op->experts; e++) {
        if (op->scoring == SCORE_SOFTMAX) all->scores[e] = all->scores[e] / sum;
        /* Logits have the same order as their scores, and fewer of them are equal. */
        if (op->bias) all->keys[e] = all->scores[e] + bias[e];
        else if (op->group_best > 1) all->keys[e] = all->scores[e];
    }
    if (op->groups > 1) drop_groups(op, all);
}

static void tile_route(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_route *op = (const struct op_route *)o;
    const struct route_parts route = route_parts(op->route, op->experts, step->tokens * op->used);
    uint32_t *chosen = route.places + m * op->used;
    float *weights = route.weights + m * op->used, sum = 0;
    struct experts all;
    score(op, AT(const float *, op->x + m * op->x_stride), &all);
    for (uint32_t c = 0; c < op->used; c++) {
        const uint32_t best = best_of(op, &all);
        weights[c] = op->scoring == SCORE_MIXER ? mixed(op, &all, best) : all.scores[best];
        all.taken[best] = 1;
        chosen[c] = best;
        sum += weights[c];
    }
    for (uint32_t c = 0; c < op->used; c++) {
        if (op->normalize) weights[c] = weights[c] / (sum + op->eps);
        weights[c] = weights[c] * op->scale;
    }
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
    uint32_t active = 0;
    for (uint32_t e = 0, place = 0; e <= op->experts; e++) {
        const uint32_t rows = route.starts[e];
        if (rows > 0) route.active[++active] = e;
        route.starts[e] = place;
        place += rows;
    }
    route.active[0] = active;
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
    for (uint32_t i = 0, n = round_up(op->n, 4); i < n; i += 4) store(y + i, load(x + i));
}

/* definition: OP_BIAS_EXPERTS */
void bias_experts__ref(const struct op_bias_experts *op, const struct step *step, uint32_t m) {
    (void)step;
    const uint32_t *starts = AT(const uint32_t *, op->route);
    float *y = AT(float *, op->y + m * op->y_stride);
    uint32_t e = 0;
    while (starts[e + 1] <= m) e++;
    for (uint32_t i = 0; i < op->n; i++) y[i] = y[i] + AT(const float *, op->bias)[e * round_up(op->n, GROUP) + i];
}

static void tile_bias(const struct op *o, const struct step *step, uint32_t place) {
    (void)step;
    const struct op_bias_experts *op = (const struct op_bias_experts *)o;
    const uint32_t *starts = AT(const uint32_t *, op->route);
    float *y = AT(float *, op->y + place * op->y_stride);
    uint32_t e = 0, i = 0;
    while (starts[e + 1] <= place) e++;
    const float *bias = AT(const float *, op->bias) + e * round_up(op->n, GROUP);
    for (; i + 4 <= op->n; i += 4) store(y + i, add(load(y + i), load(bias + i)));
    for (; i < op->n; i++) y[i] = y[i] + bias[i];
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

static uint32_t tiles_combine(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_combine *)o)->n);
}

static void tile_combine(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_combine *op = (const struct op_combine *)o;
    const struct route_parts route = route_parts(op->route, op->experts, step->tokens * op->used);
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const uint32_t end = min_u32(from + COLUMN_CHUNK, op->n), used = op->used, x_stride = op->x_stride;
    const uint32_t *places = route.places + m * used;
    const float *weights = route.weights + m * used;
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = from; i < end; i += GROUP) {
        v128_t sum[8];
        const float *x = AT(const float *, op->x + places[0] * x_stride) + i;
        UNROLLED for (int j = 0; j < 8; j++) sum[j] = mul(load(x + 4 * j), load_splat(weights));
        for (uint32_t c = 1; c < used; c++) {
            const v128_t weight = load_splat(weights + c);
            x = AT(const float *, op->x + places[c] * x_stride) + i;
            UNROLLED for (int j = 0; j < 8; j++) sum[j] = add(sum[j], mul(load(x + 4 * j), weight));
        }
        store_group(y + i, sum);
    }
}

/* kernel: OP_ROUTE route_rows plain */
/* second round: OP_ROUTE route_sort plain */
const struct kernel route_rows = {tiles, tile_route}, route_sort = {one, tile_sort};
/* kernel: OP_GATHER gather_rows plain */
/* kernel: OP_BIAS_EXPERTS bias_experts plain */
/* kernel: OP_COMBINE combine_rows plain */
const struct kernel gather_rows = {tiles, tile_gather};
const struct kernel combine_rows = {tiles_combine, tile_combine};
const struct kernel bias_experts = {tiles, tile_bias};
