/* delta: the gated delta rule (Yang et al., 2024) with its norms and gate, over one sequence's rows.            exact
 *
 *   q = q / sqrt(|q|^2 + TINY) / sqrt(key_dim)       k = k / sqrt(|k|^2 + TINY)     rows of a key head
 *   f = 2^(softplus(dt + dt_bias) decay[head])       exp2.h, softplus.h; decay = A log2(e), at most 0
 *   d[v]    = beta (v[v] - sum_i (f k[i]) S[i][v])   beta = scale * sigmoid(beta)
 *   S[i][v] = f S[i][v] + k[i] d[v]
 *   o[v]    = sum_i q[i] S[i][v]
 *   y       = o / sqrt(mean(o^2) + eps) * weight * act(z)       act: silu or sigmoid; the norm is over one head
 *
 *   x        f32 rows: q of all key heads | k of all key heads | v of all heads
 *   z, y     f32 rows of heads * head_dim            beta   f32 rows of `heads`
 *            y's last group of 32 is filled up with zeros, for ops that read whole groups
 *   dt       f32 rows of `heads`, or with `channels` of heads * key_dim: f is then f[i]
 *   dt_bias  f32 row as wide as dt's                 decay  f32 row of `heads`     weight   f32 row of head_dim
 *   head h reads the key head h / ratio % key_heads
 *   state    f32 [heads][key_dim][head_dim]          in the sequence's slab: S after the last row
 *
 *   sums     over i: one for each v, i ascending. Of squares: 4 partial sums, number i % 4 for value i; then sum4
 *   tile     one sequence, one head, its rows in order, up to ROWS at a time: a block of COLUMNS columns of the state
 *            is then loaded from memory once for all of them. The chunked form has other sums for other chunks */
#include "simd/exp2.h"
#include "core/kernel.h"
#include "simd/softplus.h"
#include "rows/swiglu.h"

enum { MAX_KEY_DIM = 256, ROWS = 4, COLUMNS = 16 };
#define TINY 1e-6f

static float sum_of_four__ref(const float *x, uint32_t n) {
    float sums[4] = {0};
    for (uint32_t i = 0; i < n; i++) sums[i % 4] += x[i] * x[i];
    return sum4__ref(sums);
}

/* definition: OP_DELTA */
void delta__ref(const struct op_delta *op, const struct step *step, uint32_t s) {
    const struct sequence *sequence = sequence_at(step, s);
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    const uint32_t keys = op->key_dim, values = op->head_dim;
    for (uint32_t m = sequence->row0; m < sequence->row0 + sequence->rows; m++) {
        for (uint32_t head = 0; head < op->heads; head++) {
            const uint32_t key_head = head / op->ratio % op->key_heads;
            const float *x = AT(const float *, op->x + m * op->x_stride);
            const float *q = x + key_head * keys, *k = q + op->key_heads * keys;
            const float *v = x + 2 * op->key_heads * keys + head * values;
            const float *z = AT(const float *, op->z + m * op->z_stride) + head * values;
            float *y = AT(float *, op->y + m * op->y_stride) + head * values, *S = state + head * keys * values;
            const float of_q = 1.0f / __builtin_sqrtf(sum_of_four__ref(q, keys) + TINY) / __builtin_sqrtf((float)keys);
            const float of_k = 1.0f / __builtin_sqrtf(sum_of_four__ref(k, keys) + TINY);
            const float beta = op->scale / (1.0f + exp__ref(-AT(const float *, op->beta + m * op->beta_stride)[head]));
            float f[MAX_KEY_DIM];
            for (uint32_t i = 0; i < keys; i++) {
                const uint32_t at = op->channels ? head * keys + i : head;
                const float dt = AT(const float *, op->dt + m * op->dt_stride)[at] + AT(const float *, op->dt_bias)[at];
                f[i] = exp2__ref(softplus__ref(dt) * AT(const float *, op->decay)[head]);
            }
            for (uint32_t j = 0; j < values; j++) {
                float known = 0, made = 0;
                for (uint32_t i = 0; i < keys; i++) known += (f[i] * (k[i] * of_k)) * S[i * values + j];
                const float d = beta * (v[j] - known);
                for (uint32_t i = 0; i < keys; i++) {
                    S[i * values + j] = f[i] * S[i * values + j] + (k[i] * of_k) * d;
                    made += S[i * values + j] * (q[i] * of_q);
                }
                y[j] = made;
            }
            const float r = 1.0f / __builtin_sqrtf(sum_of_four__ref(y, values) / (float)values + op->eps);
            for (uint32_t j = 0; j < values; j++) {
                y[j] = ((y[j] * r) * AT(const float *, op->weight)[j]) * activated__ref(z[j], op->gate);
            }
        }
        float *y = AT(float *, op->y + m * op->y_stride);
        for (uint32_t i = op->heads * values; i < round_up(op->heads * values, GROUP); i++) y[i] = 0;
    }
}

INLINE float sum_of_four(const float *x, uint32_t n) {
    v128_t sum = splat(0);
    for (uint32_t i = 0; i < n; i += 4) sum = add(sum, mul(load(x + i), load(x + i)));
    return sum4(sum);
}

/* The effect of one row of one head on every column of the state. */
struct row {
    float q[MAX_KEY_DIM] __attribute__((aligned(16))), k[MAX_KEY_DIM] __attribute__((aligned(16)));
    float f[MAX_KEY_DIM] __attribute__((aligned(16))), fk[MAX_KEY_DIM] __attribute__((aligned(16)));
    const float *v;
    float *y;
    float beta;
};

