// Products of 16-bit codes in TypeScript, with the bits of wasm/solve/code-products.c, which has the layout.
// Addresses are bytes in one memory.

/** Columns of a panel. */
export const PANEL = 8
/** Maximum positions over which codes are multiplied, so that sums fit in 32 bits. */
export const MAX_DEPTH = 512
/** Norm of a column's codes. */
const NORM = 32700
/** A column with a smaller norm counts as zero. */
const LEAST_NORM = 1e-30

/** Columns of values as codes and scales, in the memory. */
export interface Operand {
  readonly codes: number
  readonly scales: number
  readonly panels: number
  /** Pairs of neighbouring positions. */
  readonly pairs: number
}

/** c[i][j] += sum_p a[p][i] b[p][j], for columns j in panels first, first + step, .. */
export interface CodeCall {
  readonly a: Operand
  readonly b: Operand
  readonly first: number
  readonly step: number
  /** The address of c, and the numbers from one of its rows to the next. */
  readonly c: number
  readonly stride: number
  /** f64, or f32. */
  readonly type: 'sums' | 'rows'
  /** Only panels of rows from the column's panel on. */
  readonly isLower: boolean
}

export interface CodeKernels {
  /** x: the address of f32 [rows][width] by `stride`; a column of x is one of the operand. */
  codeColumns(x: number, stride: number, rows: number, width: number, to: Operand): void
  /** A row of x is a column of the operand. */
  codeRows(x: number, stride: number, rows: number, width: number, to: Operand): void
  add(call: CodeCall): void
}

/** Codes of one column, read by `valueAt`. */
function codeColumn(depth: number, squares: number, valueAt: (at: number) => number, write: Writer): void {
  const norm = Math.sqrt(squares)
  const inverse = norm > LEAST_NORM ? Math.fround(NORM / norm) : 0
  write.scale(!(norm < Number.POSITIVE_INFINITY) ? Number.NaN : inverse === 0 ? 0 : 1 / inverse)
  for (let at = 0; at < depth; at++) write.code(at, nearest(Math.fround(valueAt(at) * inverse)))
}

interface Writer {
  scale(value: number): void
  code(at: number, code: number): void
}

/** Adding it leaves no fraction bits in f32, so halves go to even. */
const ROUNDER = 12582912

const nearest = (value: number): number =>
  Number.isNaN(value) ? 0 : Math.fround(Math.fround(value + ROUNDER) - ROUNDER)

export function plainCodes(memory: ArrayBufferLike): CodeKernels {
  const f32 = new Float32Array(memory)
  const f64 = new Float64Array(memory)
  const i16 = new Int16Array(memory)
  const writer = ({ codes, scales, pairs }: Operand, column: number): Writer => {
    const base = codes / 2 + (Math.floor(column / PANEL) * pairs * PANEL + (column % PANEL)) * 2
    for (let pair = 0; pair < pairs; pair++) i16.fill(0, base + pair * PANEL * 2, base + pair * PANEL * 2 + 2)
    return {
      scale(value) {
        f64[scales / 8 + column] = value
      },
      code(at, code) {
        i16[base + (at >> 1) * PANEL * 2 + (at & 1)] = code
      },
    }
  }
  return {
    codeColumns(x, stride, rows, width, to) {
      for (let column = 0; column < to.panels * PANEL; column++) {
        const valueAt = (row: number) => (column < width ? f32[x / 4 + row * stride + column]! : 0)
        let squares = 0
        for (let row = 0; row < rows; row++) squares += valueAt(row) ** 2
        codeColumn(rows, squares, valueAt, writer(to, column))
      }
    },
    codeRows(x, stride, rows, width, to) {
      for (let row = 0; row < to.panels * PANEL; row++) {
        const valueAt = (i: number) => (row < rows ? f32[x / 4 + row * stride + i]! : 0)
        const sums = [0, 0, 0, 0]
        for (let i = 0; i < width; i++) sums[i & 3]! += valueAt(i) ** 2
        codeColumn(width, sums[0]! + sums[1]! + (sums[2]! + sums[3]!), valueAt, writer(to, row))
      }
    },
    add({ a, b, first, step, c, stride, type, isLower }) {
      const out = type === 'sums' ? f64 : f32
      const from = c / out.BYTES_PER_ELEMENT
      for (let panel = first; panel < b.panels; panel += step) {
        for (let j = panel * PANEL; j < (panel + 1) * PANEL; j++) {
          for (let i = isLower ? panel * PANEL : 0; i < a.panels * PANEL; i++) {
            const scaled = dot(i16, a, i, b, j) * (f64[a.scales / 8 + i]! * f64[b.scales / 8 + j]!)
            out[from + i * stride + j]! += type === 'sums' ? scaled : Math.fround(scaled)
          }
        }
      }
    },
  }
}

// hot
function dot(i16: Int16Array, a: Operand, i: number, b: Operand, j: number): number {
  let left = a.codes / 2 + (Math.floor(i / PANEL) * a.pairs * PANEL + (i % PANEL)) * 2
  let right = b.codes / 2 + (Math.floor(j / PANEL) * b.pairs * PANEL + (j % PANEL)) * 2
  let sum = 0
  for (let pair = 0; pair < a.pairs; pair++, left += 2 * PANEL, right += 2 * PANEL)
    sum += i16[left]! * i16[right]! + i16[left + 1]! * i16[right + 1]!
  return sum
}
