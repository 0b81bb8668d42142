/* repack: moves rows as files store them into panels. In: rows of blocks of a GGUF type. Out: whole panels of an
 * encoding (abi.h).                                                                                            exact
 *
 *   from     8 * panels rows of `k` elements; k is a multiple of the type's block
 *   to       the panels
 *   pairs    Q4_0 -> w4, w4m, w8;  Q4_1, Q4_K -> w4m;  Q5_0, Q8_0 -> w8: the same codes, with scales rounded to f16
 *            Q5_K, Q6_K -> w8: the values, quantised again (src/core/weights/quantize-weights.ts)
 *   faults   u32, set to 1 if a scale or minimum has no f16 pattern; the panels are then useless
 *
 *   The bits are those of src/core/weights/relay.ts and pack-panels.ts, whose comments draw the layouts. f64 is used
 *   where they use it.                                                                             tile  one panel */
#include "core/kernel.h"
#include "core/sync.h"
#include "simd/simd.h"

/* 32 weights of a row: codes as bytes, and the f16 patterns of 2^8 times the scale and the minimum. */
struct coded { v128_t low, high; uint32_t scale, minimum; };

static const uint32_t BLOCK_BYTES_OF[] = {18, 20, 22, 34, 144, 176, 210};
static const uint32_t GROUPS_OF[] = {1, 1, 1, 1, 8, 8, 8};

INLINE uint32_t u16_at(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }

INLINE double double_of(uint64_t u) { double x; __builtin_memcpy(&x, &u, 8); return x; }

static double half_value(uint32_t pattern) {
    const uint32_t exponent = pattern >> 10 & 31, mantissa = pattern & 1023;
    const double sign = pattern & 0x8000 ? -1 : 1;
    if (exponent == 0) return sign * mantissa * 0x1p-24;
    const uint64_t wide = exponent == 31 ? 2047 : exponent - 15 + 1023;
    return sign * double_of(wide << 52 | (uint64_t)mantissa << 42);
}

/* The nearest f16 pattern, ties to even. Sets `fault` for infinity and NaN. */
static uint32_t half_of(double value, uint32_t *fault) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, 8);
    const uint32_t sign = (uint32_t)(bits >> 48) & 0x8000;
    const uint64_t size = bits & 0x7fffffffffffffff;
    if (size >= 0x40effe0000000000) {
        *fault = 1;
        return sign | 0x7c00;
    }
    /* Adding 2^52 rounds to a whole number, here of the smallest subnormals. */
    if (size < 0x3f10000000000000) return sign | (uint32_t)((double_of(size) * 0x1p24 + 0x1p52) - 0x1p52);
    return sign | (uint32_t)(((size + 0x1ffffffffff + (size >> 42 & 1)) >> 42) - (1008 << 10));
}

static uint32_t shifted(double scale, uint32_t *fault) { return half_of(scale * (1 << SCALE_EXPONENT), fault); }

static uint32_t shifted_half(const uint8_t *p, uint32_t *fault) {
    const uint32_t pattern = u16_at(p), exponent = pattern >> 10 & 31;
    if (exponent > 0 && exponent < 23) return pattern + (SCALE_EXPONENT << 10);
    return shifted(half_value(pattern), fault);
}

/* Scale and minimum `j` of the eight in the 12 bytes of Q4_K and Q5_K (src/core/formats/q4-k.ts). */
INLINE uint32_t scale_bits(const uint8_t *p, uint32_t j) {
    return j < 4 ? p[j] & 63u : (p[j + 4] & 15u) | (uint32_t)p[j - 4] >> 6 << 4;
}
INLINE uint32_t minimum_bits(const uint8_t *p, uint32_t j) {
    return j < 4 ? p[j + 4] & 63u : (uint32_t)p[j + 4] >> 4 | (uint32_t)p[j] >> 6 << 4;
}

