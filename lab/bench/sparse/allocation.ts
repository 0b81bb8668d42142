// Compares ways to choose sparsities at equal predicted speed. Prints the perplexity of each as a line of
// JSON.
//
//   npx node lab/bench/sparse/allocation.ts MODEL CALIBRATION.jsonl TEXT [--windows 24] [--chunks 24]
// [--pattern sb84] [--uniform 0.3,0.4,0.5,0.6] [--ways uniform,squares] [--seeds 1]
// uniform: one sparsity. squares: least squares of lost shares, like `halfbyte prune --speed`. Seed s
// calibrates on every third line of the text, starting with line s.
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import type { TensorInfo } from '../../../src/core/formats/tensors.ts'
import { builtInCosts } from '../../../src/core/weights/sparse/cost-table.ts'
import { buildModel } from '../../../src/engine/load/build-model.ts'
import { modelTokenizer } from '../../../src/engine/load/model-text.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { perplexity } from '../../../src/engine/score/perplexity.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { forwardRows } from '../../../src/tools/cli/models/model.ts'
import { loadSolver, nodeHost } from '../../../src/tools/cli/node-host.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { allocateSparsity } from '../../../src/tools/shrink/calibrate/allocate-sparsity.ts'
import { calibrationWindows } from '../../../src/tools/shrink/calibrate/calibration-windows.ts'
import { pruneModel } from '../../../src/tools/shrink/calibrate/prune-model.ts'
import {
  type Lost,
  SPARSITIES,
  surveySparsities,
} from '../../../src/tools/shrink/calibrate/survey-sparsity.ts'
import { memoryWork } from '../../../src/tools/shrink/calibrate/work-files.ts'
import { DEFAULT_DAMP } from '../../../src/tools/shrink/matrix/factor.ts'
import { parsePattern } from '../../../src/tools/shrink/prune/mask.ts'

const command = new Command('allocation')
  .argument('<model>', 'model')
  .argument('<calibration>', 'lines of JSON with texts')
  .argument('<held>', 'UTF-8 text to score')
  .option('--windows <n>', 'windows of the calibration text', whole(1), 24)
  .option('--chunks <n>', 'maximum number of windows to score', whole(1), 24)
  .option('--pattern <value>', 'pattern of the weights that are dropped', 'sb84')
  .option('--uniform <value>', 'sparsities, with commas', '0.3,0.4,0.5,0.6')
  .option('--ways <value>', 'ways to choose sparsities, separated by commas', 'uniform,squares')
  .option('--seeds <n>', 'number of calibration texts', whole(1), 1)
  .parse()
const values = command.opts<{
  readonly windows: number
  readonly chunks: number
  readonly pattern: string
  readonly uniform: string
  readonly ways: string
  readonly seeds: number
}>()
const positionals = command.args
const CONTEXT = 256
const [model = '', calibration = '', held = ''] = positionals
const { signal } = new AbortController()
const host = nodeHost()
const solver = await loadSolver()
const sparseFormat = values.pattern === 'sv32' ? 'sv32' : 'sb84'
const costs = builtInCosts('w4_g32')

const files = await openModelFiles(model, { signal, onProgress: () => undefined })
const file = await openModel(files.sources, signal)
const prepared = await prepareModel(file, { weights: 'w4', forPack: true, signal })
const tokenizer = modelTokenizer(file, prepared.plan.logits.width)
const lines = readFileSync(calibration, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
const ids = tokenizer.encode(readFileSync(held, 'utf8'), { addSpecial: true })

async function score(tensors: ReadonlyMap<string, TensorInfo>) {
  const plain = await prepareModel(file, { weights: 'w4', contextLength: CONTEXT, beyondTraining: true })
  const weights = new Map([...plain.weights].map(([name, tensor]) => [name, tensors.get(name) ?? tensor]))
  const hooks = { signal, onProgress: () => undefined }
  const built = await buildModel({ ...plain, weights }, { host, threads: 1, build: 'auto' }, hooks)
  try {
    return await perplexity(ids, forwardRows(built), {
      context: CONTEXT,
      chunks: values.chunks,
      signal,
      bos: built.tokenizer.addsBos ? built.tokenizer.bosId : undefined,
    })
  } finally {
    await built.dispose()
  }
}

const msAt = ({ n, k }: Lost, index: number) => {
  const dense = costs.timeOf(n, k, undefined, 1)
  return index === 0 ? dense : Math.min(dense, costs.timeOf(n, k, sparseFormat, 1 - SPARSITIES[index]!))
}

for (let seed = 0; seed < values.seeds; seed++) {
  const own = lines.filter((_, at) => at % 3 === seed % 3)
  const texts = own.map((line) => ({ form: 'text', text: [JSON.parse(line).text as string] }) as const)
  const shared = {
    ...({ method: 'obs', pattern: parsePattern(values.pattern), sparsity: 0, damp: DEFAULT_DAMP } as const),
    ...({ sweeps: 8, format: 'w4_g32', sparseFormat, solver, host, signal, threads: 1 } as const),
    windows: await calibrationWindows(texts, tokenizer, { windows: values.windows, length: CONTEXT }),
  }
  const work = memoryWork()
  const products = await surveySparsities(prepared, { ...shared, work })
  const msOf = (index: number) => products.reduce((sum, each) => sum + msAt(each, index), 0)
  for (const sparsity of values.uniform.split(',').map(Number)) {
    const times = msOf(0) / msOf(SPARSITIES.findIndex((each) => Math.abs(each - sparsity) < 1e-9))
    for (const way of values.ways.split(',')) {
      let sparsities: ReadonlyMap<string, number> = new Map()
      if (way !== 'uniform') {
        // Times are compared after rounding up, so a margin of a thousandth is needed for the uniform
        // sparsity itself to be allowed.
        const budget = { kind: 'speed', times: times * 0.999 } as const
        const own = { ...shared, work, costs, budget }
        sparsities = (await allocateSparsity(prepared, own)).sparsities
      }
      const base = way === 'uniform' ? sparsity : 0
      const { tensors } = await pruneModel(prepared, {
        ...shared,
        work: memoryWork(),
        sparsity: base,
        sparsities,
      })
      const { perplexity: value, error } = await score(tensors)
      const shares = products.map(({ names }) => sparsities.get(names[0]!) ?? base)
      console.log(JSON.stringify({ seed, sparsity, way, times, perplexity: value, error, shares }))
    }
  }
}
await files.close()
