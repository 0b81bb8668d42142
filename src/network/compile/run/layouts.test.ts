// Tests the functions that lay constants out. In: random numbers. Out: whether memory has what a plain loop
// writes.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { matrixBytes } from '../../../core/abi/encodings.ts'
import { shiftedFloat } from '../../../core/weights/quantize-weights.ts'
import { walk } from '../../onnx/ir/broadcast.ts'
import { tensorOf } from '../../onnx/ir/tensor.ts'
import { PANEL } from '../emit/kernel.ts'
import { codedBy } from './coded.ts'
import { codePanelBytes, Layouts } from './layouts.ts'
import { laidMatrix } from './matrices.ts'
import { Pieces } from './pieces.ts'

/** Layouts over a memory full of ones, and where its floats and bytes are. */
function room() {
  const memory = new WebAssembly.Memory({ initial: 16 })
  new Float32Array(memory.buffer).fill(1)
  const pieces = new Pieces(64)
  const layouts = new Layouts({
    buffer: () => memory.buffer,
    take: (bytes) => pieces.take(bytes),
    give: (at) => pieces.give(at),
    instance: (module) =>
      new WebAssembly.Instance(new WebAssembly.Module(module(undefined)), { env: { memory } }).exports,
  })
  const place = (numbers: Float32Array | Uint8Array | Int8Array): number => {
    const at = pieces.take(numbers.byteLength)
    new Uint8Array(memory.buffer, at).set(new Uint8Array(numbers.buffer))
    return at
  }
  const floats = (at: number, count: number) => new Float32Array(memory.buffer.slice(at, at + 4 * count))
  return { layouts, place, floats, take: (count: number) => pieces.take(4 * count), memory }
}

const numbers = (count: number, random = new Random(count)) =>
  Float32Array.from({ length: count }, () => random.signed())

test.each([
  { offset: 0, dims: [7], strides: [1] },
  { offset: 5, dims: [2, 3, 4, 5, 2], strides: [7, 2, 40, 1, 13] },
  { offset: 3, dims: [3, 1, 4], strides: [0, 9, 2] },
  { offset: 0, dims: [3, 0], strides: [1, 1] },
  { offset: 2, dims: [], strides: [] },
])('a view of $dims is gathered in its order', (view) => {
  const { layouts, place, floats, take } = room()
  const source = numbers(200)
  const places = walk(view.dims, view.strides, view.offset)
  const to = take(places.length)
  layouts.gather(to, place(source), view)
  expect(floats(to, places.length)).toEqual(Float32Array.from(places, (at) => source[at]!))
})

test.each([1, 7, 8, 9, 21])('%i columns are laid out in panels, whose other columns are 0', (n) => {
  const k = 5
  const source = numbers(200)
  for (const [kStep, nStep] of [
    [1, k],
    [n, 1],
    [2, 3],
  ] as const) {
    const { layouts, place, floats, take } = room()
    const count = Math.ceil(n / PANEL) * PANEL * k
    const to = take(count)
    layouts.panels(to, place(source), { from: 4, k, n, kStep, nStep })
    const due = Float32Array.from({ length: count }, (_, at) => {
      const column = Math.floor(at / (PANEL * k)) * PANEL + (at % PANEL)
      const row = Math.floor(at / PANEL) % k
      return column < n ? source[4 + row * kStep + column * nStep]! : 0
    })
    expect(floats(to, count)).toEqual(due)
  }
})

/** G g G^T in f64, rounded once. */
function patchOf(filter: Float32Array): number[] {
  const replaced = ([a, b, c]: readonly [number, number, number]) => [a, (a + b + c) / 2, (a - b + c) / 2, c]
  const columns = [0, 1, 2].map((at) => replaced([filter[at]!, filter[3 + at]!, filter[6 + at]!]))
  return [0, 1, 2, 3].flatMap((row) =>
    replaced(columns.map((each) => each[row]!) as [number, number, number]),
  )
}

test.each([8, 24, 27, 30])('%i filters become those of tiles, in panels and in order', (count) => {
  const channels = 3
  const source = numbers(count * channels * 9)
  const patches = Array.from({ length: count * channels }, (_, at) =>
    patchOf(source.subarray(9 * at, 9 * at + 9)),
  )
  const panels = Math.ceil(count / PANEL)
  const { layouts, place, floats, take } = room()
  const from = place(source)
  const [inPanels, inOrder] = [take(16 * panels * PANEL * channels), take(16 * count * channels)]
  layouts.tiles(inPanels, from, channels, count, true)
  layouts.tiles(inOrder, from, channels, count, false)
  const laid = floats(inPanels, 16 * panels * PANEL * channels)
  const plain = floats(inOrder, 16 * count * channels)
  for (let item = 0; item < 16; item++)
    for (let channel = 0; channel < channels; channel++)
      for (let filter = 0; filter < panels * PANEL; filter++) {
        const due = filter < count ? Math.fround(patches[filter * channels + channel]![item]!) : 0
        const panel = item * panels + Math.floor(filter / PANEL)
        expect(laid[(panel * channels + channel) * PANEL + (filter % PANEL)]).toBe(due)
        if (filter < count) expect(plain[(item * channels + channel) * count + filter]).toBe(due)
      }
})

test.each([true, false])('bytes become floats (signed: %s)', (isSigned) => {
  const { layouts, place, floats, take } = room()
  const data = new (isSigned ? Int8Array : Uint8Array)(256).map((_, at) => at)
  const to = take(256)
  const [zero, scale] = [isSigned ? -3 : 117, Math.fround(0.0123)]
  layouts.floats(to, place(data), data.length, { isSigned, zero, scale })
  expect(floats(to, 256)).toEqual(Float32Array.from(data, (code) => (code - zero) * scale))
})

test.each([true, false])('panels of codes are those of laidMatrix (signed: %s)', (isSigned) => {
  const [k, n] = [64, PANEL]
  const random = new Random(3)
  const dtype = isSigned ? 'i8' : 'u8'
  const zero = Array.from({ length: n }, () => random.between(-1, 1) + (isSigned ? 0 : 128))
  const scale = Array.from({ length: n }, () => Math.fround(0.5 + random.signed() / 4))
  const least = isSigned ? -126 : 2
  const codes = Array.from({ length: k * n }, () => least + random.below(252))
  for (const wrong of [false, true])
    for (const [kStep, nStep] of [
      [n, 1],
      [1, k],
    ] as const) {
      const { layouts, place, memory, take } = room()
      const all = wrong ? codes.with(17, least - 2) : codes
      const { data } = tensorOf(dtype, [k * n], all)
      const axis = nStep === 1 ? 1 : 0
      const dims = nStep === 1 ? [k, n] : [n, k]
      const size = codePanelBytes(k)
      const to = take(size)
      const isKept = layouts.codes(to, place(data as Uint8Array), {
        groups: k / 32,
        inputStep: kStep,
        outputStep: nStep,
        isSigned,
        zeros: zero,
        scales: scale.map(shiftedFloat),
      })
      const owner = nStep === 1 ? 17 % n : Math.floor(17 / k)
      expect(isKept).toBe(!wrong || all[17]! - zero[owner]! >= -127)
      if (!isKept) continue
      const coded = codedBy({ dtype, dims, data }, { axis, scale, zero })
      const laid = laidMatrix(coded, { offset: 0, dims: [k, n], strides: [kStep, nStep] }, 'w8_g32')
      expect(laid.length).toBe(matrixBytes('w8_g32', n, k))
      expect(new Uint8Array(memory.buffer, to, size)).toEqual(laid.subarray(0, size))
    }
})
