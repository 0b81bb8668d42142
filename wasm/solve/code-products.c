/* Products of 16-bit codes for calibration: twice to three times as fast as f32, and exact until they are scaled.
 *
 *   An operand has columns, each with a scale: value = code * scale. Its codes are pairs of neighbouring positions:
 *
 *   codes  [ceil(columns / 8)][pairs][8][2]     columns past the last are zero, and so is a last odd position
 *
 *   c[i][j] += (sum_p a[p][i] b[p][j]) * (scale_i * scale_j)     sums are int32, scaled in f64
 *
 *              b0 .. b7
 *   a0 .. a3  [..  ..]   A tile has 4 columns of a and 8 of b. The codes of a column have a norm below 2^15, so by the
 *                        Cauchy-Schwarz inequality no sum of any of its products reaches 2^31.
 */
#include <stdint.h>
#include <wasm_simd128.h>

#define UNROLLED _Pragma("clang loop unroll(full)")

enum { PANEL = 8 };

/* Rounding adds at most half of the square root of the depth, 512 at most, to the norm of a column's codes. */
static const double NORM = 32700;
/* A column with a smaller norm counts as zero. */
static const double LEAST_NORM = 1e-30;

/* The factor that makes codes of values, and the scale that undoes it: NaN if a value is not finite. */
static float take_scale(double squares, double *scale) {
    const double norm = __builtin_sqrt(squares);
    const float inverse = norm > LEAST_NORM ? (float)(NORM / norm) : 0;
    *scale = !(norm < __builtin_inf()) ? __builtin_nan("") : inverse == 0 ? 0 : 1 / (double)inverse;
    return inverse;
}

static v128_t rounded(v128_t values, v128_t inverse) {
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(wasm_f32x4_mul(values, inverse)));
}

static v128_t pairs_of(v128_t first, v128_t second) {
    return wasm_v128_or(wasm_v128_and(first, wasm_i32x4_const_splat(0xffff)), wasm_i32x4_shl(second, 16));
}

/* Four values, of which `count` exist. */
static v128_t load_some(const float *x, int count) {
    if (count >= 4) return wasm_v128_load(x);
    v128_t v = wasm_f32x4_const_splat(0);
    if (count > 0) v = wasm_v128_load32_lane(x, v, 0);
    if (count > 1) v = wasm_v128_load32_lane(x + 1, v, 1);
    if (count > 2) v = wasm_v128_load32_lane(x + 2, v, 2);
    return v;
}

static v128_t add_squares(v128_t sums, v128_t values) {
    return wasm_f64x2_add(sums, wasm_f64x2_mul(values, values));
}

static v128_t high(v128_t v) { return wasm_i32x4_shuffle(v, v, 2, 3, 2, 3); }

/* Codes of columns first..first + 3 of x, at `codes`, whose pairs are PANEL apart. */
static void code_four(const float *x, int stride, int rows, int count, int32_t *codes, double *scales) {
    v128_t low = wasm_f64x2_const_splat(0), up = low;
    for (int row = 0; row < rows; row++) {
        const v128_t v = load_some(x + row * stride, count);
        low = add_squares(low, wasm_f64x2_promote_low_f32x4(v));
        up = add_squares(up, wasm_f64x2_promote_low_f32x4(high(v)));
    }
    const v128_t inverse = wasm_f32x4_make(
        take_scale(wasm_f64x2_extract_lane(low, 0), scales), take_scale(wasm_f64x2_extract_lane(low, 1), scales + 1),
        take_scale(wasm_f64x2_extract_lane(up, 0), scales + 2), take_scale(wasm_f64x2_extract_lane(up, 1), scales + 3));
    for (int row = 0; row < rows; row += 2, codes += PANEL) {
        const v128_t first = rounded(load_some(x + row * stride, count), inverse);
        const v128_t second = row + 1 < rows ? rounded(load_some(x + (row + 1) * stride, count), inverse)
                                             : wasm_i32x4_const_splat(0);
        wasm_v128_store(codes, pairs_of(first, second));
    }
}

/* x: [rows][width] by `stride`; a column of x is one of the operand. */
__attribute__((export_name("code_columns"))) void code_columns(const float *x, int stride, int rows, int width,
                                                               int32_t *codes, double *scales) {
    const int pairs = (rows + 1) / 2;
    for (int first = 0; first < width; first += PANEL) {
        int32_t *panel = codes + first * pairs;
        for (int half = 0; half < PANEL; half += PANEL / 2)
            code_four(x + first + half, stride, rows, width - first - half, panel + half, scales + first + half);
    }
}

/* The sum of squares, as four sums of every fourth value. */
static double squares_of(const float *x, int width) {
    v128_t low = wasm_f64x2_const_splat(0), up = low;
    for (int i = 0; i < width; i += 4) {
        const v128_t v = load_some(x + i, width - i);
        low = add_squares(low, wasm_f64x2_promote_low_f32x4(v));
        up = add_squares(up, wasm_f64x2_promote_low_f32x4(high(v)));
    }
    return (wasm_f64x2_extract_lane(low, 0) + wasm_f64x2_extract_lane(low, 1)) +
           (wasm_f64x2_extract_lane(up, 0) + wasm_f64x2_extract_lane(up, 1));
}

