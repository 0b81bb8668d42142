// Emits the functions that lay constants out in a machine's memory (`layouts.ts` calls them). A network's
// load runs each of them for a few milliseconds at most, in which JavaScript would still be interpreted.
import { PANEL, VECTOR } from '../emit/kernel.ts'
import { FunctionBody, type Local, moduleBytes } from '../wasm/assembler.ts'

/** The sign bit of a byte. */
export const SIGN = 128

/** All functions have so many parameters, of which some ignore the last ones. */
const PARAMETERS = 8

export const LAYOUT_FUNCTIONS = ['gather', 'panel', 'tiles', 'floats', 'codes', 'filter'] as const

/** `sharedPages`: as for `moduleBytes`. */
export function layoutModule(sharedPages: number | undefined): Uint8Array<ArrayBuffer> {
  const bodies = [gather(), panel(), tiles(), floats(), codes(), filter()]
  return moduleBytes(bodies, { parameters: PARAMETERS, sharedPages })
}

type Parameters = readonly [Local, Local, Local, Local, Local, Local, Local, Local]

const parametersOf = (code: FunctionBody): Parameters =>
  Array.from({ length: PARAMETERS }, (_, index) => code.parameter(index)) as unknown as Parameters

/** Runs `inner` so many times, counting the local down to 0. */
const repeat = (code: FunctionBody, count: Local, inner: () => void): FunctionBody =>
  code.get(count).when(() =>
    code.loop(() => {
      inner()
      code.get(count).number(-1).plain('i32.add').tee(count)
    }),
  )

const advance = (code: FunctionBody, local: Local, by: Local): FunctionBody =>
  code.get(local).get(by).plain('i32.add').set(local)

/** Three loops over words at `from`, by their counts and steps; `to` gets the words one after the other. */
function gather(): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  const [to, from, outer, outerStep, middle, middleStep, inner, innerStep] = parametersOf(code)
  const [row, at, rows, left] = [code.local('i32'), code.local('i32'), code.local('i32'), code.local('i32')]
  repeat(code, outer, () => {
    code.get(from).set(row).get(middle).set(rows)
    repeat(code, rows, () => {
      code.get(row).set(at).get(inner).set(left)
      repeat(code, left, () => {
        code.get(to).get(at).load32().store32()
        advance(code, at, innerStep)
        code.increase(to, 4)
      })
      advance(code, row, middleStep)
    })
    advance(code, from, outerStep)
  })
  return code.encoded()
}

/**
 * A panel of `PANEL` columns of floats. `last`: the last column that exists; the mask, two vectors, clears
 * those after it.
 */
function panel(): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  const [to, from, rows, rowStep, columnStep, last, mask] = parametersOf(code)
  const masks = [code.local('v128'), code.local('v128')] as const
  const columns = Array.from({ length: PANEL }, () => code.local('i32'))
  for (const [half, local] of masks.entries())
    code
      .get(mask)
      .memory('v128.load', VECTOR * half)
      .set(local)
  for (const [at, column] of columns.entries()) {
    code.number(at).get(last).number(at).get(last).plain('i32.lt_s').plain('select')
    code.get(columnStep).plain('i32.mul').get(from).plain('i32.add').set(column)
  }
  repeat(code, rows, () => {
    for (const [half, local] of masks.entries()) {
      const [first, ...others] = columns.slice(4 * half, 4 * half + 4) as [Local, ...Local[]]
      const row = code.local('v128')
      code.get(first).memory('v128.load32_zero').set(row)
      for (const [at, column] of others.entries())
        code
          .get(column)
          .get(row)
          .loadLane(at + 1)
          .set(row)
      code
        .get(to)
        .get(row)
        .get(local)
        .vector('v128.and')
        .memory('v128.store', VECTOR * half)
    }
    code.increase(to, 4 * PANEL)
    for (const column of columns) advance(code, column, rowStep)
  })
  return code.encoded()
}

/** Taps of a filter along an axis, and how many numbers replace them. */
const TAPS = 3
const PATCH = 4

/**
 * G g G^T of the 3 x 3 filters g of two columns at once, for lower/convolutions/tiles.ts. G has the rows
 * [1, 0, 0], [1, 1, 1] / 2, [1, -1, 1] / 2 and [0, 0, 1]. Sums are f64, and rounded once. `itemStep`: from
 * one of the 16 results to the next; `rowStep`: from one channel's to the next channel's.
 */
function tiles(): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  const [to, first, firstStep, second, secondStep, channels, itemStep, rowStep] = parametersOf(code)
  const at = code.local('i32')
  const taps = Array.from({ length: TAPS }, () => code.local('v128'))
  const sum = code.local('v128')
  const half = code.local('v128')
  code.doubles(0.5).set(half)
  /** Calls `use` four times, after pushing the numbers that replace these three. */
  const replaced = ([a, b, c]: readonly [Local, Local, Local], use: (index: number) => void): void => {
    code.get(a)
    use(0)
    for (const [index, op] of (['f64x2.add', 'f64x2.sub'] as const).entries()) {
      code.get(a).get(b).vector(op).get(c).vector('f64x2.add').get(half).vector('f64x2.mul')
      use(index + 1)
    }
    code.get(c)
    use(3)
  }
  const rows = Array.from({ length: PATCH }, () => Array.from({ length: TAPS }, () => code.local('v128')))
  repeat(code, channels, () => {
    for (let column = 0; column < TAPS; column++) {
      for (const [row, tap] of taps.entries()) {
        const offset = 4 * (TAPS * row + column)
        code.get(first).memory('v128.load32_zero', offset).set(sum)
        code.get(second).get(sum).loadLane(1, offset).vector('f64x2.promote_low_f32x4').set(tap)
      }
      replaced(taps as [Local, Local, Local], (row) => code.set(rows[row]![column]!))
    }
    code.get(to).set(at)
    for (const row of rows)
      replaced(row as [Local, Local, Local], () => {
        code.vector('f32x4.demote_f64x2_zero').set(sum).get(at).get(sum).storeHalf(0)
        advance(code, at, itemStep)
      })
    advance(code, first, firstStep)
    advance(code, second, secondStep)
    advance(code, to, rowStep)
  })
  return code.encoded()
}