/* Code i of group `group` in a block. */
static int code_of__ref(uint32_t stored, const uint8_t *block, uint32_t group, uint32_t i) {
    const uint32_t nibble = 4 * (i / 16), fifth = stored == STORED_Q5_0 ? block[2 + i / 8] >> i % 8 & 1 : 0;
    const uint32_t pair = 32 * (group / 2) + i, side = 4 * (group & 1), run = group / 4, quarter = group & 3;
    switch (stored) {
    case STORED_Q4_0: return (block[2 + i % 16] >> nibble & 15) - 8;
    case STORED_Q4_1: return block[4 + i % 16] >> nibble & 15;
    case STORED_Q5_0: return (int)((block[6 + i % 16] >> nibble & 15) | fifth << 4) - 16;
    case STORED_Q8_0: return (int8_t)block[2 + i];
    case STORED_Q4_K: return block[16 + pair] >> side & 15;
    case STORED_Q5_K: return (block[48 + pair] >> side & 15) | (block[16 + i] >> group & 1) << 4;
    default:
        return ((block[64 * run + 32 * (quarter & 1) + i] >> 4 * (quarter >> 1) & 15) |
                (block[128 + 32 * run + i] >> 2 * quarter & 3) << 4) - 32;
    }
}

static int is_rounded(uint32_t stored) { return stored == STORED_Q5_K || stored == STORED_Q6_K; }

/* Scale and minimum of elements 16 half .. 16 half + 15 of a group, as f32. */
static void factors(uint32_t stored, const uint8_t *block, uint32_t group, uint32_t half, float *scale,
                    float *minimum) {
    const uint32_t at = stored == STORED_Q6_K ? 208 : 0;
    const double d = half_value(u16_at(block + at));
    *minimum = 0;
    if (stored == STORED_Q6_K) *scale = (float)(d * (int8_t)block[192 + 2 * group + half]);
    else {
        *scale = (float)(d * scale_bits(block + 4, group));
        *minimum = (float)(-half_value(u16_at(block + 2)) * minimum_bits(block + 4, group));
    }
}

/* The scale's pattern and the inverse of its value, for 8-bit codes of values up to `peak`. */
static uint32_t scale_of_peak(float peak, double *inverse, uint32_t *fault) {
    if (!(peak < __builtin_inff())) *fault = 1;
    const uint32_t pattern = shifted((double)peak / 127, fault);
    const double scale = half_value(pattern) / (1 << SCALE_EXPONENT);
    *inverse = *fault || scale == 0 ? 0 : 1 / scale;
    return pattern;
}

/* The patterns of a group whose codes are kept. */
INLINE void patterns(uint32_t stored, uint32_t encoding, const uint8_t *block, uint32_t group, uint32_t *scale,
                     uint32_t *minimum, uint32_t *fault) {
    if (stored == STORED_Q4_K) {
        *scale = shifted(half_value(u16_at(block)) * scale_bits(block + 4, group), fault);
        *minimum = shifted(-half_value(u16_at(block + 2)) * minimum_bits(block + 4, group), fault);
        return;
    }
    *scale = shifted_half(block, fault);
    if (stored == STORED_Q4_1) *minimum = shifted_half(block + 2, fault);
    else if (encoding == ENC_W4M_G32) *minimum = shifted(-8 * half_value(u16_at(block)), fault);
}

/* A group of a row: 32 bytes of codes as the encoding stores them. */
static void group__ref(const struct op_repack *op, const uint8_t *block, uint32_t group, uint8_t *codes,
                       uint32_t *scale, uint32_t *minimum, uint32_t *fault) {
    const int zero = op->encoding == ENC_W8_G32 ? 128 : op->stored == STORED_Q4_0 ? 8 : 0;
    if (!is_rounded(op->stored)) {
        patterns(op->stored, op->encoding, block, group, scale, minimum, fault);
        for (uint32_t i = 0; i < 32; i++) codes[i] = (uint8_t)(code_of__ref(op->stored, block, group, i) + zero);
        return;
    }
    float values[32], peak = 0;
    for (uint32_t i = 0; i < 32; i++) {
        float factor, minimum_value;
        factors(op->stored, block, group, i / 16, &factor, &minimum_value);
        const float product = factor * (float)code_of__ref(op->stored, block, group, i);
        values[i] = op->stored == STORED_Q6_K ? product : product + minimum_value;
        const float size = __builtin_fabsf(values[i]);
        if (!(size <= peak)) peak = size;
    }
    double inverse;
    *scale = scale_of_peak(peak, &inverse, fault);
    if (*fault) return;
    for (uint32_t i = 0; i < 32; i++) {
        const int code = (int)((double)values[i] * inverse + 128.5);
        codes[i] = (uint8_t)(code > 255 ? 255 : code < 1 ? 1 : code);
    }
}

