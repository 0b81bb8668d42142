/* logits: a sampler's operations on a row. In: f32 [n]. Out: the row changed in place, or sums over it.     exact
 *
 *   guide    row = guide + scale * (row - guide)
 *   mask     -infinity where the bit of the id is 0: bit i % 32 of word i >> 5
 *   sum_exp  sum of e^((row - best) * scale) over the logits that are at least `least` and finite: eight partial sums
 *            in f64, number i % 8 for logit i, i ascending; then ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
 *   spread   f64: the largest, how many are finite, their sum, the sum of their squares; partial sums as above
 *   weigh    weights = e^((logits - logits[0]) * scale), f32; returns their sum, one after the other, in f64
 *
 * Every e^x is exp__ref. n is any number, and rows may be unaligned. weigh may write weights and read logits up to a
 * multiple of 4. */
#include <float.h>

#include "core/kernel.h"
#include "simd/simd.h"

#define EXPORT(name) __attribute__((export_name(name)))

enum { PARTS = 8 };

INLINE float guided__ref(float x, float guide, float scale) { return guide + scale * (x - guide); }
INLINE int is_counted(float x, float least) { return x >= least && x >= -FLT_MAX; }
INLINE double sum_parts(const double *s) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

void logits_guide__ref(float *row, const float *guide, uint32_t n, float scale) {
    for (uint32_t i = 0; i < n; i++) row[i] = guided__ref(row[i], guide[i], scale);
}

void logits_mask__ref(float *row, const uint32_t *words, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!(words[i >> 5] >> (i & 31) & 1)) row[i] = -__builtin_inff();
    }
}

double logits_sum_exp__ref(const float *row, uint32_t n, float best, float scale, float least) {
    double parts[PARTS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (is_counted(row[i], least)) parts[i % PARTS] += (double)exp__ref((row[i] - best) * scale);
    }
    return sum_parts(parts);
}

void logits_spread__ref(const float *row, uint32_t n, double *out) {
    double sums[PARTS] = {0}, squares[PARTS] = {0}, count = 0;
    float most = -__builtin_inff();
    for (uint32_t i = 0; i < n; i++) {
        if (!is_counted(row[i], -FLT_MAX)) continue;
        const double x = (double)row[i];
        sums[i % PARTS] += x;
        squares[i % PARTS] += x * x;
        count += 1;
        most = row[i] > most ? row[i] : most;
    }
    out[0] = (double)most;
    out[1] = count;
    out[2] = sum_parts(sums);
    out[3] = sum_parts(squares);
}

double logits_weigh__ref(const float *logits, uint32_t count, float scale, float *weights) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = exp__ref((logits[i] - logits[0]) * scale);
        sum += (double)weights[i];
    }
    return sum;
}

EXPORT("logits_guide")
void logits_guide(float *row, const float *guide, uint32_t n, float scale) {
    const v128_t factor = splat(scale);
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const v128_t g = load(guide + i);
        store(row + i, add(g, mul(factor, sub(load(row + i), g))));
    }
    for (; i < n; i++) row[i] = guided__ref(row[i], guide[i], scale);
}

EXPORT("logits_mask")
void logits_mask(float *row, const uint32_t *words, uint32_t n) {
    const v128_t banned = splat(-__builtin_inff()), bits = wasm_u32x4_make(1, 2, 4, 8);
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const uint32_t word = words[i >> 5];
        if (word == 0xffffffffu) continue;
        if (word == 0) {
            UNROLLED for (int j = 0; j < 32; j += 4) store(row + i + j, banned);
            continue;
        }
        UNROLLED for (int j = 0; j < 32; j += 4) {
            const v128_t allowed = wasm_i32x4_eq(wasm_v128_and(wasm_u32x4_splat(word >> j), bits), bits);
            store(row + i + j, wasm_v128_bitselect(load(row + i + j), banned, allowed));
        }
    }
    if (i < n) logits_mask__ref(row + i, words + (i >> 5), n - i);
}

