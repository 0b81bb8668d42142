/* kv.h: keys and values of one position as they are stored. In: f32 [head_dim], a format. Out: a KV head's part.  exact
 *
 *   part of one KV head of a block of 64 positions, at position p:
 *   K f32    element d at ((p / 4) * head_dim + d) * 4 + p % 4
 *   K int8   code d at ((p / 4) * head_dim/4 + d / 4) * 16 + p % 4 * 4 + d % 4, then scales, offsets, sums
 *   V f32    element d at ((d / 4) * 64 + p) * 4 + d % 4
 *   V int8   code d at ((d / 4) * 16 + p / 4) * 16 + d % 4 * 4 + p % 4, then scales, offsets
 *   V fp8    code d at ((d / 4) * 64 + p) * 4 + d % 4, then scales
 *
 *   int8     low, high   smallest and largest element      scale = (high - low) / 255      offset = low + 128 * scale
 *            code  = nearest((x - low) * (255 / (high - low))) - 128, ties to even
 *            high - low below 2^-100: scale 0, codes -128 and offset low
 *   fp8      scale = max|x| / 31         code = nearest e3m4 of x * (31 / max|x|), ties to even
 *            e3m4: a sign, 3 bits of exponent with a bias of 3, 4 bits of mantissa; no infinities, no NaN
 *            below 2^-3: 0; from there to 2^-2: 2^-2, the smallest normal; max|x| below 2^-100: scale and codes 0
 *
 * A NaN or infinity shows up in the scale and offset, so it is not lost. */
#ifndef HALFBYTE_KV_H
#define HALFBYTE_KV_H
#include "simd/simd.h"

#define LEAST_RANGE 0x1p-100f
#define FP8_MOST 31.0f
/* e3m4 bits moved up by FP8_SHIFT, to f32's places, give the number over FP8_UNIT. The upper bits of an f32 of at least
 * 2^-2, moved down, are FP8_NONE + code. */
#define FP8_SHIFT 19
#define FP8_UNIT 0x1p124f
#define FP8_BITS 0x83f80000u
#define FP8_NONE (124u << 4)

INLINE uint32_t kv_codes_bytes(uint32_t format, uint32_t dim) {
    return BLOCK_POSITIONS * dim * (format == KV_F32 ? 4 : 1);
}
/* Bytes of one KV head's keys or values. */
INLINE uint32_t key_bytes(uint32_t format, uint32_t dim) {
    return kv_codes_bytes(format, dim) + (format == KV_INT8 ? 3 * BLOCK_POSITIONS * 4 : 0);
}
INLINE uint32_t value_bytes(uint32_t format, uint32_t dim) {
    return kv_codes_bytes(format, dim) + (format == KV_INT8 ? 2 : format == KV_FP8 ? 1 : 0) * BLOCK_POSITIONS * 4;
}
/* After the codes: scales, then offsets, then sums. */
INLINE float *kv_scales(uint8_t *part, uint32_t dim) { return (float *)(part + BLOCK_POSITIONS * dim); }
INLINE float *kv_offsets(uint8_t *part, uint32_t dim) { return kv_scales(part, dim) + BLOCK_POSITIONS; }
INLINE int32_t *kv_sums(uint8_t *part, uint32_t dim) { return (int32_t *)(kv_scales(part, dim) + 2 * BLOCK_POSITIONS); }

INLINE uint32_t key_at(uint32_t format, uint32_t dim, uint32_t p, uint32_t d) {
    return format == KV_F32 ? (p / 4 * dim + d) * 4 + p % 4 : (p / 4 * (dim / 4) + d / 4) * 16 + p % 4 * 4 + d % 4;
}
INLINE uint32_t value_at(uint32_t format, uint32_t p, uint32_t d) {
    return format == KV_INT8 ? (d / 4 * (BLOCK_POSITIONS / 4) + p / 4) * 16 + d % 4 * 4 + p % 4
                             : (d / 4 * BLOCK_POSITIONS + p) * 4 + d % 4;
}