/* definition: OP_REPACK */
void repack__ref(const struct op_repack *op) {
    const uint32_t groups = op->k / GROUP, per = GROUPS_OF[op->stored];
    const uint32_t row_bytes = groups / per * BLOCK_BYTES_OF[op->stored];
    const uint32_t is_byte = op->encoding == ENC_W8_G32, heads = op->encoding == ENC_W4M_G32 ? 2 : 1;
    uint8_t *to = AT(uint8_t *, op->to);
    for (uint32_t panel = 0; panel < op->panels; panel++) {
        for (uint32_t g = 0; g < groups; g++, to += 16 * heads + (is_byte ? 256 : 128)) {
            uint8_t *codes = to + 16 * heads;
            __builtin_memset(codes, 0, is_byte ? 256 : 128);
            for (uint32_t r = 0; r < 8; r++) {
                const uint8_t *row = AT(const uint8_t *, op->from) + (panel * 8 + r) * row_bytes;
                uint8_t own[32] = {0};
                uint32_t head[2] = {0, 0};
                group__ref(op, row + g / per * BLOCK_BYTES_OF[op->stored], g % per, own, head, head + 1,
                           AT(uint32_t *, op->faults));
                for (uint32_t h = 0; h < heads; h++) {
                    to[16 * h + 4 * (r & 3) + 2 * (r >> 2)] = (uint8_t)head[h];
                    to[16 * h + 4 * (r & 3) + 2 * (r >> 2) + 1] = (uint8_t)(head[h] >> 8);
                }
                for (uint32_t i = 0; i < 32; i++) {
                    if (is_byte) codes[32 * (i / 4) + 4 * r + i % 4] = own[i];
                    else codes[16 * (i / 4) + 4 * (r & 3) + i % 4] |= (uint8_t)(own[i] << 4 * (r >> 2));
                }
            }
        }
    }
}

INLINE v128_t nibbles(v128_t bytes, uint32_t shift) {
    return wasm_v128_and(wasm_u8x16_shr(bytes, shift), wasm_i8x16_splat(15));
}

/* Bit i of the 16 bits at p in byte i, as 16 or 0. */
INLINE v128_t fifth_bits(const uint8_t *p) {
    const v128_t bits = wasm_i8x16_swizzle(wasm_i16x8_splat((int16_t)u16_at(p)),
                                           wasm_i8x16_const(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
    const v128_t each = wasm_i8x16_const(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
    return wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(bits, each), each), wasm_i8x16_splat(16));
}

/* 16 codes of a group: those of `half`. */
INLINE v128_t codes_of(uint32_t stored, const uint8_t *block, uint32_t group, uint32_t half) {
    const uint32_t pair = 16 + 32 * (group / 2) + 16 * half, side = 4 * (group & 1);
    const uint32_t run = group / 4, quarter = group & 3;
    switch (stored) {
    case STORED_Q4_0: return nibbles(load(block + 2), 4 * half);
    case STORED_Q4_1: return nibbles(load(block + 4), 4 * half);
    case STORED_Q5_0: return wasm_v128_or(nibbles(load(block + 6), 4 * half), fifth_bits(block + 2 + 2 * half));
    case STORED_Q8_0: return load(block + 2 + 16 * half);
    case STORED_Q4_K: return nibbles(load(block + pair), side);
    case STORED_Q5_K: {
        const v128_t fifth = wasm_v128_and(wasm_u8x16_shr(load(block + 16 + 16 * half), group), wasm_i8x16_splat(1));
        return wasm_v128_or(nibbles(load(block + 32 + pair), side), wasm_i8x16_shl(fifth, 4));
    }
    default: {
        const v128_t low = nibbles(load(block + 64 * run + 32 * (quarter & 1) + 16 * half), 4 * (quarter >> 1));
        const v128_t high = wasm_u8x16_shr(load(block + 128 + 32 * run + 16 * half), 2 * quarter);
        const v128_t top = wasm_i8x16_shl(wasm_v128_and(high, wasm_i8x16_splat(3)), 4);
        return wasm_i8x16_sub(wasm_v128_or(low, top), wasm_i8x16_splat(32));
    }
    }
}

/* Magnitudes so far, by lane: the largest, which ignores NaN, and the sum, which keeps it. */
struct sizes { v128_t peak, sum; };

/* values[0..16) = factor * codes + minimum. */
INLINE void values_of(uint32_t stored, v128_t codes, float factor, float minimum, struct sizes *sizes, v128_t *values) {
    const v128_t pairs[2] = {wasm_i16x8_extend_low_i8x16(codes), wasm_i16x8_extend_high_i8x16(codes)};
    for (int i = 0; i < 4; i++) {
        const v128_t pair = pairs[i / 2];
        const v128_t wide = i % 2 ? wasm_i32x4_extend_high_i16x8(pair) : wasm_i32x4_extend_low_i16x8(pair);
        v128_t value = mul(wasm_f32x4_convert_i32x4(wide), splat(factor));
        if (stored != STORED_Q6_K) value = add(value, splat(minimum));
        values[i] = value;
        const v128_t size = wasm_f32x4_abs(value);
        sizes->peak = wasm_f32x4_pmax(sizes->peak, size);
        sizes->sum = add(sizes->sum, size);
    }
}

/* The whole part of values * inverse + 128.5, which is positive. The low words of f64 from 2^52 are whole numbers. */
INLINE v128_t rounded(v128_t values, v128_t inverse) {
    const v128_t half = wasm_f64x2_splat(128.5), whole = wasm_f64x2_splat(0x1p52);
    const v128_t upper = wasm_i32x4_shuffle(values, values, 2, 3, 2, 3);
    const v128_t a = wasm_f64x2_add(wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(values), inverse), half);
    const v128_t b = wasm_f64x2_add(wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(upper), inverse), half);
    return wasm_i32x4_shuffle(wasm_f64x2_add(wasm_f64x2_floor(a), whole), wasm_f64x2_add(wasm_f64x2_floor(b), whole),
                              0, 2, 4, 6);
}

