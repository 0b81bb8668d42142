/* Products in f64 for the solver. A separate module, without code from the engine.
 *
 *   c[i][j] += sign * sum_p a[i][p] b[j][p]     a: [m][depth], b: [n][depth], both by rows
 *
 *        b0 b1
 *   a0  [.. ..]   A tile has 4 rows and 2 columns. Each sum has two lanes, even and odd p, which are added
 *   a1  [.. ..]   at the end, and a last odd p after them. So a sum depends on its own row and column alone,
 *   a2  [.. ..]   never on the tile.
 *   a3  [.. ..]
 */
#include <wasm_simd128.h>

typedef const double *rows;

static double ends(v128_t sum) { return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1); }

static double dot(rows a, rows b, int depth) {
    v128_t sum = wasm_f64x2_const_splat(0);
    int p = 0;
    for (; p + 2 <= depth; p += 2)
        sum = wasm_f64x2_add(sum, wasm_f64x2_mul(wasm_v128_load(a + p), wasm_v128_load(b + p)));
    double total = ends(sum);
    return p < depth ? total + a[p] * b[p] : total;
}

static void tile(rows a, int a_stride, rows b, int b_stride, double *c, int c_stride, int depth, double sign) {
    v128_t sums[8];
    for (int t = 0; t < 8; t++) sums[t] = wasm_f64x2_const_splat(0);
    rows b1 = b + b_stride;
    int p = 0;
    for (; p + 2 <= depth; p += 2) {
        v128_t x = wasm_v128_load(b + p), y = wasm_v128_load(b1 + p);
#pragma clang loop unroll(full)
        for (int r = 0; r < 4; r++) {
            v128_t v = wasm_v128_load(a + r * a_stride + p);
            sums[2 * r] = wasm_f64x2_add(sums[2 * r], wasm_f64x2_mul(v, x));
            sums[2 * r + 1] = wasm_f64x2_add(sums[2 * r + 1], wasm_f64x2_mul(v, y));
        }
    }
    for (int r = 0; r < 4; r++) {
        double left = ends(sums[2 * r]), right = ends(sums[2 * r + 1]);
        if (p < depth) {
            left += a[r * a_stride + p] * b[p];
            right += a[r * a_stride + p] * b1[p];
        }
        c[r * c_stride] += sign * left;
        c[r * c_stride + 1] += sign * right;
    }
}

/* Strides count numbers. */
__attribute__((export_name("gemm"))) void gemm(rows a, int a_stride, rows b, int b_stride, double *c,
                                               int c_stride, int m, int n, int depth, double sign) {
    int j = 0;
    for (; j + 2 <= n; j += 2) {
        int i = 0;
        for (; i + 4 <= m; i += 4)
            tile(a + i * a_stride, a_stride, b + j * b_stride, b_stride, c + i * c_stride + j, c_stride, depth, sign);
        for (; i < m; i++)
            for (int q = j; q < j + 2; q++)
                c[i * c_stride + q] += sign * dot(a + i * a_stride, b + q * b_stride, depth);
    }
    for (; j < n; j++)
        for (int i = 0; i < m; i++)
            c[i * c_stride + j] += sign * dot(a + i * a_stride, b + j * b_stride, depth);
}