/* Adds four floats to two pairs of partial sums. */
INLINE void add_parts(v128_t *parts, v128_t x) {
    parts[0] = wasm_f64x2_add(parts[0], wasm_f64x2_promote_low_f32x4(x));
    parts[1] = wasm_f64x2_add(parts[1], wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 0, 1)));
}
INLINE void add_squares(v128_t *parts, v128_t x) {
    const v128_t low = wasm_f64x2_promote_low_f32x4(x);
    const v128_t high = wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    parts[0] = wasm_f64x2_add(parts[0], wasm_f64x2_mul(low, low));
    parts[1] = wasm_f64x2_add(parts[1], wasm_f64x2_mul(high, high));
}
INLINE void store_parts(double *to, const v128_t *parts) {
    UNROLLED for (int j = 0; j < 4; j++) store(to + 2 * j, parts[j]);
}

EXPORT("logits_sum_exp")
double logits_sum_exp(const float *row, uint32_t n, float best, float scale, float least) {
    const struct exp_constants c = exp_constants();
    const v128_t from = splat(best), factor = splat(scale), bar = splat(least > -FLT_MAX ? least : -FLT_MAX);
    v128_t sums[4] = {0};
    uint32_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        UNROLLED for (int j = 0; j < 2; j++) {
            const v128_t x = load(row + i + 4 * j);
            add_parts(sums + 2 * j, wasm_v128_and(exp4(mul(sub(x, from), factor), &c), wasm_f32x4_ge(x, bar)));
        }
    }
    double parts[PARTS];
    store_parts(parts, sums);
    for (; i < n; i++) {
        if (is_counted(row[i], least)) parts[i % PARTS] += (double)exp__ref((row[i] - best) * scale);
    }
    return sum_parts(parts);
}

EXPORT("logits_spread")
void logits_spread(const float *row, uint32_t n, double *out) {
    const v128_t bar = splat(-FLT_MAX);
    v128_t sums[4] = {0}, squares[4] = {0}, banned = {0}, most = splat(-__builtin_inff());
    uint32_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        UNROLLED for (int j = 0; j < 2; j++) {
            const v128_t x = load(row + i + 4 * j), counted = wasm_f32x4_ge(x, bar), kept = wasm_v128_and(x, counted);
            banned = wasm_i32x4_sub(banned, wasm_v128_not(counted));
            most = wasm_f32x4_pmax(most, x);
            add_parts(sums + 2 * j, kept);
            add_squares(squares + 2 * j, kept);
        }
    }
    double parts[2][PARTS], count = i;
    float lanes[4];
    uint32_t missing[4];
    store_parts(parts[0], sums);
    store_parts(parts[1], squares);
    store(lanes, most);
    store(missing, banned);
    float largest = lanes[0];
    for (int l = 0; l < 4; l++) {
        count -= missing[l];
        largest = lanes[l] > largest ? lanes[l] : largest;
    }
    for (; i < n; i++) {
        if (!is_counted(row[i], -FLT_MAX)) continue;
        const double x = (double)row[i];
        parts[0][i % PARTS] += x;
        parts[1][i % PARTS] += x * x;
        count += 1;
        largest = row[i] > largest ? row[i] : largest;
    }
    out[0] = (double)largest;
    out[1] = count;
    out[2] = sum_parts(parts[0]);
    out[3] = sum_parts(parts[1]);
}

EXPORT("logits_weigh")
double logits_weigh(const float *logits, uint32_t count, float scale, float *weights) {
    const struct exp_constants c = exp_constants();
    const v128_t best = splat(logits[0]), factor = splat(scale);
    double sum = 0;
    for (uint32_t i = 0; i < count; i += 4) {
        store(weights + i, exp4(mul(sub(load(logits + i), best), factor), &c));
    }
    for (uint32_t i = 0; i < count; i++) sum += (double)weights[i];
    return sum;
}
