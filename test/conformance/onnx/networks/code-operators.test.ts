// ONNX Runtime's operators on 8-bit codes. In: a graph for each of them, with codes of both signs. Out:
// whether a network compiles it, and gives onnxruntime-web's codes, which may differ by one where a number is
// at a tie.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { expect, test } from 'vitest'
import { Network } from '../../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../../src/network/compile/staged/ort-tensors.ts'
import { tensorOf } from '../../../../src/network/onnx/ir/tensor.ts'
import { NodeWriter, TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import { modelBytes, type WrittenAttribute } from '../../../../src/network/onnx/testing/write-model.ts'
import { Random } from '../../../helpers/random.ts'

const DIMS = [2, 4, 6, 6]
const TYPES = ['u8', 'i8'] as const
type CodeType = (typeof TYPES)[number]

class CodeWriter extends NodeWriter {
  readonly type: CodeType

  constructor(type: CodeType) {
    super()
    this.type = type
  }

  /** A zero point. */
  zero(value: number, type: CodeType = this.type): string {
    return this.constant(TYPE[type], [], Uint8Array.of(value))
  }

  /** A scale and a zero point, which is 128 higher for u8. */
  scaled(scale: number, zero: number): readonly [string, string] {
    return [this.float(scale), this.zero(this.type === 'u8' ? zero + 128 : zero)]
  }

  codes(random: Random, dims: readonly number[], type: CodeType = this.type): string {
    const count = dims.reduce((product, size) => product * size, 1)
    return this.constant(
      TYPE[type],
      dims,
      Uint8Array.from({ length: count }, () => random.below(256)),
    )
  }
}

type Attributes = Readonly<Record<string, WrittenAttribute>>

/** The inputs of the operator, of which `x` and `y` are codes that the graph takes. */
type Make = (g: CodeWriter, random: Random) => { inputs: readonly string[]; attributes?: Attributes }

/** Scales whose ratios are not those of small integers, so that few numbers are at ties. */
const x = (g: CodeWriter) => ['x', ...g.scaled(0.04137, -3)]
const y = (g: CodeWriter) => ['y', ...g.scaled(0.05279, 10)]

const CASES: Readonly<Record<string, Make>> = {
  QLinearAdd: (g) => ({ inputs: [...x(g), ...y(g), ...g.scaled(0.06113, 5)] }),
  QLinearMul: (g) => ({ inputs: [...x(g), ...y(g), ...g.scaled(0.20371, 5)] }),
  QLinearConcat: (g) => ({ inputs: [...g.scaled(0.05, 1), ...x(g), ...y(g)], attributes: { axis: 1 } }),
  QLinearGlobalAveragePool: (g) => ({ inputs: [...x(g), ...g.scaled(0.01, 0)] }),
  QLinearLeakyRelu: (g) => ({
    inputs: [...x(g), ...g.scaled(0.03, -20)],
    attributes: { alpha: { float: 0.1 } },
  }),
  QLinearSigmoid: (g) => ({ inputs: [...x(g), ...g.scaled(1 / 256, -128)] }),
  QLinearAveragePool: (g) => ({
    inputs: [...x(g), ...g.scaled(0.03, 2)],
    attributes: { kernel_shape: { ints: [3, 2] }, strides: { ints: [2, 1] }, pads: { ints: [1, 0, 1, 0] } },
  }),
  QLinearSoftmax: (g) => ({
    inputs: [...x(g), ...g.scaled(1 / 256, -128)],
    attributes: { axis: -1, opset: 13 },
  }),
  QLinearWhere: (g) => ({
    inputs: [
      g.truths(
        Array.from({ length: 36 }, (_, at) => at % 3 === 0),
        [6, 6],
      ),
      ...x(g),
      ...y(g),
      ...g.scaled(0.06, 5),
    ],
  }),
}

async function bothOf(bytes: Uint8Array<ArrayBuffer>, type: CodeType, dims: readonly number[], seed: number) {
  const random = new Random(seed)
  const count = dims.reduce((product, size) => product * size, 1)
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  const given = session.inputNames.map((name) => {
    const low = type === 'i8' ? -128 : 0
    return [
      name,
      tensorOf(
        type,
        dims,
        Float64Array.from({ length: count }, () => low + random.below(256)),
      ),
    ] as const
  })
  const wanted = (await session.run(toOrtFeeds(Tensor, given)))['z']!
  const network = await Network.load(new File([bytes], 'model.onnx'))
  const found = (await network.run(Object.fromEntries(given)))['z']!
  const foreign = network.foreignNodes()
  await network.dispose()
  await session.release()
  return { wanted, found, foreign }
}

const cases = Object.keys(CASES).flatMap((op) => TYPES.map((type) => [op, type] as const))

test.each(cases)('%s of %s', async (op, type) => {
  const g = new CodeWriter(type)
  const { inputs, attributes } = CASES[op]!(g, new Random(3))
  g.node(op, inputs, ['z'], attributes, 'com.microsoft')
  const graph = {
    nodes: g.nodes,
    constants: g.constants,
    inputs: ['x', 'y']
      .filter((name) => inputs.includes(name))
      .map((name) => ({ name, type: TYPE[type], dims: DIMS })),
    outputs: [{ name: 'z', type: TYPE[type] }],
  }
  const { wanted, found, foreign } = await bothOf(new Uint8Array(modelBytes(graph, 17)), type, DIMS, 5)
  expect(foreign).toEqual([])
  expectCodes(found, wanted)
})

test.each(TYPES)('QGemm of %s', async (type) => {
  const g = new CodeWriter(type)
  const random = new Random(4)
  const weights = [g.codes(random, [5, 24]), g.float(0.01), g.zero(type === 'u8' ? 131 : 0)]
  const bias = g.words(Array.from({ length: 5 }, () => random.below(4000) - 2000))
  g.node('QGemm', [...x(g), ...weights, bias, ...g.scaled(0.5, 3)], ['z'], { transB: 1 }, 'com.microsoft')
  const graph = {
    nodes: g.nodes,
    constants: g.constants,
    inputs: [{ name: 'x', type: TYPE[type], dims: [3, 24] }],
    outputs: [{ name: 'z', type: TYPE[type] }],
  }
  const { wanted, found, foreign } = await bothOf(new Uint8Array(modelBytes(graph, 17)), type, [3, 24], 6)
  expect(foreign).toEqual([])
  expectCodes(found, wanted)
})

function expectCodes(
  found: { readonly dims: readonly number[]; readonly data: ArrayLike<number | bigint> },
  wanted: { readonly dims: readonly number[]; readonly data: unknown },
): void {
  expect(found.dims).toEqual(wanted.dims)
  const codes = wanted.data as Uint8Array
  const steps = Array.from(codes, (code, at) => Math.abs(code - Number(found.data[at])))
  expect(Math.max(...steps)).toBeLessThan(2)
  expect(steps.filter((step) => step > 0).length / steps.length).toBeLessThan(0.02)
  expect(new Set(codes).size).toBeGreaterThan(3)
}
