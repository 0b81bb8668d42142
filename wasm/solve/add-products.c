/* Products in f32 for the solver's sweeps, whose left operand has many zeros.
 *
 *   c[i][j] += sum_p a[i][p] b[p][j]     a: [m][depth], b: [depth][n], both by rows; p ascending, no fused multiply-add
 *
 *            b0 .. b11
 *   a0  [..  ..  ..]   A tile has 4 rows that are not all zero and 12 columns, and skips each p whose 4 factors are
 *   a1  [..  ..  ..]   zero: a sum depends on its own row and column alone, because adding zero changes nothing.
 *   a2  [..  ..  ..]   Columns are taken by the chunk, so that the rows of b stay in the first cache.
 *   a3  [..  ..  ..]
 */
#include <stdint.h>
#include <wasm_simd128.h>

/* Rows and inputs that a pass takes; larger products take several. */
enum { MAX_ROWS = 64, MAX_DEPTH = 32, ROWS = 4, VECTORS = 3, WIDTH = 4 * VECTORS, CHUNK = 8 * WIDTH };

/* Rows of c and a, and the p that any of them needs. */
struct tile {
    float *c[ROWS];
    const float *a[ROWS];
    int count;
    uint8_t inputs[MAX_DEPTH];
};

static int has_factor(const float *a, int depth) {
    for (int p = 0; p < depth; p++)
        if (a[p] != 0) return 1;
    return 0;
}

/* Fills the last tile up with its own last row, whose copy is computed and not written. */
static int take_tiles(struct tile *tiles, const float *a, int a_stride, float *c, int c_stride, int m, int depth) {
    int rows = 0;
    for (int i = 0; i < m; i++) {
        if (!has_factor(a + i * a_stride, depth)) continue;
        struct tile *own = &tiles[rows / ROWS];
        for (int r = rows % ROWS; r < ROWS; r++) {
            own->a[r] = a + i * a_stride;
            own->c[r] = c + i * c_stride;
        }
        rows++;
    }
    const int count = (rows + ROWS - 1) / ROWS;
    for (int t = 0; t < count; t++) {
        struct tile *own = &tiles[t];
        own->count = 0;
        for (int p = 0; p < depth; p++)
            if (own->a[0][p] != 0 || own->a[1][p] != 0 || own->a[2][p] != 0 || own->a[3][p] != 0)
                own->inputs[own->count++] = (uint8_t)p;
    }
    return count;
}

static void whole(const struct tile *own, const float *b, int b_stride, int j) {
    v128_t sums[ROWS][VECTORS];
#pragma clang loop unroll(full)
    for (int r = 0; r < ROWS; r++)
#pragma clang loop unroll(full)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = wasm_v128_load(own->c[r] + j + 4 * v);
    for (int at = 0; at < own->count; at++) {
        const int p = own->inputs[at];
        const float *row = b + p * b_stride + j;
        const v128_t x = wasm_v128_load(row), y = wasm_v128_load(row + 4), z = wasm_v128_load(row + 8);
#pragma clang loop unroll(full)
        for (int r = 0; r < ROWS; r++) {
            const v128_t factor = wasm_v128_load32_splat(own->a[r] + p);
            sums[r][0] = wasm_f32x4_add(sums[r][0], wasm_f32x4_mul(factor, x));
            sums[r][1] = wasm_f32x4_add(sums[r][1], wasm_f32x4_mul(factor, y));
            sums[r][2] = wasm_f32x4_add(sums[r][2], wasm_f32x4_mul(factor, z));
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < ROWS; r++)
#pragma clang loop unroll(full)
        for (int v = 0; v < VECTORS; v++) wasm_v128_store(own->c[r] + j + 4 * v, sums[r][v]);
}

/* Columns after the last whole tile. */
static void rest(const struct tile *own, const float *b, int b_stride, int first, int end) {
    for (int r = 0; r < ROWS && (r == 0 || own->c[r] != own->c[r - 1]); r++)
        for (int at = 0; at < own->count; at++) {
            const int p = own->inputs[at];
            for (int j = first; j < end; j++) own->c[r][j] += own->a[r][p] * b[p * b_stride + j];
        }
}

static void add(const float *a, int a_stride, const float *b, int b_stride, float *c, int c_stride, int m, int n,
                int depth) {
    struct tile tiles[MAX_ROWS / ROWS];
    const int count = take_tiles(tiles, a, a_stride, c, c_stride, m, depth);
    for (int first = 0; first < n; first += CHUNK) {
        const int end = first + CHUNK < n ? first + CHUNK : n;
        for (int t = 0; t < count; t++) {
            int j = first;
            for (; j + WIDTH <= end; j += WIDTH) whole(&tiles[t], b, b_stride, j);
            if (j < end) rest(&tiles[t], b, b_stride, j, end);
        }
    }
}

/* Strides count numbers. */
__attribute__((export_name("add_products"))) void add_products(const float *a, int a_stride, const float *b, int b_stride,
                                                               float *c, int c_stride, int m, int n, int depth) {
    for (int i = 0; i < m; i += MAX_ROWS)
        for (int p = 0; p < depth; p += MAX_DEPTH)
            add(a + i * a_stride + p, a_stride, b + p * b_stride, b_stride, c + i * c_stride, c_stride,
                m - i < MAX_ROWS ? m - i : MAX_ROWS, n, depth - p < MAX_DEPTH ? depth - p : MAX_DEPTH);
}
