// Random graphs. In: graphs and tensors from a seed. Out: whether compiled graphs give what the evaluator
// gives, in both builds.
import { expect, test } from 'vitest'
import { evaluate } from '../onnx/evaluate.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { randomGraph } from './testing/random-graph.ts'

/** HALFBYTE_SEED and HALFBYTE_GRAPHS draw other graphs, and more. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 1)
const COUNT = Number(process.env['HALFBYTE_GRAPHS'] ?? 150)

/** The evaluator adds up in f64 and its functions are exact; sums of f32 differ by their roundings. */
const TOLERANCE = 2e-4

function difference(wanted: Tensor, found: Tensor | undefined): string | undefined {
  if (`${found?.dims}` !== `${wanted.dims}`) return `dims [${found?.dims}] instead of [${wanted.dims}]`
  for (let at = 0; at < wanted.data.length; at++) {
    const [a, b] = [Number(wanted.data[at]), Number(found!.data[at])]
    const isSame = Object.is(a, b) || a === b || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a))
    if (!isSame) return `${b} instead of ${a} at ${at}`
  }
  return undefined
}

test(`compiled graphs give what the evaluator gives (seed ${SEED}, ${COUNT} graphs)`, {
  timeout: 600_000,
}, async () => {
  const wrong: string[] = []
  let values = 0
  for (let index = 0; index < COUNT; index++) {
    const { graph, feeds } = randomGraph(SEED, index)
    const wanted = evaluate(graph, feeds)
    for (const fuse of [false, true]) {
      const found = await new CompiledGraph(graph, { fuse }).run(feeds).catch((error) => error as Error)
      if (found instanceof Error) {
        wrong.push(`graph ${index}, fuse ${fuse}: ${found.stack}`)
        continue
      }
      for (const [name, tensor] of wanted) {
        const why = difference(tensor, found.get(name))
        if (why !== undefined) wrong.push(`graph ${index}, fuse ${fuse}, ${name}: ${why}`)
        values++
      }
    }
  }
  expect(wrong).toEqual([])
  expect(values).toBeGreaterThan(COUNT)
})
