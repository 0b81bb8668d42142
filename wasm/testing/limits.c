/* limits.c: the peak speeds of this machine, for the benchmark. In: sizes. Out: the work done. */
#include "simd/simd.h"

/* Reads `bytes` (a multiple of 128) in order, one stream. */
__attribute__((export_name("read_stream")))
uint32_t read_stream(const uint8_t *p, uint32_t bytes) {
    v128_t sums[4];
    UNROLLED for (int i = 0; i < 4; i++) sums[i] = wasm_i32x4_splat(0);
    for (const uint8_t *end = p + bytes; p < end; p += 128) {
        UNROLLED for (int i = 0; i < 8; i++) sums[i % 4] = wasm_i32x4_add(sums[i % 4], load(p + 16 * i));
    }
    const v128_t sum = wasm_i32x4_add(wasm_i32x4_add(sums[0], sums[1]), wasm_i32x4_add(sums[2], sums[3]));
    return (uint32_t)(wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) + wasm_i32x4_extract_lane(sum, 2));
}

INLINE v128_t quads(v128_t sum, v128_t x, v128_t w) {
#if defined(__wasm_relaxed_simd__)
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, sum);
#else
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x));
#endif
}
INLINE v128_t pairs(v128_t sum, v128_t x, v128_t w) {
#if defined(__wasm_relaxed_simd__)
    return wasm_i16x8_add(sum, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
#else
    return quads(sum, x, w);
#endif
}

/* `rounds` times 8 dots with the operands in registers: nibbles for relaxed, i16 pairs otherwise. */
INLINE uint32_t peak(uint32_t rounds, uint32_t seed, v128_t (*dot)(v128_t, v128_t, v128_t)) {
    v128_t x[2], w[4], sums[8];
    for (int i = 0; i < 2; i++) x[i] = wasm_i32x4_splat((int32_t)seed * (i + 1));
    for (int i = 0; i < 4; i++) w[i] = wasm_v128_and(wasm_i32x4_splat((int32_t)seed + i), wasm_i8x16_splat(15));
    for (int i = 0; i < 8; i++) sums[i] = wasm_i32x4_splat(i);
    ROLLED for (uint32_t r = 0; r < rounds; r++) {
        UNROLLED for (int i = 0; i < 8; i++) {
            sums[i] = dot(sums[i], x[i / 4], w[i % 4]);
            pin(sums[i]);
        }
        for (int i = 0; i < 2; i++) x[i] = wasm_i32x4_add(x[i], w[i]);
    }
    v128_t sum = sums[0];
    for (int i = 1; i < 8; i++) sum = wasm_i32x4_add(sum, sums[i]);
    return (uint32_t)wasm_i32x4_extract_lane(sum, 0);
}

__attribute__((export_name("dot_peak")))
uint32_t dot_peak(uint32_t rounds, uint32_t seed) { return peak(rounds, seed, quads); }
__attribute__((export_name("dot_peak_pairs")))
uint32_t dot_peak_pairs(uint32_t rounds, uint32_t seed) { return peak(rounds, seed, pairs); }
