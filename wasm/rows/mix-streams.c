/* mix_streams: adds to each stream of a row a mixture of other streams. In: f32 rows. Out: f32 rows.           exact
 *
 *   streams  i of `streams`: the n columns from i * apart on; apart is a multiple of 32, at least n
 *   y[i]     x[i] for i < first. Else x[i] + a[0] * z[0] + a[1] * z[1] ..., in this order, with the coefficients
 *            a[j] = offset + c[m][i * inputs + j], or offset where there is no c
 *
 *   tile     one row, up to COLUMN_CHUNK columns of every stream */
#include "core/kernel.h"
#include "simd/simd.h"

static float coefficient(const struct op_mix_streams *op, uint32_t m, uint32_t i, uint32_t j) {
    return op->c ? op->offset + AT(const float *, op->c + m * op->c_stride)[i * op->inputs + j] : op->offset;
}

/* definition: OP_MIX_STREAMS */
void mix_streams__ref(const struct op_mix_streams *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride), *z = AT(const float *, op->z + m * op->z_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < op->streams; i++) {
        for (uint32_t k = 0; k < round_up(op->n, GROUP); k++) {
            float sum = x[i * op->apart + k];
            for (uint32_t j = 0; i >= op->first && j < op->inputs; j++)
                sum += coefficient(op, m, i, j) * z[j * op->apart + k];
            y[i * op->apart + k] = sum;
        }
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_mix_streams *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_mix_streams *op = (const struct op_mix_streams *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const uint32_t to = min_u32(from + COLUMN_CHUNK, round_up(op->n, GROUP));
    const float *x = AT(const float *, op->x + m * op->x_stride), *z = AT(const float *, op->z + m * op->z_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < op->streams; i++) {
        const float *from_x = x + i * op->apart;
        float *sum = y + i * op->apart;
        for (uint32_t k = from; k < to; k += 4) store(sum + k, load(from_x + k));
        for (uint32_t j = 0; i >= op->first && j < op->inputs; j++) {
            const v128_t a = splat(coefficient(op, m, i, j));
            const float *from_z = z + j * op->apart;
            for (uint32_t k = from; k < to; k += 4) store(sum + k, add(load(sum + k), mul(a, load(from_z + k))));
        }
    }
}

/* kernel: OP_MIX_STREAMS mix_streams plain */
const struct kernel mix_streams = {tiles, tile};
