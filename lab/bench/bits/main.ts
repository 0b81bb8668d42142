// Measures the loss of fewer than 4 bits and of longer groups, with the solver of `halfbyte quantize`. Prints
// one line of JSON per row.
//
//   npx node lab/bench/bits/main.ts MODEL CALIBRATION.jsonl TEXT [--rows round:w4_g64,solve:w3_g32]
//     [--windows 8] [--length 512] [--chunks 20] [--context 256] [--drift 0.5] [--sweeps 8] [--layers 10]
//     [--threads 1] [--done FILE] [--folder FOLDER] [--no-score]
// A row is round or solve, then a format. `solve:w3_g64+w4_g64` gives the second format to the products that
// lose most for their size, up to half of the weights. Matrices get the values of their codes, in f32, and
// the model is scored in f32: this needs no kernel, and activations are not rounded. Tables keep the file's
// values. --layers quantises only the first layers, which takes a share of the time. --done lists earlier
// rows, which are skipped. --folder writes the model of each row as safetensors, for a second evaluation.
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { weightOf } from '../../../src/core/arch/tensors/names.ts'
import type { TensorInfo } from '../../../src/core/formats/tensors.ts'
import { modelTokenizer } from '../../../src/engine/load/model-text.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { loadSolver, nodeHost, startSolver } from '../../../src/tools/cli/node-host.ts'
import { real, whole } from '../../../src/tools/cli/options.ts'
import { calibrationWindows } from '../../../src/tools/shrink/calibrate/calibration-windows.ts'
import { readMatrix } from '../../../src/tools/shrink/calibrate/gram.ts'
import { solveProducts } from '../../../src/tools/shrink/calibrate/solve-products.ts'
import type { Known } from '../../../src/tools/shrink/calibrate/solver/solver-crew.ts'
import { survey } from '../../../src/tools/shrink/calibrate/survey.ts'
import { DoneMatrices, matricesOf, memoryWork } from '../../../src/tools/shrink/calibrate/work-files.ts'
import { type CodedMatrix, decode, type GridFormat } from '../../../src/tools/shrink/codes/coded-matrix.ts'
import { modelFolder } from '../../../src/tools/shrink/folder/model-folder.ts'
import { rtn } from '../../../src/tools/shrink/matrix/grid.ts'
import { DEFAULT_SWEEPS } from '../../../src/tools/shrink/matrix/refine.ts'
import { DEFAULT_DRIFT } from '../../../src/tools/shrink/matrix/targets.ts'
import { replacedLoss } from '../replaced-loss.ts'
import { bitsOf, parseRow, type Row, sensitiveHalf } from './rows.ts'

const command = new Command('bits')
  .argument('<model>', 'model')
  .argument('<calibration>', 'lines of JSON with texts')
  .argument('<text>', 'UTF-8 text to score')
  .option('--rows <value>', 'rows, separated by commas', 'round:w4_g32,solve:w4_g32')
  .option('--windows <n>', 'windows of the calibration text', whole(1), 8)
  .option('--length <n>', 'tokens of a calibration window', whole(2), 512)
  .option('--chunks <n>', 'maximum number of windows to score', whole(1), 20)
  .option('--context <n>', 'tokens of a scored window', whole(2), 256)
  .option('--drift <x>', 'share of earlier errors that is compensated for', real(0, 1), DEFAULT_DRIFT)
  .option('--sweeps <n>', 'maximum number of sweeps over solved codes', whole(0), DEFAULT_SWEEPS)
  .option('--layers <n>', 'layers to quantise, from the first; default: all', whole(1))
  .option('--threads <n>', 'threads', whole(1), 1)
  .option('--done <file>', 'earlier output, whose rows are skipped')
  .option('--folder <folder>', 'writes the model of each row as safetensors')
  .option('--no-score', 'does not score the rows')
  .parse()
const values = command.opts<{
  readonly rows: string
  readonly windows: number
  readonly length: number
  readonly chunks: number
  readonly context: number
  readonly drift: number
  readonly sweeps: number
  readonly layers?: number
  readonly threads: number
  readonly done?: string
  readonly folder?: string
  readonly score: boolean
}>()
const [model = '', calibration = '', text = ''] = command.args
const rows = values.rows.split(',').map(parseRow)
const { threads } = values
const { signal } = new AbortController()
const host = nodeHost()
const shared = { host, threads, signal }

const files = await openModelFiles(model, { signal, onProgress: () => undefined })
const prepared = await prepareModel(await openModel(files.sources, signal), {
  weights: 'w4',
  forPack: true,
  signal,
})
const { layers = Number.POSITIVE_INFINITY } = values
const isWanted = (name: string) => Number(/\d+/.exec(name)) < layers
const names = matricesOf(prepared).filter(isWanted)
const tokenizer = modelTokenizer(prepared.file, prepared.plan.logits.width)
const ids = tokenizer.encode(readFileSync(text, 'utf8'), { addSpecial: true })
const lines = readFileSync(calibration, 'utf8').split('\n')
const texts = lines.flatMap((line) =>
  line === '' ? [] : [{ form: 'text', text: [JSON.parse(line).text as string] } as const],
)
const windows = await calibrationWindows(texts, tokenizer, {
  windows: values.windows,
  length: values.length,
})

interface Report {
  readonly name: string
  readonly loss?: number
}

const shapeOf = (name: string): readonly [number, number] => {
  const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
  return [n, k]
}

