// The version of cached plans. In: random graphs, networks of codes and an encoder. Out: a failure if their
// plans or functions differ from those of PLAN_VERSION, because pages would then run plans of earlier code.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { Random } from '../../../../test/helpers/random.ts'
import { bufferSource, joinBytes } from '../../../core/base/bytes.ts'
import { sha256 } from '../../../core/base/sha256.ts'
import { encoderInputs } from '../../api/testing/encoder-inputs.ts'
import type { Graph } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { readModel } from '../../onnx/read-model.ts'
import { StagedGraph } from '../staged/staged-graph.ts'
import { randomGraph } from '../testing/random-graph.ts'
import { randomDynamicNetwork, randomRows } from '../testing/random-sums.ts'
import { PLAN_VERSION, PlanCache, type PlanStore } from './plan-cache.ts'

/** After a change of plans or functions, raise the number in PLAN_VERSION and copy the hash found here. */
const EXPECTED = {
  version: '0.1.0-6',
  hash: '346863b8cee24d79122331ceed511277d3978f1b2c555fe870f01a7c2992afd1',
}

const SHAPE = { layers: 1, hidden: 32, heads: 2, intermediate: 48, vocabulary: 20, positions: 8 }
const GRAPHS = 100
const CODED_GRAPHS = 10

test('plans and functions are those of PLAN_VERSION', async () => {
  const entries: Uint8Array[] = []
  const store: PlanStore = {
    read: async () => undefined,
    write: async (_, bytes) => void entries.push(bytes),
    remove: async () => undefined,
    versionOf: async () => undefined,
  }
  const run = async (graph: Graph, feeds: ReadonlyMap<string, Tensor>): Promise<void> => {
    for (const fuse of [true, false]) {
      const plans = new PlanCache(store, { paths: new Map(), find: async () => undefined }, '')
      const staged = await StagedGraph.open(graph, { fuse, dot: 'pairs', plans })
      await staged.run(feeds)
      await staged.dispose()
    }
  }
  const { graph } = await readModel(bufferSource('m.onnx', bertBytes(SHAPE)))
  await run(graph, new Map(Object.entries(encoderInputs(SHAPE.vocabulary, [2, 5], () => 1))))
  for (let index = 0; index < GRAPHS; index++) {
    const { graph, feeds } = randomGraph(11, index)
    await run(graph, feeds)
  }
  for (let index = 0; index < CODED_GRAPHS; index++) {
    const convolutions = randomDynamicNetwork(new Random(12, index))
    await run(convolutions.graph, convolutions.feeds)
    const rows = randomRows(new Random(12, index))
    await run(rows.graph, rows.feeds)
  }
  expect({ version: PLAN_VERSION, hash: await sha256(joinBytes(entries)) }).toEqual(EXPECTED)
})

test('PLAN_VERSION begins with the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  expect(PLAN_VERSION).toMatch(new RegExp(`^${version.replaceAll('.', '\\.')}-\\d+$`))
})