INLINE void make_row(struct row *row, const struct op_delta *op, uint32_t head, uint32_t m, const struct exp_constants *e,
                    const struct exp2_constants *e2) {
    const uint32_t keys = op->key_dim, from = op->channels ? head * keys : head;
    const float *q = AT(const float *, op->x + m * op->x_stride) + head / op->ratio % op->key_heads * keys;
    const float *k = q + op->key_heads * keys;
    const float *dt = AT(const float *, op->dt + m * op->dt_stride) + from, *bias = AT(const float *, op->dt_bias) + from;
    const v128_t of_q = splat(1.0f / __builtin_sqrtf(sum_of_four(q, keys) + TINY) / __builtin_sqrtf((float)keys));
    const v128_t of_k = splat(1.0f / __builtin_sqrtf(sum_of_four(k, keys) + TINY));
    const v128_t decay = load_splat(AT(const float *, op->decay) + head);
    v128_t f = splat(0);
    for (uint32_t i = 0; i < keys; i += 4) {
        store(row->q + i, mul(load(q + i), of_q));
        store(row->k + i, mul(load(k + i), of_k));
        if (op->channels || i == 0) {
            const v128_t step = op->channels ? add(load(dt + i), load(bias + i)) : splat(dt[0] + bias[0]);
            f = mul(softplus(step, e), decay);
            exp2_vectors(&f, 1, e2);
        }
        store(row->f + i, f);
        store(row->fk + i, mul(f, load(row->k + i)));
    }
    const v128_t input = load_splat(AT(const float *, op->beta + m * op->beta_stride) + head);
    const v128_t beta = wasm_f32x4_div(splat(op->scale), add(e->p[6], exp4(wasm_f32x4_neg(input), e)));
    row->beta = wasm_f32x4_extract_lane(beta, 0);
    row->v = AT(const float *, op->x + m * op->x_stride) + 2 * op->key_heads * keys + head * op->head_dim;
    row->y = AT(float *, op->y + m * op->y_stride) + head * op->head_dim;
}

/* 4 * vectors columns of the state, from `S` on. */
INLINE void columns(const struct row *row, float *S, uint32_t keys, uint32_t values, uint32_t first, const int vectors) {
    v128_t known[4], d[4], made[4];
    UNROLLED for (int j = 0; j < vectors; j++) known[j] = made[j] = splat(0);
    const float *read = S;
    ROLLED for (uint32_t i = 0; i < keys; i++, read += values) {
        const v128_t fk = load_splat(row->fk + i);
        UNROLLED for (int j = 0; j < vectors; j++) known[j] = add(known[j], mul(fk, load(read + 4 * j)));
    }
    UNROLLED for (int j = 0; j < vectors; j++) {
        d[j] = mul(splat(row->beta), sub(load(row->v + first + 4 * j), known[j]));
    }
    ROLLED for (uint32_t i = 0; i < keys; i++, S += values) {
        const v128_t f = load_splat(row->f + i), k = load_splat(row->k + i), q = load_splat(row->q + i);
        UNROLLED for (int j = 0; j < vectors; j++) {
            const v128_t next = add(mul(f, load(S + 4 * j)), mul(k, d[j]));
            store(S + 4 * j, next);
            made[j] = add(made[j], mul(next, q));
        }
    }
    UNROLLED for (int j = 0; j < vectors; j++) store(row->y + first + 4 * j, made[j]);
}

/* Normalises and gates one row of one head. */
INLINE void finish(const struct op_delta *op, float *y, const float *z, const struct exp_constants *e) {
    const v128_t r = splat(1.0f / __builtin_sqrtf(sum_of_four(y, op->head_dim) / (float)op->head_dim + op->eps));
    for (uint32_t j = 0; j < op->head_dim; j += 4) {
        const v128_t open = activated(load(z + j), e, op->gate);
        store(y + j, mul(mul(mul(load(y + j), r), load(AT(const float *, op->weight) + j)), open));
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * ((const struct op_delta *)o)->heads;
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_delta *op = (const struct op_delta *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t head = t / step->sequences, end = sequence->row0 + sequence->rows;
    const uint32_t keys = op->key_dim, values = op->head_dim;
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset) + head * keys * values;
    const struct exp_constants e = exp_constants();
    const struct exp2_constants e2 = exp2_constants();
    struct row rows[ROWS];
    ROLLED for (uint32_t m = sequence->row0; m < end; m += ROWS) {
        const uint32_t count = min_u32(ROWS, end - m);
        for (uint32_t r = 0; r < count; r++) make_row(rows + r, op, head, m + r, &e, &e2);
        uint32_t v = 0;
        ROLLED for (; v + COLUMNS <= values; v += COLUMNS) {
            ROLLED for (uint32_t r = 0; r < count; r++) columns(rows + r, state + v, keys, values, v, 4);
        }
        ROLLED for (; v < values; v += 4) {
            ROLLED for (uint32_t r = 0; r < count; r++) columns(rows + r, state + v, keys, values, v, 1);
        }
        for (uint32_t r = 0; r < count; r++) {
            finish(op, rows[r].y, AT(const float *, op->z + (m + r) * op->z_stride) + head * values, &e);
            const uint32_t padding = head + 1 == op->heads ? round_up(op->heads * values, GROUP) - op->heads * values : 0;
            ROLLED for (uint32_t i = 0; i < padding; i += 4) store(rows[r].y + values + i, splat(0));
        }
    }
}

/* kernel: OP_DELTA delta plain */
const struct kernel delta = {tiles, tile};