const bytesOf = (coded: CodedMatrix<GridFormat>): Uint8Array =>
  new Uint8Array(Float32Array.from(decode(coded)).buffer)

async function roundAll(done: DoneMatrices<Report>, formatOf: (name: string) => GridFormat): Promise<void> {
  for (const name of names) {
    const weights = await readMatrix(weightOf(prepared.weights, name), signal)
    await done.keep(bytesOf(rtn(weights, ...shapeOf(name), formatOf(name))), { name })
  }
}

/** Ends a walk after the last layer to quantise. */
const PAST = new Error('past the last layer')

/** The steps of `quantizeModel`, for formats that no pack can store. */
async function solveAll(done: DoneMatrices<Report>, formatOf: (name: string) => GridFormat): Promise<void> {
  const { drift, sweeps } = values
  const options = {
    ...shared,
    drift,
    sweeps,
    windows,
    work: memoryWork(),
    solver: await loadSolver(),
    startSolver,
  }
  await solveProducts<Report, Known>(prepared, options, {
    done,
    encodingOf: () => 'rows',
    know(crew, { name, parts }, stats) {
      if (!parts.every((part) => isWanted(part.name))) throw PAST
      return crew.know(name, stats, {})
    },
    async solve(crew, { name, n, k, stats, known }) {
      const weights = await readMatrix(weightOf(prepared.weights, name), signal)
      const own = { format: formatOf(name), sweeps, share: drift }
      const { coded, loss } = await crew.solve({ n, k, weights, behind: stats.behind, options: own }, known)
      await done.keep(bytesOf(coded), { name, loss })
      process.stderr.write(`${name} ${own.format}\r`)
    },
  }).catch((error: unknown) => {
    if (error !== PAST) throw error
  })
}

/** Enough windows to rank products by their losses. */
const SURVEY_WINDOWS = 2

async function products() {
  const own = windows.slice(0, SURVEY_WINDOWS)
  const surveyed = await survey(prepared, { ...shared, windows: own, work: memoryWork() })
  return surveyed
    .filter(({ parts }) => parts.every(isWanted))
    .map(({ parts, losses }) => {
      const weights = parts.reduce((sum, name) => sum + shapeOf(name)[0] * shapeOf(name)[1], 0)
      return { parts, weights, loss: losses.w4_g32 }
    })
}

let sensitive: ReadonlySet<string> | undefined

async function formatsOf({ format, better }: Row): Promise<(name: string) => GridFormat> {
  if (better === undefined) return () => format
  sensitive ??= sensitiveHalf(await products())
  const own = sensitive
  return (name) => (own.has(name) ? better : format)
}

async function writeFolder(name: string, tensors: ReadonlyMap<string, TensorInfo>): Promise<void> {
  if (values.folder === undefined) return
  const folder = join(values.folder, name.replace(/\W/g, '-'))
  const weights = new Map([...prepared.weights, ...tensors])
  const { json, chunks } = await modelFolder({ ...prepared, weights }, { dtype: 'F32', signal })
  await mkdir(folder, { recursive: true })
  for (const [file, content] of json) await writeFile(join(folder, file), JSON.stringify(content))
  await writeFile(join(folder, 'model.safetensors'), chunks)
}

async function finish(name: string, tensors: ReadonlyMap<string, TensorInfo>, facts: object): Promise<void> {
  await writeFolder(name, tensors)
  const { context, chunks } = values
  const scoring = { ...shared, weights: 'f32', context, chunks } as const
  const score = values.score ? await replacedLoss(prepared, tensors, ids, scoring) : {}
  const seconds = Math.round(process.cpuUsage().user / 1e6)
  const key: Key = { model: basename(model), row: name, layers: values.layers }
  process.stdout.write(`${JSON.stringify({ ...key, ...facts, seconds, ...score })}\n`)
}

async function run(row: Row): Promise<void> {
  const formatOf = await formatsOf(row)
  const done = new DoneMatrices<Report>(memoryWork())
  await (row.method === 'round' ? roundAll : solveAll)(done, formatOf)
  const tensors = new Map<string, TensorInfo>()
  let bits = 0
  let count = 0
  for (const name of names) {
    const [n, k] = shapeOf(name)
    tensors.set(name, await done.tensor(name, 'rows', n, k))
    bits += n * bitsOf(formatOf(name), k)
    count += n * k
  }
  const losses = done.reports(names).flatMap(({ name, loss }) => (loss === undefined ? [] : [[name, loss]]))
  await finish(row.name, tensors, { bits: bits / count, bytes: bits / 8, losses: Object.fromEntries(losses) })
}

const skipped = new Set(
  values.done === undefined || !existsSync(values.done)
    ? []
    : readFileSync(values.done, 'utf8')
        .split('\n')
        .flatMap((line) => (line.endsWith('}') ? [keyOf(JSON.parse(line))] : [])),
)

interface Key {
  readonly model: string
  readonly row: string
  readonly layers?: number | undefined
}

function keyOf({ model, row, layers: own }: Key): string {
  return `${model} ${row} ${row === 'none' ? '' : own}`
}

const isSkipped = (row: string) => skipped.has(keyOf({ model: basename(model), row, layers: values.layers }))

if (!isSkipped('none')) await finish('none', new Map(), {})
for (const row of rows) if (!isSkipped(row.name)) await run(row)
await files.close()
