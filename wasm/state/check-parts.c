/* check_parts: the work that all threads share when saved state is read. In: parts of the state. Out: their memory, or
 * their checksums.                                                                                             exact
 *
 *   parts  u32 [count][6]: address, bytes (a multiple of 64), the four lanes of its checksum
 *
 *   touch 1   writes a zero to each page. The operating system provides a page at its first write, which takes longer
 *             than filling it. The rest is not written, and old contents are lost.          tile  a quarter of one part
 *   touch 0   lanes h of a part, one word of each four per lane, from {bytes, 1, 2, 3}:     tile  one part
 *             h = rotl(h ^ word, 15) * 0x9e3779b1        the same as src/core/base/sha256.ts */
#include "core/kernel.h"
#include "simd/simd.h"

enum { PAGE = 4096, QUARTERS = 4 };
struct part { uint32_t address, bytes, sum[4]; };

static void touch(const struct part *part, uint32_t quarter) {
    const uint32_t begin = part->bytes / QUARTERS * quarter;
    for (uint32_t at = begin; at < begin + part->bytes / QUARTERS; at += PAGE) {
        *AT(volatile uint32_t *, part->address + at) = 0;
    }
}

static void sum_part__ref(struct part *part) {
    const uint32_t *words = AT(const uint32_t *, part->address);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t lane = i == 0 ? part->bytes : i;
        for (uint32_t at = i; at < part->bytes / 4; at += 4) {
            lane ^= words[at];
            lane = (lane << 15 | lane >> 17) * 0x9e3779b1;
        }
        part->sum[i] = lane;
    }
}

/* definition: OP_CHECK_PARTS */
void check_parts__ref(const struct op_check_parts *op) {
    for (uint32_t i = 0; i < op->count; i++) sum_part__ref(AT(struct part *, op->parts) + i);
}

static void sum_part(struct part *part) {
    v128_t lanes = wasm_u32x4_make(part->bytes, 1, 2, 3);
    const v128_t factor = wasm_u32x4_splat(0x9e3779b1);
    for (uint32_t at = 0; at < part->bytes; at += 16) {
        lanes = wasm_v128_xor(lanes, load(AT(const void *, part->address + at)));
        lanes = wasm_i32x4_mul(wasm_v128_or(wasm_i32x4_shl(lanes, 15), wasm_u32x4_shr(lanes, 17)), factor);
    }
    store(part->sum, lanes);
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    (void)step;
    const struct op_check_parts *op = (const struct op_check_parts *)o;
    return op->touch ? op->count * QUARTERS : op->count;
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_check_parts *op = (const struct op_check_parts *)o;
    struct part *parts = AT(struct part *, op->parts);
    if (op->touch) touch(parts + t / QUARTERS, t % QUARTERS);
    else sum_part(parts + t);
}

/* kernel: OP_CHECK_PARTS check_parts plain */
const struct kernel check_parts = {tiles, tile};
