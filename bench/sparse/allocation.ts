// Allocation against one sparsity for all, at equal predicted speed. In: a model, calibration text, held-out
// text. Out: perplexity of each way to choose sparsities, as JSON, one line for each.
//
//   npx node bench/sparse/allocation.ts MODEL CALIBRATION.jsonl TEXT [--windows 24] [--probes 12]
//     [--chunks 24] [--pattern sb84] [--uniform 0.3,0.4,0.5,0.6] [--ways uniform,squares,alone,around] [--seed 0] [--rounds 3]
//
// uniform: one sparsity. squares: squares of lost shares, as `halfbyte prune --speed`. alone: what the model's
// own loss rises by, one product pruned at a time. around: the same with all other products at the sparsity
// chosen so far, from one sparsity on. Losses are measured on --probes calibration windows that no Hessian saw;
// with 0, on those that it saw.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { weightOf } from '../../src/arch/tensors/names.ts'
import { bufferSource } from '../../src/base/bytes.ts'
import { openModelFiles } from '../../src/cli/files.ts'
import { loadSolver, nodeHost } from '../../src/cli/host.ts'
import { forwardRows } from '../../src/cli/model.ts'
import { allocate } from '../../src/compress/prune/allocate.ts'
import { parsePattern } from '../../src/compress/prune/pattern.ts'
import { prune, pruneBytes, pruneLoss } from '../../src/compress/prune/prune.ts'
import { type Chosen, tune } from '../../src/compress/prune/tune.ts'
import { pruneModel } from '../../src/engine/calibrate/prune-model.ts'
import { readMatrix } from '../../src/engine/calibrate/read-matrix.ts'
import { factorOf } from '../../src/engine/calibrate/solve-products.ts'
import { SPARSITIES } from '../../src/engine/calibrate/survey-sparsity.ts'
import { walk } from '../../src/engine/calibrate/walk.ts'
import { calibrationWindows } from '../../src/engine/calibrate/windows.ts'
import { memoryWork } from '../../src/engine/calibrate/work-files.ts'
import { buildModel } from '../../src/engine/load/build-model.ts'
import { modelTokenizer } from '../../src/engine/load/model-text.ts'
import { type PreparedModel, prepareModel } from '../../src/engine/load/prepare.ts'
import { perplexity } from '../../src/evaluate/perplexity.ts'
import { openModel } from '../../src/formats/open-model.ts'
import type { TensorInfo } from '../../src/formats/tensors.ts'
import { builtInCosts } from '../../src/weights/sparse/cost-table.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    windows: { type: 'string', default: '24' },
    probes: { type: 'string', default: '12' },
    chunks: { type: 'string', default: '24' },
    pattern: { type: 'string', default: 'sb84' },
    uniform: { type: 'string', default: '0.3,0.4,0.5,0.6' },
    ways: { type: 'string', default: 'uniform,squares,alone,around' },
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '0' },
  },
})
const CONTEXT = 256
const [model = '', calibration = '', held = ''] = positionals
const { signal } = new AbortController()
const host = nodeHost()
const solver = await loadSolver()
const pattern = parsePattern(values.pattern)
const format = 'w4_g32'
const sparseFormat = values.pattern === 'sv32' ? 'sv32' : 'sb84'
const costs = builtInCosts(format)

const files = await openModelFiles(model, { signal, onProgress: () => undefined })
const file = await openModel(files.sources, signal)
const prepared = await prepareModel(file, { weights: 'w4', forPack: true, signal })
const tokenizer = modelTokenizer(file, prepared.plan.logits.width)
const texts = readFileSync(calibration, 'utf8')
  .split('\n')
  .filter((line, at) => line !== '' && at % 3 === Number(values.seed) % 3)
  .map((line) => (JSON.parse(line) as { text: string }).text)
const all = calibrationWindows(texts, tokenizer, {
  windows: Number(values.windows) + Number(values.probes),
  length: CONTEXT,
})
const windows = all.slice(0, Number(values.windows))
const probes = (all.length > windows.length ? all.slice(windows.length) : windows).flat()
const ids = tokenizer.encode(readFileSync(held, 'utf8'), { addSpecial: true })

/** Mean loss of a token in nats, with these matrices in place of the model's. */
async function score(
  tensors: ReadonlyMap<string, TensorInfo>,
  weights: 'w4' | 'f32',
  tokens: readonly number[],
  chunks: number,
): Promise<{ loss: number; error: number }> {
  const plan = await prepareModel(file, { weights, contextLength: CONTEXT, beyondTraining: true, signal })
  const own: PreparedModel = {
    ...plan,
    weights: new Map([...plan.weights].map(([name, tensor]) => [name, tensors.get(name) ?? tensor])),
  }
  const built = await buildModel(
    own,
    { host, threads: 1, build: 'auto' },
    { signal, onProgress: () => undefined },
  )
  try {
    const found = await perplexity(tokens, forwardRows(built), {
      ...{ context: CONTEXT, chunks, signal },
      bos: built.tokenizer.addsBos ? built.tokenizer.bosId : undefined,
    })
    return { loss: Math.log(found.perplexity), error: found.error }
  } finally {
    await built.dispose()
  }
}

interface Surveyed {
  readonly names: readonly string[]
  /** At each of SPARSITIES: time, sum of shares of energy lost, the pruned matrices. */
  readonly ms: readonly number[]
  readonly shares: readonly number[]
  readonly tensors: readonly (readonly TensorInfo[])[]
}