/* Affine int8 codes of one vector: converts between codes and values. */
struct affine { float scale, offset, low, inverse; };
INLINE struct affine affine_of(float low, float high) {
    const float range = high - low, scale = range < LEAST_RANGE ? 0 : range / 255.0f;
    return (struct affine){scale, low + 128.0f * scale, low, range < LEAST_RANGE ? 0 : 255.0f / range};
}
INLINE struct affine affine_of_vector__ref(const float *x, uint32_t n) {
    float low = x[0], high = x[0];
    for (uint32_t i = 1; i < n; i++) {
        low = __builtin_wasm_min_f32(low, x[i]);
        high = __builtin_wasm_max_f32(high, x[i]);
    }
    return affine_of(low, high);
}
INLINE struct affine affine_of_vector(const float *x, uint32_t n) {
    v128_t low = load(x), high = low;
    for (uint32_t i = 4; i < n; i += 4) {
        low = wasm_f32x4_min(low, load(x + i));
        high = wasm_f32x4_max(high, load(x + i));
    }
    low = wasm_f32x4_min(low, wasm_i32x4_shuffle(low, low, 2, 3, 0, 1));
    high = wasm_f32x4_max(high, wasm_i32x4_shuffle(high, high, 2, 3, 0, 1));
    low = wasm_f32x4_min(low, wasm_i32x4_shuffle(low, low, 1, 0, 3, 2));
    high = wasm_f32x4_max(high, wasm_i32x4_shuffle(high, high, 1, 0, 3, 2));
    return affine_of(wasm_f32x4_extract_lane(low, 0), wasm_f32x4_extract_lane(high, 0));
}
INLINE int32_t code__ref(float x, struct affine of) {
    return (int32_t)(bits_of((x - of.low) * of.inverse + ROUNDER) - bits_of(ROUNDER)) - 128;
}
/* Four codes, as i32 lanes. */
INLINE v128_t codes(const float *x, struct affine of) {
    const v128_t shifted = add(mul(sub(load(x), splat(of.low)), splat(of.inverse)), splat(ROUNDER));
    return wasm_i32x4_sub(shifted, wasm_u32x4_splat(bits_of(ROUNDER) + 128));
}
/* The low bytes of four lanes that hold -128..127. */
INLINE uint32_t narrow4(v128_t v) {
    v = wasm_i16x8_narrow_i32x4(v, v);
    return (uint32_t)wasm_i32x4_extract_lane(wasm_i8x16_narrow_i16x8(v, v), 0);
}

INLINE uint8_t fp8_code__ref(float x, float inverse) {
    const float y = x * inverse, size = __builtin_fabsf(y);
    if (size < 0x1p-2f) return (uint8_t)((bits_of(y) >> 24 & 0x80) | (size < 0x1p-3f ? 0 : 16));
    const uint32_t u = bits_of(size), rounded = u + 0x3ffff + (u >> FP8_SHIFT & 1);
    return (uint8_t)((bits_of(y) >> 24 & 0x80) | ((rounded >> FP8_SHIFT) - FP8_NONE));
}
INLINE float fp8_value__ref(uint8_t code) {
    return float_of((uint32_t)(code & 0x80) << 24 | (uint32_t)(code & 0x7f) << FP8_SHIFT) * FP8_UNIT;
}
/* Four codes in the low bytes of the lanes. */
INLINE v128_t fp8_codes(const float *x, float inverse) {
    const v128_t y = mul(load(x), splat(inverse)), sign = wasm_u32x4_splat(0x80000000);
    const v128_t size = wasm_v128_andnot(y, sign);
    const v128_t odd = wasm_v128_and(wasm_u32x4_shr(size, FP8_SHIFT), wasm_u32x4_splat(1));
    const v128_t up = wasm_i32x4_add(wasm_i32x4_add(size, wasm_u32x4_splat(0x3ffff)), odd);
    const v128_t normal = wasm_i32x4_sub(wasm_u32x4_shr(up, FP8_SHIFT), wasm_u32x4_splat(FP8_NONE));
    const v128_t small = wasm_v128_andnot(wasm_u32x4_splat(16), wasm_f32x4_lt(size, splat(0x1p-3f)));
    const v128_t code = wasm_v128_bitselect(small, normal, wasm_f32x4_lt(size, splat(0x1p-2f)));
    return wasm_v128_or(code, wasm_u32x4_shr(wasm_v128_and(y, sign), 24));
}
INLINE float largest_of__ref(const float *x, uint32_t n) {
    float largest = 0;
    for (uint32_t i = 0; i < n; i++) largest = __builtin_wasm_max_f32(largest, __builtin_fabsf(x[i]));
    return largest;
}
INLINE float largest_of(const float *x, uint32_t n) {
    v128_t most = splat(0);
    for (uint32_t i = 0; i < n; i += 4) most = wasm_f32x4_max(most, wasm_f32x4_abs(load(x + i)));
    most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(most, 0);
}