/**
 * Bytes as floats, four at a time: (byte ^ flip - middle) * scale, where `scale` has the bits of a float.
 * With a flip of 128, signed bytes count from -128.
 */
function floats(): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  const [to, from, fours, flip, middle, scale] = parametersOf(code)
  const [flips, middles, scales] = [code.local('v128'), code.local('v128'), code.local('v128')]
  code.get(flip).vector('i32x4.splat').set(flips)
  code.get(middle).vector('i32x4.splat').set(middles)
  code.get(scale).vector('i32x4.splat').set(scales)
  repeat(code, fours, () => {
    code.get(to).get(from).memory('v128.load32_zero')
    code.vector('i16x8.extend_low_i8x16_u').vector('i32x4.extend_low_i16x8_u')
    code.get(flips).vector('v128.xor').get(middles).vector('i32x4.sub')
    code.vector('f32x4.convert_i32x4_s').get(scales).vector('f32x4.mul').memory('v128.store')
    code.increase(to, VECTOR)
    code.increase(from, 4)
  })
  return code.encoded()
}

/**
 * Groups of 32 inputs for eight outputs in w8_g32 (`matrices.ts`): scales, then for four inputs each output.
 */
export const CODE_GROUP = 32
const OUTPUTS = 8
export const CODE_BLOCK = 16 + CODE_GROUP * OUTPUTS
/**
 * Offsets in the head of a panel: eight f16 scales; what is added to each output's bytes; a word of status.
 */
export const CODE_HEAD = { scales: 0, added: 16, status: 48, bytes: 64 } as const

/**
 * A panel of codes: byte ^ flip + added. The status becomes 1 if a result is not between 1 and 255, as the
 * kernels require.
 */
function codes(): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  const [to, from, groups, inputStep, outputStep, head, flip] = parametersOf(code)
  const [fours, outputs] = [code.local('i32'), code.local('i32')]
  const [row, at, out, adding] = [code.local('i32'), code.local('i32'), code.local('i32'), code.local('i32')]
  const [word, byte, added, wrong] = [
    code.local('i32'),
    code.local('i32'),
    code.local('i32'),
    code.local('i32'),
  ]
  const scales = code.local('v128')
  code.get(head).memory('v128.load', CODE_HEAD.scales).set(scales)
  code.get(to).set(out)
  repeat(code, groups, () => {
    code.get(out).get(scales).memory('v128.store').increase(out, VECTOR)
    code.number(CODE_GROUP / 4).set(fours)
    repeat(code, fours, () => {
      code.get(from).set(row).number(OUTPUTS).set(outputs)
      code.get(head).number(CODE_HEAD.added).plain('i32.add').set(adding)
      repeat(code, outputs, () => {
        code.get(row).set(at).get(adding).load32().set(added)
        for (let input = 0; input < 4; input++) {
          code.get(at).load8().get(flip).plain('i32.xor').get(added).plain('i32.add').tee(byte)
          code.number(-1).plain('i32.add').number(255).plain('i32.ge_u')
          code.get(wrong).plain('i32.or').set(wrong)
          code
            .get(byte)
            .number(8 * input)
            .plain('i32.shl')
          if (input > 0) code.get(word).plain('i32.or')
          code.set(word)
          advance(code, at, inputStep)
        }
        code.get(out).get(word).store32().increase(out, 4)
        code.increase(adding, 4)
        advance(code, row, outputStep)
      })
      code.get(inputStep).number(2).plain('i32.shl').get(from).plain('i32.add').set(from)
    })
  })
  code.get(head).get(wrong).store32(CODE_HEAD.status)
  return code.encoded()
}

/**
 * A filter of codes: byte ^ flip - 128 at each place, two words with the offsets of the byte from `from` and
 * of the code from `to`. The word at `start` becomes added + factor * the sum of the codes.
 */
function filter(): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  const [to, from, places, count, start, added, factor, flip] = parametersOf(code)
  const [value, sum] = [code.local('i32'), code.local('i32')]
  repeat(code, count, () => {
    code.get(from).get(places).load32().plain('i32.add').load8()
    code.get(flip).plain('i32.xor').number(-SIGN).plain('i32.add').tee(value)
    code.get(sum).plain('i32.add').set(sum)
    code.get(to).get(places).load32(4).plain('i32.add').get(value).store8()
    code.increase(places, 8)
  })
  code.get(start).get(sum).get(factor).plain('i32.mul').get(added).plain('i32.add').store32()
  return code.encoded()
}