/* Four vectors of 32-bit codes as bytes from 1 to 255. */
INLINE v128_t narrowed(const v128_t *values, v128_t inverse) {
    const v128_t low = wasm_i16x8_narrow_i32x4(rounded(values[0], inverse), rounded(values[1], inverse));
    const v128_t high = wasm_i16x8_narrow_i32x4(rounded(values[2], inverse), rounded(values[3], inverse));
    return wasm_u8x16_max(wasm_u8x16_narrow_i16x8(low, high), wasm_i8x16_splat(1));
}

INLINE struct coded requantized(uint32_t stored, const uint8_t *block, uint32_t group, uint32_t *fault) {
    struct coded coded = {.minimum = 0};
    v128_t values[8];
    struct sizes sizes = {splat(0), splat(0)};
    for (uint32_t half = 0; half < 2; half++) {
        float factor, minimum;
        factors(stored, block, group, half, &factor, &minimum);
        values_of(stored, codes_of(stored, block, group, half), factor, minimum, &sizes, values + 4 * half);
    }
    v128_t peak = sizes.peak;
    peak = wasm_f32x4_pmax(peak, wasm_i32x4_shuffle(peak, peak, 2, 3, 0, 1));
    peak = wasm_f32x4_pmax(peak, wasm_i32x4_shuffle(peak, peak, 1, 0, 3, 2));
    /* Every finite magnitude is below 2^30, so the sum is finite unless one of them is not. */
    if (!(sum4(sizes.sum) < __builtin_inff())) *fault = 1;
    double inverse;
    coded.scale = scale_of_peak(wasm_f32x4_extract_lane(peak, 0), &inverse, fault);
    const v128_t inverses = wasm_f64x2_splat(inverse);
    coded.low = narrowed(values, inverses);
    coded.high = narrowed(values + 4, inverses);
    return coded;
}

INLINE struct coded kept(uint32_t stored, uint32_t encoding, const uint8_t *block, uint32_t group, uint32_t *fault) {
    struct coded coded = {codes_of(stored, block, group, 0), codes_of(stored, block, group, 1), 0, 0};
    patterns(stored, encoding, block, group, &coded.scale, &coded.minimum, fault);
    return coded;
}

static void read_group(const struct op_repack *op, const uint8_t *block, uint32_t group, struct coded *coded,
                       uint32_t *fault) {
    int8_t zero = 0;
    switch (op->stored) {
    case STORED_Q4_0: *coded = kept(STORED_Q4_0, op->encoding, block, group, fault), zero = 120; break;
    case STORED_Q4_1: *coded = kept(STORED_Q4_1, ENC_W4M_G32, block, group, fault); break;
    case STORED_Q5_0: *coded = kept(STORED_Q5_0, ENC_W8_G32, block, group, fault), zero = 112; break;
    case STORED_Q8_0: *coded = kept(STORED_Q8_0, ENC_W8_G32, block, group, fault), zero = -128; break;
    case STORED_Q4_K: *coded = kept(STORED_Q4_K, ENC_W4M_G32, block, group, fault); break;
    case STORED_Q5_K: *coded = requantized(STORED_Q5_K, block, group, fault); break;
    default: *coded = requantized(STORED_Q6_K, block, group, fault); break;
    }
    if (op->encoding != ENC_W8_G32) return;
    coded->low = wasm_i8x16_add(coded->low, wasm_i8x16_splat(zero));
    coded->high = wasm_i8x16_add(coded->high, wasm_i8x16_splat(zero));
}