static inline void write_key__ref(uint8_t *part, uint32_t format, uint32_t dim, uint32_t p, const float *k) {
    if (format == KV_F32) {
        for (uint32_t d = 0; d < dim; d++) ((float *)part)[key_at(format, dim, p, d)] = k[d];
        return;
    }
    const struct affine of = affine_of_vector__ref(k, dim);
    int32_t sum = 0;
    for (uint32_t d = 0; d < dim; d++) {
        const int32_t code = code__ref(k[d], of);
        part[key_at(format, dim, p, d)] = (uint8_t)code;
        sum += (int8_t)code;
    }
    kv_scales(part, dim)[p] = of.scale;
    kv_offsets(part, dim)[p] = of.offset;
    kv_sums(part, dim)[p] = sum * -64;
}
static inline void write_key(uint8_t *part, uint32_t format, uint32_t dim, uint32_t p, const float *k) {
    if (format == KV_F32) return write_key__ref(part, format, dim, p, k);
    const struct affine of = affine_of_vector(k, dim);
    uint32_t *words = (uint32_t *)(part + key_at(format, dim, p, 0));
    v128_t sums = wasm_i32x4_splat(0);
    for (uint32_t d = 0; d < dim; d += 4) {
        const v128_t four = codes(k + d, of);
        words[d] = narrow4(four);
        sums = wasm_i32x4_add(sums, four);
    }
    kv_scales(part, dim)[p] = of.scale;
    kv_offsets(part, dim)[p] = of.offset;
    kv_sums(part, dim)[p] = (int32_t)(sum_lanes(sums) * (uint32_t)-64);
}

static inline void write_value__ref(uint8_t *part, uint32_t format, uint32_t dim, uint32_t p, const float *v) {
    if (format == KV_F32) {
        for (uint32_t d = 0; d < dim; d++) ((float *)part)[value_at(format, p, d)] = v[d];
    } else if (format == KV_INT8) {
        const struct affine of = affine_of_vector__ref(v, dim);
        for (uint32_t d = 0; d < dim; d++) part[value_at(format, p, d)] = (uint8_t)code__ref(v[d], of);
        kv_scales(part, dim)[p] = of.scale;
        kv_offsets(part, dim)[p] = of.offset;
    } else {
        const float largest = largest_of__ref(v, dim), inverse = largest < LEAST_RANGE ? 0 : FP8_MOST / largest;
        for (uint32_t d = 0; d < dim; d++) part[value_at(format, p, d)] = fp8_code__ref(v[d], inverse);
        kv_scales(part, dim)[p] = largest < LEAST_RANGE ? 0 : largest / FP8_MOST;
    }
}
static inline void write_value(uint8_t *part, uint32_t format, uint32_t dim, uint32_t p, const float *v) {
    if (format == KV_F32) {
        float *at = (float *)part + p * 4;
        for (uint32_t d = 0; d < dim; d += 4) store(at + d * BLOCK_POSITIONS, load(v + d));
    } else if (format == KV_INT8) {
        const struct affine of = affine_of_vector(v, dim);
        for (uint32_t d = 0; d < dim; d += 4) {
            const uint32_t four = narrow4(codes(v + d, of));
            uint8_t *at = part + value_at(format, p, d);
            for (uint32_t e = 0; e < 4; e++) at[4 * e] = (uint8_t)(four >> 8 * e);
        }
        kv_scales(part, dim)[p] = of.scale;
        kv_offsets(part, dim)[p] = of.offset;
    } else {
        const float largest = largest_of(v, dim), inverse = largest < LEAST_RANGE ? 0 : FP8_MOST / largest;
        for (uint32_t d = 0; d < dim; d += 4) {
            const v128_t wide = wasm_i16x8_narrow_i32x4(fp8_codes(v + d, inverse), splat(0));
            *(uint32_t *)(part + value_at(format, p, d)) = (uint32_t)wasm_i32x4_extract_lane(wasm_u8x16_narrow_i16x8(wide, wide), 0);
        }
        kv_scales(part, dim)[p] = largest < LEAST_RANGE ? 0 : largest / FP8_MOST;
    }
}

/* The key that the stored codes represent. */
static inline void read_key(float *k, uint8_t *part, uint32_t format, uint32_t dim, uint32_t p) {
    for (uint32_t d = 0; d < dim; d++) {
        const uint32_t at = key_at(format, dim, p, d);
        k[d] = format == KV_F32 ? ((const float *)part)[at]
                                : kv_scales(part, dim)[p] * (float)(int8_t)part[at] + kv_offsets(part, dim)[p];
    }
}
#endif
