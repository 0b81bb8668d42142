/* layernorm: y[m] = (x[m] - mean) / sqrt(variance + eps) * weight + bias. In: f32 rows. Out: f32 and/or a8 rows.  exact
 *
 *   x, y    f32 rows; with ROWS_LOGITS, row r of the output comes from row logit_rows[r] of x
 *   weight, bias  f32 rows: lanes past n are zero; bias 0: none
 *   sums    of x, then of d * d, d = x - mean, in the order of rmsnorm.c; d is 0 past n
 *   r       1 / sqrt(sum / n + eps);  y = (d * r) * weight + bias
 *
 *   tile    one row */
#include "core/kernel.h"
#include "rows/quantize.h"

static const float *input_row(const struct op_layernorm *op, const struct step *step, uint32_t m) {
    const uint32_t row = op->rows == ROWS_LOGITS ? AT(const uint32_t *, step->logit_rows)[m] : m;
    return AT(const float *, op->x + row * op->x_stride);
}

static float sum16__ref(const float *part) {
    float lanes[4];
    for (int l = 0; l < 4; l++) lanes[l] = (part[l] + part[4 + l]) + (part[8 + l] + part[12 + l]);
    return sum4__ref(lanes);
}

/* definition: OP_LAYERNORM */
void layernorm__ref(const struct op_layernorm *op, const struct step *step, uint32_t m) {
    const float *x = input_row(op, step, m), *weight = AT(const float *, op->weight), *bias = AT(const float *, op->bias);
    float sums[16] = {0}, squares[16] = {0};
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) sums[i % 16] += x[i];
    const float mean = sum16__ref(sums) / (float)op->n;
    for (uint32_t i = 0; i < op->n; i++) squares[i % 16] += (x[i] - mean) * (x[i] - mean);
    const float r = 1.0f / __builtin_sqrtf(sum16__ref(squares) / (float)op->n + op->eps);
    for (uint32_t g = 0; g * GROUP < op->n; g++) {
        float v[GROUP];
        for (uint32_t i = 0; i < GROUP; i++) {
            const uint32_t at = g * GROUP + i;
            v[i] = ((x[at] - mean) * r) * weight[at];
            if (op->bias) v[i] = v[i] + bias[at];
        }
        if (op->y) __builtin_memcpy(AT(float *, op->y + m * op->y_stride) + g * GROUP, v, sizeof v);
        if (op->q) quantize_into__ref(AT(int8_t *, op->q + m * op->q_stride), op->n, g, v);
    }
}

INLINE float sum16(const v128_t *part) { return sum4(add(add(part[0], part[1]), add(part[2], part[3]))); }

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_layernorm *op = (const struct op_layernorm *)o;
    const float *x = input_row(op, step, m), *weight = AT(const float *, op->weight), *bias = AT(const float *, op->bias);
    const uint32_t n32 = round_up(op->n, GROUP);
    v128_t part[4];
    UNROLLED for (int j = 0; j < 4; j++) part[j] = splat(0);
    for (uint32_t i = 0; i < n32; i += 16) {
        UNROLLED for (uint32_t j = 0; j < 4; j++) part[j] = add(part[j], load(x + i + 4 * j));
    }
    const v128_t mean = splat(sum16(part) / (float)op->n);
    UNROLLED for (int j = 0; j < 4; j++) part[j] = splat(0);
    for (uint32_t i = 0; i < n32; i += 16) {
        UNROLLED for (uint32_t j = 0; j < 4; j++) {
            const uint32_t at = i + 4 * j;
            v128_t d = sub(load(x + at), mean);
            if (at + 4 > op->n) {
                const v128_t lanes = wasm_i32x4_add(wasm_i32x4_splat((int32_t)at), wasm_i32x4_make(0, 1, 2, 3));
                d = wasm_v128_and(d, wasm_i32x4_lt(lanes, wasm_i32x4_splat((int32_t)op->n)));
            }
            part[j] = add(part[j], mul(d, d));
        }
    }
    const v128_t r = splat(1.0f / __builtin_sqrtf(sum16(part) / (float)op->n + op->eps));
    for (uint32_t i = 0; i < n32; i += GROUP) {
        v128_t v[8];
        UNROLLED for (int j = 0; j < 8; j++) v[j] = mul(mul(sub(load(x + i + 4 * j), mean), r), load(weight + i + 4 * j));
        UNROLLED for (int j = 0; op->bias && j < 8; j++) v[j] = add(v[j], load(bias + i + 4 * j));
        if (op->y) store_group(AT(float *, op->y + m * op->y_stride) + i, v);
        if (op->q) quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->n, i / GROUP, v);
    }
}

/* kernel: OP_LAYERNORM layernorm plain */
const struct kernel layernorm = {tiles, tile};
