/* adler: the checksum of a stored file's chunk. In: bytes and the sum of those before. Out: the sum of both.   exact
 *
 *   sum   Adler-32 that begins with 0:  low = sum of the bytes;  high = sum of low after each byte;  both modulo 65521
 *
 *   The bits are those of src/core/store/device/sums.ts.
 *
 *   A run is short enough that no 32-bit sum overflows. Of each 16 bytes, `weighted` adds byte i 16 - i times, and
 *   `before` counts the bytes of the run that came earlier, which high gains 16 times. */
#include "simd/simd.h"

enum { MODULUS = 65521, RUN = 5552 };

INLINE uint32_t lanes_sum(v128_t v) {
    return (uint32_t)wasm_i32x4_extract_lane(v, 0) + (uint32_t)wasm_i32x4_extract_lane(v, 1) +
           (uint32_t)wasm_i32x4_extract_lane(v, 2) + (uint32_t)wasm_i32x4_extract_lane(v, 3);
}

__attribute__((export_name("adler")))
uint32_t adler(uint32_t sum, const uint8_t *bytes, uint32_t count) {
    uint32_t low = sum & 0xffff, high = sum >> 16;
    const v128_t first = wasm_i16x8_const(16, 15, 14, 13, 12, 11, 10, 9);
    const v128_t second = wasm_i16x8_const(8, 7, 6, 5, 4, 3, 2, 1);
    for (uint32_t at = 0; at + 16 <= count;) {
        const uint32_t length = min_u32(count - at, RUN) & ~15u;
        v128_t total = wasm_i32x4_splat(0), before = total, weighted = total;
        for (const uint8_t *p = bytes + at; p < bytes + at + length; p += 16) {
            const v128_t sixteen = load(p);
            const v128_t left = wasm_u16x8_extend_low_u8x16(sixteen), right = wasm_u16x8_extend_high_u8x16(sixteen);
            before = wasm_i32x4_add(before, total);
            total = wasm_i32x4_add(total, wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(sixteen)));
            weighted = wasm_i32x4_add(weighted, wasm_i32x4_dot_i16x8(left, first));
            weighted = wasm_i32x4_add(weighted, wasm_i32x4_dot_i16x8(right, second));
        }
        high = (high + length * low + 16 * lanes_sum(before) + lanes_sum(weighted)) % MODULUS;
        low = (low + lanes_sum(total)) % MODULUS;
        at += length;
    }
    for (uint32_t i = count & ~15u; i < count; i++) {
        low += bytes[i];
        high += low;
    }
    return high % MODULUS << 16 | low % MODULUS;
}
