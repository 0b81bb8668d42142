/* join_heads: heads of one width from heads of another and a part that all heads share. In: f32 rows. Out: f32 rows.
 *                                                                                                              exact
 *   y[m] |s[m]|x[m] head 0|zeros||s[m]|x[m] head 1|zeros|| ...
 *
 *   tile  one row */
#include "core/kernel.h"
#include "simd/simd.h"

/* definition: OP_JOIN_HEADS */
void join_heads__ref(const struct op_join_heads *op, uint32_t m) {
    const float *s = AT(const float *, op->s + m * op->s_stride), *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->heads * op->y_dim, GROUP); i++) {
        const uint32_t h = i / op->y_dim, d = i % op->y_dim;
        if (h >= op->heads || d >= op->shared + op->own) y[i] = 0;
        else y[i] = d < op->shared ? s[d] : x[h * op->x_dim + d - op->shared];
    }
}

static void copy(float *y, const float *x, uint32_t n) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) store(y + i, load(x + i));
    for (; i < n; i++) y[i] = x[i];
}
static void clear(float *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = 0;
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    (void)step;
    const struct op_join_heads *op = (const struct op_join_heads *)o;
    const float *s = AT(const float *, op->s + m * op->s_stride), *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    const uint32_t filled = op->shared + op->own, n = op->heads * op->y_dim;
    for (uint32_t h = 0; h < op->heads; h++) {
        float *head = y + h * op->y_dim;
        copy(head, s, op->shared);
        copy(head + op->shared, x + h * op->x_dim, op->own);
        clear(head + filled, op->y_dim - filled);
    }
    clear(y + n, round_up(n, GROUP) - n);
}

/* kernel: OP_JOIN_HEADS join_heads plain */
const struct kernel join_heads = {tiles, tile};
