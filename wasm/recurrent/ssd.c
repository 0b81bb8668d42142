/* ssd: the state space layer of Mamba-2 (Dao and Gu, 2024) as a recurrence with gate, over one sequence's rows.  exact
 *
 *   delta   = softplus(dt[head] + dt_bias[head])              softplus.h; then at least `least`, at most `most`
 *   h[p][n] = 2^(delta decay[head]) h[p][n] + (delta x[p]) b[n]          decay = A log2(e), at most 0
 *   y[p]    = (sum_n h[p][n] c[n] + skip[head] x[p]) silu(z[p])
 *
 *   x, y, z  f32 rows of heads * head_dim   b, c   f32 rows of groups * states: head i reads group i / (heads / groups)
 *   dt       f32 rows of `heads`; decay, skip and dt_bias f32 rows of `heads`
 *   state    f32 [heads][head_dim][states]     in the sequence's slab: h after the last row
 *
 *   sum      4 partial sums, number n % 4 for state n, n ascending; then sum4
 *   tile     one sequence, one head, its rows in order, two at a time where there are two: a state is then loaded and
 *            stored once for both. The chunked form of the paper needs other sums for other chunks. Its bits would
 *            depend on how a prompt is split into steps, and it saves only a tenth of the operations. */
#include "simd/exp2.h"
#include "core/kernel.h"
#include "simd/softplus.h"
#include "rows/swiglu.h"

enum { MAX_HEAD_DIM = 256 };

/* definition: OP_SSD */
void ssd__ref(const struct op_ssd *op, const struct step *step, uint32_t s) {
    const struct sequence *sequence = sequence_at(step, s);
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    for (uint32_t m = sequence->row0; m < sequence->row0 + sequence->rows; m++) {
        const float *x = AT(const float *, op->x + m * op->x_stride), *z = AT(const float *, op->z + m * op->z_stride);
        const float *b = AT(const float *, op->b + m * op->b_stride), *c = AT(const float *, op->c + m * op->c_stride);
        float *y = AT(float *, op->y + m * op->y_stride);
        for (uint32_t i = 0; i < op->heads * op->head_dim; i++) {
            const uint32_t head = i / op->head_dim, shared = head / (op->heads / op->groups) * op->states;
            const float dt = AT(const float *, op->dt + m * op->dt_stride)[head] + AT(const float *, op->dt_bias)[head];
            float delta = softplus__ref(dt);
            delta = delta < op->least ? op->least : delta;
            delta = delta > op->most ? op->most : delta;
            const float factor = exp2__ref(delta * AT(const float *, op->decay)[head]);
            const float input = delta * x[i];
            float *h = state + i * op->states, sums[4] = {0};
            for (uint32_t n = 0; n < op->states; n++) {
                h[n] = factor * h[n] + input * b[shared + n];
                sums[n % 4] += h[n] * c[shared + n];
            }
            y[i] = (sum4__ref(sums) + AT(const float *, op->skip)[head] * x[i]) * silu__ref(z[i]);
        }
    }
}

/* Rows m .. m + rows of dimensions p .. p + dims of one head: updates the state and the sums. */
INLINE void advance(float *sums, uint32_t sums_stride, float *h, uint32_t states, const float *const *b,
                    const float *const *c, const float *factors, const float *const *inputs, const int dims,
                    const int rows) {
    v128_t sum[2][4], in[2][4], factor[2];
    UNROLLED for (int r = 0; r < rows; r++) {
        factor[r] = load_splat(factors + r);
        UNROLLED for (int p = 0; p < dims; p++) {
            in[r][p] = load_splat(inputs[r] + p);
            sum[r][p] = splat(0);
        }
    }
    ROLLED for (uint32_t n = 0; n < states; n += 4) {
        v128_t now[4];
        UNROLLED for (int p = 0; p < dims; p++) now[p] = load(h + (uint32_t)p * states + n);
        UNROLLED for (int r = 0; r < rows; r++) {
            const v128_t enter = load(b[r] + n), leave = load(c[r] + n);
            UNROLLED for (int p = 0; p < dims; p++) {
                now[p] = add(mul(factor[r], now[p]), mul(in[r][p], enter));
                sum[r][p] = add(sum[r][p], mul(now[p], leave));
            }
        }
        UNROLLED for (int p = 0; p < dims; p++) store(h + (uint32_t)p * states + n, now[p]);
    }
    UNROLLED for (int r = 0; r < rows; r++) {
        UNROLLED for (int p = 0; p < dims; p++) sums[(uint32_t)r * sums_stride + (uint32_t)p] = sum4(sum[r][p]);
    }
}

