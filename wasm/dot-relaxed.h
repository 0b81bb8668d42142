/* dot-relaxed.h: exact integer dots of unsigned weight codes with signed activations. In: 8 weight vectors, activations.
 * Out: i32 lanes. Relaxed SIMD; dot-simd128.h has the same names and the same results. Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..3][input 4j..4j+3]        activations   i8 [32], one group of one token
 *   lane r of a sum belongs to row r: a 4-byte splat of the activations meets four rows at once.
 *
 * The relaxed dot is exact while its second operand is 0..127, and nibbles are 0..15. */

/* Tokens whose sums fit the registers together. */
#define TOKEN_TILE 4

/* One group of one token, ready for the dots. */
struct activations { const int8_t *codes; };
INLINE void prepare(struct activations *x, const int8_t *codes) { x->codes = codes; }

struct masks { v128_t low4; };
INLINE struct masks masks(void) { return (struct masks){constant(0x0f0f0f0f)}; }

/* low[t] += dots with the low nibbles, high[t] += dots with the high nibbles, of 8 vectors `step` bytes apart. */
INLINE void dot_nibbles(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                        struct masks masks, int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t l = wasm_v128_and(codes, masks.low4);
        const v128_t h = wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load_splat(x[t].codes + 4 * j);
            low[t] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, l, low[t]);
            high[t] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, h, high[t]);
            pin(low[t]);
            pin(high[t]);
        }
    }
}

/* dot[t] += dots with the unsigned bytes of 8 vectors `step` bytes apart: 16 times the high nibbles plus the low ones. */
INLINE void dot_bytes(v128_t *dot, const uint8_t *w, uint32_t step, const struct activations *x, struct masks masks,
                      int tokens) {
    v128_t high[TOKEN_TILE];
    UNROLLED for (int t = 0; t < tokens; t++) high[t] = wasm_i32x4_splat(0);
    dot_nibbles(dot, high, w, step, x, masks, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) dot[t] = wasm_i32x4_add(dot[t], wasm_i32x4_shl(high[t], 4));
}