const asTensor = (name: string, shape: readonly number[], from: ArrayLike<number>): TensorInfo => {
  const bytes = new Uint8Array(Float32Array.from(from).buffer)
  return { name, dtype: 'F32', shape, source: bufferSource(name, bytes), offset: 0, byteLength: bytes.length }
}

const products: Surveyed[] = []
await walk(prepared, {
  ...{ windows, signal, host, threads: 1, work: memoryWork() },
  async visit(product, stats) {
    const found = await stats()
    const factor = await factorOf(product, found, pruneBytes, { solver, damp: 0.01 })
    const n = product.parts.reduce((sum, part) => sum + part.n, 0)
    const shares = SPARSITIES.map(() => 0)
    const tensors: TensorInfo[][] = SPARSITIES.map(() => [])
    for (const part of product.parts.toSorted((a, b) => b.n - a.n)) {
      const weights = await readMatrix(weightOf(prepared.weights, part.name), signal)
      const energy = pruneLoss(weights, new Float64Array(weights.length), part.n, found)
      for (const [index, sparsity] of SPARSITIES.entries()) {
        const options = { method: 'obs', pattern, sparsity } as const
        const pruned =
          sparsity === 0
            ? weights
            : prune(weights, part.n, product.k, options, { stats: found, factor }).values
        shares[index]! += pruneLoss(weights, pruned, part.n, found) / energy
        tensors[index]!.push(asTensor(part.name, [part.n, product.k], pruned))
      }
    }
    const denseMs = costs.timeOf(n, product.k, undefined, 1)
    const ms = SPARSITIES.map((sparsity) =>
      sparsity === 0 ? denseMs : Math.min(denseMs, costs.timeOf(n, product.k, sparseFormat, 1 - sparsity)),
    )
    products.push({ names: product.parts.map(({ name }) => name), ms, shares, tensors })
    return undefined
  },
})

const tensorsOf = (choice: Chosen) =>
  new Map(
    products.flatMap(({ tensors }, at) => tensors[choice[at]!]!.map((each) => [each.name, each] as const)),
  )
const probed = new Map<string, number>()
async function probe(choice: Chosen): Promise<number> {
  const key = choice.join()
  const known = probed.get(key)
  if (known !== undefined) return known
  const { loss } = await score(tensorsOf(choice), 'f32', probes, Number.POSITIVE_INFINITY)
  probed.set(key, loss)
  return loss
}

const timeOf = (choice: Chosen) => products.reduce((sum, { ms }, at) => sum + ms[choice[at]!]!, 0)
const dense: number[] = products.map(() => 0)
const denseMs = timeOf(dense)

const itemsOf = (lossOf: (at: number, index: number) => number) =>
  products.map(({ names, ms }, at) => ({
    name: names[0] ?? '',
    choices: SPARSITIES.map((sparsity, index) => ({
      ...{ sparsity, index, cost: ms[index]!, loss: lossOf(at, index) },
    })),
  }))

function choose(budget: number, lossOf: (at: number, index: number) => number): Chosen {
  const items = itemsOf(lossOf)
  const chosen = allocate(items, budget)
  return items.map(({ name }) => chosen.get(name)!.index)
}

/** What the model loses when one product alone is pruned. */
async function rises(): Promise<number[][]> {
  const found: number[][] = []
  for (const at of products.keys()) {
    const own: number[] = []
    for (const index of SPARSITIES.keys()) own.push(await probe(dense.with(at, index)))
    found.push(own)
  }
  return found
}

const ways: Record<string, (uniform: Chosen) => Promise<Chosen>> = {
  uniform: async (uniform) => uniform,
  squares: async (uniform) => choose(timeOf(uniform), (at, index) => products[at]!.shares[index]! ** 2),
  async alone(uniform) {
    const found = await rises()
    return choose(timeOf(uniform), (at, index) => found[at]![index]!)
  },
  async around(uniform) {
    const { chosen } = await tune(
      itemsOf(() => 0),
      {
        ...{ budget: timeOf(uniform) * (1 + 1e-3), start: uniform },
        ...{ rounds: Number(values.rounds), lossOf: probe },
      },
    )
    return chosen
  },
}

for (const sparsity of values.uniform.split(',').map(Number)) {
  const uniform = products.map(() => SPARSITIES.findIndex((each) => Math.abs(each - sparsity) < 1e-9))
  for (const way of values.ways.split(',')) {
    const started = performance.now()
    const choice = await ways[way]!(uniform)
    const seconds = (performance.now() - started) / 1000
    const sparsities = new Map(
      products.flatMap(({ names }, at) => names.map((name) => [name, SPARSITIES[choice[at]!]!] as const)),
    )
    const { tensors } = await pruneModel(prepared, {
      ...{ method: 'obs', pattern, sparsity: 0, sparsities, damp: 0.01, drift: 0, sweeps: 8 },
      ...{ format, solver, host, signal, threads: 1, windows, work: memoryWork() },
    })
    const { loss, error } = await score(tensors, 'w4', ids, Number(values.chunks))
    const line = {
      ...{ sparsity, way, seed: Number(values.seed), speed: denseMs / timeOf(choice) },
      ...{ probe: Math.exp(await probe(choice)), perplexity: Math.exp(loss), error },
      ...{ seconds: Math.round(seconds), choice: choice.join('') },
    }
    console.log(JSON.stringify(line))
  }
}
await files.close()