/* Word r of vector j = word j of rows[r], written `pitch` bytes apart. */
INLINE void store_columns(v128_t a, v128_t b, v128_t c, v128_t d, uint8_t *to, uint32_t pitch) {
    const v128_t ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), cd = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5);
    const v128_t ab2 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7), cd2 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
    store(to, wasm_i64x2_shuffle(ab, cd, 0, 2));
    store(to + pitch, wasm_i64x2_shuffle(ab, cd, 1, 3));
    store(to + 2 * pitch, wasm_i64x2_shuffle(ab2, cd2, 0, 2));
    store(to + 3 * pitch, wasm_i64x2_shuffle(ab2, cd2, 1, 3));
}

INLINE v128_t heads_of(const struct coded *rows, uint32_t minimum) {
#define HEAD(r) (minimum ? rows[r].minimum | rows[r + 4].minimum << 16 : rows[r].scale | rows[r + 4].scale << 16)
    return wasm_u32x4_make(HEAD(0), HEAD(1), HEAD(2), HEAD(3));
#undef HEAD
}

/* Codes of 8 rows as bytes: vectors 2j and 2j + 1 have inputs 4j..4j+3 of rows 0..3 and 4..7. */
static void store_bytes(const struct coded *rows, uint8_t *to) {
    for (uint32_t r = 0; r < 8; r += 4, to += 16) {
        store_columns(rows[r].low, rows[r + 1].low, rows[r + 2].low, rows[r + 3].low, to, 32);
        store_columns(rows[r].high, rows[r + 1].high, rows[r + 2].high, rows[r + 3].high, to + 128, 32);
    }
}

/* Codes of 8 rows as nibbles: vector j has inputs 4j..4j+3, of rows 0..3 in the low nibbles and 4..7 in the high. */
static void store_nibbles(const struct coded *rows, uint8_t *to) {
    v128_t low[4], high[4];
    for (uint32_t r = 0; r < 4; r++) {
        low[r] = wasm_v128_or(rows[r].low, wasm_i8x16_shl(rows[r + 4].low, 4));
        high[r] = wasm_v128_or(rows[r].high, wasm_i8x16_shl(rows[r + 4].high, 4));
    }
    store_columns(low[0], low[1], low[2], low[3], to, 16);
    store_columns(high[0], high[1], high[2], high[3], to + 64, 16);
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    (void)step;
    return ((const struct op_repack *)o)->panels;
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_repack *op = (const struct op_repack *)o;
    const uint32_t groups = op->k / GROUP, per = GROUPS_OF[op->stored], block_bytes = BLOCK_BYTES_OF[op->stored];
    const uint32_t row_bytes = groups / per * block_bytes;
    const uint32_t head_bytes = op->encoding == ENC_W4M_G32 ? 32 : 16;
    const uint32_t code_bytes = op->encoding == ENC_W8_G32 ? 256 : 128;
    const uint8_t *from = AT(const uint8_t *, op->from) + t * 8 * row_bytes;
    uint8_t *to = AT(uint8_t *, op->to) + t * groups * (head_bytes + code_bytes);
    uint32_t fault = 0;
    ROLLED for (uint32_t g = 0; g < groups; g++, to += head_bytes + code_bytes) {
        struct coded rows[8];
        ROLLED for (uint32_t r = 0; r < 8; r++) {
            read_group(op, from + r * row_bytes + g / per * block_bytes, g % per, rows + r, &fault);
        }
        store(to, heads_of(rows, 0));
        if (head_bytes > 16) store(to + 16, heads_of(rows, 1));
        if (code_bytes > 128) store_bytes(rows, to + head_bytes);
        else store_nibbles(rows, to + head_bytes);
    }
    if (fault) atomic_write(AT(uint32_t *, op->faults), 1);
}

/* kernel: OP_REPACK repack plain */
const struct kernel repack = {tiles, tile};
