/* wkv: the weighted average of RWKV-4 (Peng et al., 2023, appendix D), over one sequence's rows.               exact
 *
 *   top = max(m, first + k), old = e^(m - top), new = e^(first + k - top)
 *   y   = (old num + new v) / (old den + new)
 *   top = max(m + decay, k), keep = e^(m + decay - top), take = e^(k - top)
 *   num = keep num + take v, den = keep den + take, m = top
 *
 *   k, v, y       f32 rows of `channels`      decay (below 0), first   f32 rows
 *   state         f32 [num | den | m][channels]     in the sequence's slab. den is 0 before the first row only; m then
 *                 counts as EMPTY
 *
 *   tile          one sequence, CHANNELS channels, its rows in order */
#include "core/kernel.h"
#include "simd/simd.h"

enum { CHANNELS = GROUP };
#define EMPTY -1e30f

/* definition: OP_WKV */
void wkv__ref(const struct op_wkv *op, const struct step *step, uint32_t s) {
    const struct sequence *sequence = sequence_at(step, s);
    float *num = AT(float *, sequence->tables[op->group] + op->state_offset);
    float *den = num + op->channels, *most = den + op->channels;
    for (uint32_t row = sequence->row0; row < sequence->row0 + sequence->rows; row++) {
        const float *keys = AT(const float *, op->k + row * op->k_stride);
        const float *values = AT(const float *, op->v + row * op->v_stride);
        for (uint32_t c = 0; c < op->channels; c++) {
            const float k = keys[c], v = values[c], m = den[c] == 0 ? EMPTY : most[c];
            const float now = k + AT(const float *, op->first)[c], later = m + AT(const float *, op->decay)[c];
            const float top = m < now ? now : m, next = later < k ? k : later;
            const float old = exp__ref(m - top), new = exp__ref(now - top);
            AT(float *, op->y + row * op->y_stride)[c] = (old * num[c] + new * v) / (old * den[c] + new);
            const float keep = exp__ref(later - next), take = exp__ref(k - next);
            num[c] = keep * num[c] + take * v;
            den[c] = keep * den[c] + take;
            most[c] = next;
        }
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * (((const struct op_wkv *)o)->channels / CHANNELS);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_wkv *op = (const struct op_wkv *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t first = t / step->sequences * CHANNELS;
    const struct exp_constants e = exp_constants();
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    ROLLED for (uint32_t c = first; c < first + CHANNELS; c += 4) {
        const v128_t bonus = load(AT(const float *, op->first) + c), decay = load(AT(const float *, op->decay) + c);
        float *at = state + c;
        v128_t num = load(at), den = load(at + op->channels), m = load(at + 2 * op->channels);
        ROLLED for (uint32_t row = sequence->row0; row < sequence->row0 + sequence->rows; row++) {
            const v128_t k = load(AT(const float *, op->k + row * op->k_stride) + c);
            const v128_t v = load(AT(const float *, op->v + row * op->v_stride) + c);
            m = wasm_v128_bitselect(splat(EMPTY), m, wasm_f32x4_eq(den, splat(0)));
            const v128_t now = add(k, bonus), later = add(m, decay);
            const v128_t top = wasm_f32x4_pmax(m, now), next = wasm_f32x4_pmax(later, k);
            enum { OLD, NEW, KEEP, TAKE };
            v128_t w[4] = {sub(m, top), sub(now, top), sub(later, next), sub(k, next)};
            exp_vectors(w, 4, &e);
            const v128_t sum = add(mul(w[OLD], num), mul(w[NEW], v));
            store(AT(float *, op->y + row * op->y_stride) + c, wasm_f32x4_div(sum, add(mul(w[OLD], den), w[NEW])));
            num = add(mul(w[KEEP], num), mul(w[TAKE], v));
            den = add(mul(w[KEEP], den), w[TAKE]);
            m = next;
        }
        store(at, num);
        store(at + op->channels, den);
        store(at + 2 * op->channels, m);
    }
}

/* kernel: OP_WKV wkv plain */
const struct kernel wkv = {tiles, tile};
