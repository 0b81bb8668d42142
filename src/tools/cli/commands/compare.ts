// `halfbyte compare`: compares packs of one model by size, memory, perplexity and speed, as a Markdown table
// and an SVG plot.
import { basename } from 'node:path'
import { Command } from 'commander'
import type { BuiltModel } from '../../../engine/load/build-model.ts'
import { perplexity } from '../../../engine/score/perplexity.ts'
import { svgPlot } from '../../evaluate/plot.ts'
import { type Compared, compareTable, type ModelReport, median } from '../../evaluate/report.ts'
import { pace } from '../../shrink/costs/measure-costs.ts'
import { startEnergy } from '../eval/energy.ts'
import { readIds } from '../files.ts'
import { forwardRows, withModel } from '../models/model.ts'
import { demand, type EngineFlags, MODEL, whole, withEngineOptions } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { JobProgress } from '../terminal/job-progress.ts'
import { clearProgress, overwrite, writeOutput } from '../terminal/output.ts'
import { checkReport } from '../write/check-output.ts'

interface CompareFlags extends EngineFlags {
  readonly text: string
  readonly context: number
  readonly chunks?: number
  readonly rounds: number
  readonly tokens: number
  readonly output?: string
  readonly plot?: string
  readonly json?: true
}

export function compareCommand(): Command {
  const command = new Command('compare')
    .description(
      'Compare packs of one model: size, memory, perplexity, speed. All are loaded at once and timed alternately.',
    )
    .argument('<model...>', `${MODEL}; the others are compared with the first`)
    .option('--text <file>', 'UTF-8 text to score, and to time the models on')
    .hook('preAction', demand('--text <file>'))
    .option('--context <tokens>', 'tokens per window', whole(4), 256)
    .option('--chunks <n>', 'maximum windows; default: all', whole(1))
    .option('--rounds <n>', 'how often each model is timed; medians are shown', whole(1), 5)
    .option('--tokens <n>', 'tokens to decode per round', whole(1), 32)
    .option('--output <file>', 'write the Markdown table')
    .option('--plot <file>', 'write an SVG plot')
    .option('--json', 'print one JSON object')
  return withEngineOptions(command).action(compareModels)
}

/** A loaded model. */
interface Loaded {
  readonly name: string
  readonly fileBytes: number
  readonly built: BuiltModel
}

async function compareModels(models: readonly string[], flags: CompareFlags): Promise<void> {
  await checkReport(flags.output, 'markdown')
  await checkReport(flags.plot, 'plot')
  await interruptible(async (signal) => {
    const rows = await withAll(models, flags, signal, (loaded) => measure(loaded, flags, signal)).finally(
      clearProgress,
    )
    const table = compareTable(rows)
    process.stdout.write(flags.json === true ? `${JSON.stringify(rows)}\n` : visible(table))
    const encoded = (content: string) => [new TextEncoder().encode(content)]
    if (flags.output !== undefined) await writeOutput(flags.output, encoded(table), signal)
    if (flags.plot !== undefined) await writeOutput(flags.plot, encoded(svgPlot(rows.map(reportOf))), signal)
  })
}

/** Loads the models one after the other, and closes all after `use`. */
function withAll<T>(
  [model, ...others]: readonly string[],
  flags: CompareFlags,
  signal: AbortSignal,
  use: (loaded: readonly Loaded[]) => Promise<T>,
  before: readonly Loaded[] = [],
): Promise<T> {
  if (model === undefined) return use(before)
  return withModel(model, flags, signal, (built, { file }) => {
    const sources = new Set([...file.tensors.values()].map(({ source }) => source))
    const fileBytes = [...sources].reduce((sum, { size }) => sum + size, 0)
    const own = { name: basename(model), fileBytes, built }
    return withAll(others, flags, signal, use, [...before, own])
  })
}

async function measure(
  loaded: readonly Loaded[],
  flags: CompareFlags,
  signal: AbortSignal,
): Promise<Compared[]> {
  const rounds: Round[][] = loaded.map(() => [])
  const runs = flags.rounds * loaded.length
  // A round reads a window and decodes tokens one by one; a perplexity reads many windows.
  const job = new JobProgress({ timing: runs * 2, scoring: loaded.length * (flags.chunks ?? 100) })
  for (let round = 0; round < flags.rounds; round++) {
    for (const [index, { name, built }] of loaded.entries()) {
      const left = job.at('timing', (round * loaded.length + index) / runs)
      overwrite(`${name}: time ${round + 1} of ${flags.rounds}`, left)
      rounds[index]!.push(await time(built, flags, signal))
    }
  }
  const rows: Compared[] = []
  for (const [index, { name, fileBytes, built }] of loaded.entries()) {
    const { tokenizer } = built
    overwrite(`${name}: perplexity`, job.at('scoring', index / loaded.length))
    const { perplexity: value, error } = await perplexity(
      await readIds(
        flags.text,
        tokenizer,
        flags.chunks === undefined ? undefined : flags.chunks * flags.context,
      ),
      forwardRows(built),
      {
        context: flags.context,
        chunks: flags.chunks,
        signal,
        bos: tokenizer.addsBos ? tokenizer.bosId : undefined,
        onWindow: (done, total) => {
          const left = job.at('scoring', (index + done / total) / loaded.length)
          overwrite(`${name}: window ${done} of ${total}`, left)
        },
      },
    )
    const own = rounds[index]!
    rows.push({
      name,
      fileBytes,
      memoryBytes: built.memory().totalBytes,
      perplexity: { value, error },
      prefill: own.map((round) => round.prefill),
      decode: own.map((round) => round.decode),
      cpu: own.map((round) => round.cpu),
      ...(own.every(({ energy }) => energy !== undefined) && {
        energy: own.map(({ energy = Number.NaN }) => energy),
      }),
    })
  }
  return rows
}

interface Round {
  readonly prefill: number
  readonly decode: number
  readonly cpu: number
  readonly energy: number | undefined
}

/** Prefills the text, then runs its next tokens one by one. */
async function time(
  built: BuiltModel,
  { text, context, tokens }: CompareFlags,
  signal: AbortSignal,
): Promise<Round> {
  const ids = [...(await readIds(text, built.tokenizer, context))]
  const count = Math.min(tokens, ids.length - 1)
  const paced = await pace(built, ids, { tokens: count, now: () => performance.now(), signal })
  try {
    const joules = await startEnergy()
    const used = process.cpuUsage()
    const decode = await paced.decode()
    const { user, system } = process.cpuUsage(used)
    const energy = joules && ((await joules()) * 1000) / count
    return { prefill: paced.prefill, decode, cpu: (user + system) / 1000 / count, energy }
  } finally {
    paced.release()
  }
}

/** Rows for the plot, which has a panel for each metric. */
function reportOf({ name, fileBytes, perplexity: quality, prefill, decode }: Compared): ModelReport {
  const row = (task: string, metric: string, value: number, error: number | undefined) => ({
    task,
    metrics: { [metric]: { value, error } },
    items: 1,
    of: 1,
    unit: 'pack',
    seconds: 0,
    data: [],
  })
  return {
    model: name,
    settings: {},
    tasks: [
      row('size', 'MB', fileBytes / 1e6, undefined),
      row('text', 'perplexity', quality.value, quality.error),
      row('prefill', 'tokens/s', median(prefill), undefined),
      row('decode', 'tokens/s', median(decode), undefined),
    ],
  }
}
