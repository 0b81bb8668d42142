// What readers return for 32 elements of a quantised row: codes, scales and minimums.

/** Views of the same bytes, for inner loops. */
export interface RowViews {
  readonly u8: Uint8Array
  readonly i8: Int8Array
  readonly u16: Uint16Array
  readonly u32: Uint32Array
  readonly f32: Float32Array
}

/** W[i] = scales[h] * codes[i] + minimums[h], where h is 0 for the first 16 elements and 1 for the others. */
export interface CodedGroup {
  readonly codes: Int16Array
  /**
   * f32, because ggml's definitions multiply in f32. Both are equal if the dtype's groups have 32 elements.
   */
  readonly scales: Float32Array
  /** Zeros if the dtype has no minimums. */
  readonly minimums: Float32Array
}

export const codedGroup = (): CodedGroup => ({
  codes: new Int16Array(32),
  scales: new Float32Array(2),
  minimums: new Float32Array(2),
})

/** Reads group `index` of 32 elements, counted over all of `rows`. */
export type GroupReader = (rows: RowViews, index: number, out: CodedGroup) => void

/** How to read the rows of a dtype that is stored in coded groups. */
export interface Coding {
  readonly read: GroupReader
  /** True if elements have minimums. */
  readonly hasMinimum: boolean
}