/* x: [rows][width] by `stride`; a row of x is a column of the operand. */
__attribute__((export_name("code_rows"))) void code_rows(const float *x, int stride, int rows, int width, int32_t *codes,
                                                         double *scales) {
    const int pairs = (width + 1) / 2;
    for (int row = 0; row < (rows + PANEL - 1) / PANEL * PANEL; row++) {
        int32_t *own = codes + row / PANEL * pairs * PANEL + row % PANEL;
        const float *values = x + row * stride;
        const int count = row < rows ? width : 0;
        const v128_t inverse = wasm_f32x4_splat(take_scale(squares_of(values, count), scales + row));
        for (int i = 0; i < width; i += 4) {
            const v128_t codes_of = rounded(load_some(values + i, count - i), inverse);
            const v128_t words = wasm_i16x8_narrow_i32x4(codes_of, codes_of);
            own[i / 2 * PANEL] = wasm_i32x4_extract_lane(words, 0);
            if (i + 2 < width) own[(i / 2 + 1) * PANEL] = wasm_i32x4_extract_lane(words, 1);
        }
    }
}

/* The first two sums in f64, times the scales of their two columns. */
static v128_t scaled(v128_t sums, double scale, const double *scales) {
    const v128_t both = wasm_f64x2_mul(wasm_f64x2_splat(scale), wasm_v128_load(scales));
    return wasm_f64x2_mul(wasm_f64x2_convert_low_i32x4(sums), both);
}

static void add_wide(double *c, v128_t sums, double scale, const double *scales) {
    wasm_v128_store(c, wasm_f64x2_add(wasm_v128_load(c), scaled(sums, scale, scales)));
    wasm_v128_store(c + 2, wasm_f64x2_add(wasm_v128_load(c + 2), scaled(high(sums), scale, scales + 2)));
}

static void add_narrow(float *c, v128_t sums, double scale, const double *scales) {
    const v128_t low = wasm_f32x4_demote_f64x2_zero(scaled(sums, scale, scales));
    const v128_t up = wasm_f32x4_demote_f64x2_zero(scaled(high(sums), scale, scales + 2));
    wasm_v128_store(c, wasm_f32x4_add(wasm_v128_load(c), wasm_i32x4_shuffle(low, up, 0, 1, 4, 5)));
}

/* Four columns of a from `quad`, and a panel of b. */
static inline __attribute__((always_inline)) void tile(const int32_t *quad, const double *quad_scales, const int32_t *b,
                                                       const double *b_scales, int pairs, void *c, int stride,
                                                       const int is_wide) {
    v128_t sums[4][2];
    UNROLLED
    for (int r = 0; r < 4; r++) sums[r][0] = sums[r][1] = wasm_i32x4_const_splat(0);
    for (int p = 0; p < pairs; p++, quad += PANEL, b += PANEL) {
        const v128_t low = wasm_v128_load(b), up = wasm_v128_load(b + 4);
        UNROLLED
        for (int r = 0; r < 4; r++) {
            const v128_t own = wasm_v128_load32_splat(quad + r);
            sums[r][0] = wasm_i32x4_add(sums[r][0], wasm_i32x4_dot_i16x8(own, low));
            sums[r][1] = wasm_i32x4_add(sums[r][1], wasm_i32x4_dot_i16x8(own, up));
        }
    }
    UNROLLED
    for (int t = 0; t < 8; t++) {
        const int r = t / 2, h = t % 2, at = r * stride + 4 * h;
        if (is_wide) add_wide((double *)c + at, sums[r][h], quad_scales[r], b_scales + 4 * h);
        else add_narrow((float *)c + at, sums[r][h], quad_scales[r], b_scales + 4 * h);
    }
}

/* Columns of c in panels first, first + step, .. and all rows; with `is_lower`, those from the panel on. */
static inline __attribute__((always_inline)) void add(const int32_t *a, const double *a_scales, int panels,
                                                      const int32_t *b, const double *b_scales, int b_panels,
                                                      int first, int step, int pairs, void *c, int stride, int is_lower,
                                                      const int is_wide) {
    const unsigned bytes = is_wide ? sizeof(double) : sizeof(float);
    for (int j = first; j < b_panels; j += step)
        for (int i = is_lower ? j : 0; i < panels; i++)
            for (int half = 0; half < PANEL; half += PANEL / 2) {
                const unsigned row = i * PANEL + half, at = row * (unsigned)stride + (unsigned)j * PANEL;
                tile(a + i * pairs * PANEL + half, a_scales + row, b + j * pairs * PANEL, b_scales + j * PANEL, pairs,
                     (char *)c + at * bytes, stride, is_wide);
            }
}

__attribute__((export_name("add_code_sums"))) void add_code_sums(const int32_t *a, const double *a_scales, int panels,
                                                                 const int32_t *b, const double *b_scales, int b_panels,
                                                                 int first, int step, int pairs, double *c, int stride,
                                                                 int is_lower) {
    add(a, a_scales, panels, b, b_scales, b_panels, first, step, pairs, c, stride, is_lower, 1);
}

__attribute__((export_name("add_code_rows"))) void add_code_rows(const int32_t *a, const double *a_scales, int panels,
                                                                 const int32_t *b, const double *b_scales, int b_panels,
                                                                 int first, int step, int pairs, float *c, int stride,
                                                                 int is_lower) {
    add(a, a_scales, panels, b, b_scales, b_panels, first, step, pairs, c, stride, is_lower, 0);
}