/* One or two rows of one head. */
INLINE void head_rows(const struct op_ssd *op, uint32_t head, float *h, uint32_t m, const int rows,
                      const struct exp_constants *e, const struct exp2_constants *e2) {
    const uint32_t dim = op->head_dim, column = head * dim, shared = head / (op->heads / op->groups) * op->states;
    float steps[4] __attribute__((aligned(16))) = {0}, factors[4] __attribute__((aligned(16)));
    UNROLLED for (int r = 0; r < rows; r++) {
        steps[r] = AT(const float *, op->dt + (m + (uint32_t)r) * op->dt_stride)[head] + AT(const float *, op->dt_bias)[head];
    }
    const v128_t delta = wasm_f32x4_pmin(wasm_f32x4_pmax(softplus(load(steps), e), splat(op->least)), splat(op->most));
    v128_t factor = mul(delta, splat(AT(const float *, op->decay)[head]));
    exp2_vectors(&factor, 1, e2);
    store(steps, delta);
    store(factors, factor);
    float inputs[2][MAX_HEAD_DIM] __attribute__((aligned(16))), sums[2][MAX_HEAD_DIM] __attribute__((aligned(16)));
    const float *b[2], *c[2];
    UNROLLED for (int r = 0; r < rows; r++) {
        const uint32_t row = m + (uint32_t)r;
        const float *x = AT(const float *, op->x + row * op->x_stride) + column;
        b[r] = AT(const float *, op->b + row * op->b_stride) + shared;
        c[r] = AT(const float *, op->c + row * op->c_stride) + shared;
        uint32_t p = 0;
        for (; p + 4 <= dim; p += 4) store(inputs[r] + p, mul(splat(steps[r]), load(x + p)));
        ROLLED for (; p < dim; p++) inputs[r][p] = steps[r] * x[p];
    }
    const uint32_t dims = rows == 1 ? 4 : 2;
    uint32_t whole = 0;
    for (uint32_t p = 0; p + dims <= dim; p += dims, whole = p) {
        const float *const in[2] = {inputs[0] + p, inputs[1] + p};
        if (rows == 1) advance(sums[0] + p, MAX_HEAD_DIM, h + p * op->states, op->states, b, c, factors, in, 4, 1);
        else advance(sums[0] + p, MAX_HEAD_DIM, h + p * op->states, op->states, b, c, factors, in, 2, 2);
    }
    ROLLED for (uint32_t p = whole; p < dim; p++) {
        const float *const in[2] = {inputs[0] + p, inputs[1] + p};
        advance(sums[0] + p, MAX_HEAD_DIM, h + p * op->states, op->states, b, c, factors, in, 1, rows);
    }
    const v128_t skip = splat(AT(const float *, op->skip)[head]);
    UNROLLED for (int r = 0; r < rows; r++) {
        const uint32_t row = m + (uint32_t)r;
        const float *x = AT(const float *, op->x + row * op->x_stride) + column;
        const float *z = AT(const float *, op->z + row * op->z_stride) + column;
        float *y = AT(float *, op->y + row * op->y_stride) + column;
        uint32_t p = 0;
        for (; p + 4 <= dim; p += 4) {
            store(y + p, mul(add(load(sums[r] + p), mul(skip, load(x + p))), silu(load(z + p), e)));
        }
        ROLLED for (; p < dim; p++) {
            y[p] = (sums[r][p] + AT(const float *, op->skip)[head] * x[p]) * silu__ref(z[p]);
        }
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * ((const struct op_ssd *)o)->heads;
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_ssd *op = (const struct op_ssd *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t head = t / step->sequences, end = sequence->row0 + sequence->rows;
    float *h = AT(float *, sequence->tables[op->group] + op->state_offset) + head * op->head_dim * op->states;
    const struct exp_constants e = exp_constants();
    const struct exp2_constants e2 = exp2_constants();
    uint32_t m = sequence->row0;
    ROLLED for (; m + 2 <= end; m += 2) head_rows(op, head, h, m, 2, &e, &e2);
    if (m < end) head_rows(op, head, h, m, 1, &e, &e2);
}

/* kernel: OP_SSD ssd plain */
const struct kernel ssd = {tiles, tile};
