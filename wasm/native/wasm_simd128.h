/* wasm_simd128.h: replaces clang's header of that name on this machine. In: simde. Out: the same operations, and the
 * relaxed ones where __wasm_relaxed_simd__ is defined.
 *
 * simde's relaxed operations behave like those of the host machine. These behave the same on every machine: dots like
 * Arm's, whose second operand is signed, and sums that end the program where machines would differ. */
#ifndef HALFBYTE_NATIVE_SIMD_H
#define HALFBYTE_NATIVE_SIMD_H
#define SIMDE_ENABLE_NATIVE_ALIASES
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#include <simde/wasm/simd128.h>
#pragma clang diagnostic pop

#define INLINE static inline
#define ROLLED
#define UNROLLED

#define wasm_u32x4_splat(x) wasm_i32x4_splat((int32_t)(x))
#define wasm_u32x4_make(a, b, c, d) wasm_i32x4_make((int32_t)(a), (int32_t)(b), (int32_t)(c), (int32_t)(d))

/* The instructions f32.min and f32.max: NaN if any operand is NaN, and -0 below 0. */
static inline float __builtin_wasm_min_f32(float a, float b) {
    if (a != a || b != b) return __builtin_nanf("");
    return a == b ? (__builtin_signbit(a) ? a : b) : a < b ? a : b;
}
static inline float __builtin_wasm_max_f32(float a, float b) {
    if (a != a || b != b) return __builtin_nanf("");
    return a == b ? (__builtin_signbit(a) ? b : a) : a > b ? a : b;
}

#if defined(__wasm_relaxed_simd__)
#define NATIVE_VERB static inline __attribute__((always_inline)) v128_t

/* Sums of products that overflow an i16 differ between machines. */
NATIVE_VERB wasm_i16x8_relaxed_dot_i8x16_i7x16(v128_t a, v128_t b) {
    int8_t x[16], w[16];
    int16_t sums[8];
    __builtin_memcpy(x, &a, 16);
    __builtin_memcpy(w, &b, 16);
    for (int i = 0; i < 8; i++) {
        const int sum = x[2 * i] * w[2 * i] + x[2 * i + 1] * w[2 * i + 1];
        if (sum > INT16_MAX) __builtin_trap();
        sums[i] = (int16_t)sum;
    }
    return wasm_v128_load(sums);
}
NATIVE_VERB wasm_i32x4_relaxed_dot_i8x16_i7x16_add(v128_t a, v128_t b, v128_t c) {
    return wasm_i32x4_add(wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_relaxed_dot_i8x16_i7x16(a, b)), c);
}
/* Indices of 16 to 127 give a different result on each machine. Here they give a number that no table is likely to
 * contain. */
NATIVE_VERB wasm_i8x16_relaxed_swizzle(v128_t a, v128_t index) {
    uint8_t from[16], at[16], to[16];
    __builtin_memcpy(from, &a, 16);
    __builtin_memcpy(at, &index, 16);
    for (int i = 0; i < 16; i++) to[i] = at[i] < 16 ? from[at[i]] : at[i] < 128 ? 0x5a : 0;
    return wasm_v128_load(to);
}
#endif
#endif
