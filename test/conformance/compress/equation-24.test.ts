// Equation 24 on a trained layer. In: the embedded model, a text. Out: whether the loss that the update
// predicts from a walk's Hessian matches the actual change in the layer's outputs.
import { expect, test } from 'vitest'
import { buildGraph } from '../../../src/core/arch/families.ts'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { inverseFrequencies } from '../../../src/core/arch/rope.ts'
import { weightOf } from '../../../src/core/arch/tensors/names.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import type { NodeOf } from '../../../src/core/graph/nodes.ts'
import { interpret } from '../../../src/core/graph/testing/interpret.ts'
import { modelTokenizer } from '../../../src/engine/load/model-text.ts'
import { type PreparedModel, prepareModel } from '../../../src/engine/load/prepare.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { readMatrix } from '../../../src/tools/shrink/calibrate/gram.ts'
import { walk } from '../../../src/tools/shrink/calibrate/walk.ts'
import { memoryWork } from '../../../src/tools/shrink/calibrate/work-files.ts'
import { factorize } from '../../../src/tools/shrink/matrix/factor.ts'
import { inverseOf } from '../../../src/tools/shrink/prune/inverse.ts'
import { maskOf, parsePattern } from '../../../src/tools/shrink/prune/mask.ts'
import { plainScores } from '../../../src/tools/shrink/prune/prune-matrix.ts'
import { obsLosses, obsUpdate } from '../../../src/tools/shrink/testing/obs-update.ts'
import { repositoryFile } from '../testing/node-engine.ts'

const MODEL = repositoryFile('demo/models/halfbyte-stories.hbm')
const TEXT = `Once there was a small fox who lived under a big tree. Every day she ran to the river to
drink, and every day she met the same old duck. "Why do you run?" asked the duck. "The water will still be
there if you walk." The fox thought about it. The next day she walked, and on her way she saw a red flower
that she had never seen before. She sat down beside it until the sun went away.`
const { signal } = new AbortController()

/** Input rows of the first linears, in f64. */
async function definedInputs({ config, weights }: PreparedModel, ids: readonly number[], count: number) {
  const graph = buildGraph(config)
  const values = new Map<string, Float64Array>()
  for (const [name, tensor] of weights) {
    const [n = 0, k = 1] = tensor.shape
    values.set(name, Float64Array.from(await readMatrix({ ...tensor, shape: [n, k] }, signal)))
  }
  const linears = graph.nodes.filter((node): node is NodeOf<'linear'> => node.op === 'linear')
  const found = new Map<string, readonly ArrayLike<number>[]>()
  for (const node of linears.slice(0, count)) {
    const cut = { ...graph, nodes: graph.nodes.slice(0, graph.nodes.indexOf(node)), output: node.input }
    const model = {
      weightOf: (name: string) => values.get(name) as Float64Array,
      encodingOf: () => 'f32' as const,
      frequencies: [inverseFrequencies(config.rope)],
      state: new Map(),
      kept: new Map(),
    }
    found.set(node.weight.parts[0]!.name, interpret(cut, model, { ids, position: 0, wanted: [] }))
  }
  return found
}

test("the predicted loss matches a trained layer's outputs within 1e-4", async () => {
  const file = await openModel([blobSource(MODEL.name, MODEL)])
  const model = await prepareModel(file, { weights: 'w4', forPack: true })
  const ids = modelTokenizer(model.file, model.plan.logits.width).encode(TEXT, { addSpecial: true })
  const defined = await definedInputs(model, ids, 4)
  let matrices = 0
  await walk(model, {
    host: nodeHost(),
    threads: 1,
    signal,
    windows: [ids],
    work: memoryWork(),
    async visit({ name, parts, k }, stats) {
      const rows = defined.get(parts[0]!.name)
      if (rows === undefined) return undefined
      const factor = factorize(name, await stats())
      for (const { name: matrix, n } of parts) {
        const weights = await readMatrix(weightOf(model.weights, matrix), signal)
        const pattern = parsePattern('sv32')
        const mask = maskOf(plainScores(weights, n, k, pattern), n, k, pattern, 0.5, 'matrix')
        const values = obsUpdate(weights, mask, factor, inverseOf(factor, 'inverse'))
        const losses = obsLosses(weights, values, mask, factor)
        const change = values.map((value, at) => value - weights[at]!)
        let measured = change.reduce((sum, d, at) => sum + factor.added[at % k]! * d * d, 0)
        for (const x of rows) {
          for (let row = 0; row < n; row++) {
            let output = 0
            for (let i = 0; i < k; i++) output += change[row * k + i]! * x[i]!
            measured += output * output
          }
        }
        const predicted = losses.reduce((sum, loss) => sum + loss, 0)
        expect(Math.abs(predicted / measured - 1), matrix).toBeLessThan(1e-4)
        matrices++
      }
      return undefined
    },
  })
  expect(matrices).toBe(7)
})
