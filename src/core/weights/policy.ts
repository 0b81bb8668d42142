// The precisions that a caller may request for weights.

/**
 * `auto`: the file's own precision. `f32`: everything dequantised. `w8`, `w4`: matrices in 8 or 4 bits.
 * Matrices that already have so few bits are kept, but with `w4`, IQ2_XXS and IQ3_XXS get the nearest codes.
 * The embedding and the logits matrix keep 8 bits unless the file itself has 4. `w4_channel`: like `w4`, but
 * all other matrices get 4 bits with one scale per output.
 */
export type WeightPolicy = 'auto' | 'f32' | 'w8' | 'w4' | 'w4_channel'
export const WEIGHT_POLICIES: readonly WeightPolicy[] = ['auto', 'f32', 'w8', 'w4', 'w4_channel']
