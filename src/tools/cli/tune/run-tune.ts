// The phases of `tune`, each of which a resumed run skips if it is finished: examples and model to files, the
// training, both packs, the comparison, the report.
import { existsSync } from 'node:fs'
import { readFile, rename, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { DEFAULT_DAMP } from '../../shrink/matrix/factor.ts'
import { DEFAULT_SWEEPS } from '../../shrink/matrix/refine.ts'
import { DEFAULT_DRIFT } from '../../shrink/matrix/targets.ts'
import { compareLosses, type LossComparison } from '../../tune/compare-losses.ts'
import type { EncodedExample } from '../../tune/encode-example.ts'
import { holdOut, readExamples } from '../../tune/examples.ts'
import { type NetworkShape, networkShape } from '../../tune/network-shape.ts'
import { type AnswerSample, type CurvePoint, reportPage } from '../../tune/report-page.ts'
import { type QuantizeFlags, quantizeJob } from '../commands/quantize.ts'
import { writeCompressed } from '../compress/compressing.ts'
import { readPieces } from '../files.ts'
import { withPrepared } from '../models/model.ts'
import { visible } from '../terminal/failure.ts'
import { note } from '../terminal/notes.ts'
import { clearProgress, hashingText, overwrite, writeOutput, writingText } from '../terminal/output.ts'
import { writeModelFolder } from '../write/folder-output.ts'
import { hashOf, hashWeights, jobKey, openWork, type Work } from '../write/work-folder.ts'
import { runPack, samplePrompt } from './compare-packs.ts'
import { runTrainer } from './trainer.ts'
import { type TrainingPython, trainingPython } from './training-python.ts'
import type { TuneFlags } from './tune-flags.ts'
import { TuneProgress } from './tune-progress.ts'
import {
  completeFolder,
  encodeAll,
  isModelFolder,
  makeTunedFolder,
  textSide,
  tokensOf,
  type WorkPaths,
  weightsIn,
  workPaths,
  writeExamples,
} from './tune-work.ts'

interface TuneJob {
  /** `<model>` as typed. */
  readonly model: string
  readonly data: string
  readonly out: string
  readonly flags: TuneFlags
}

export interface Tuned {
  readonly out: string
  readonly report: string
  readonly bytes: { readonly before: number; readonly after: number }
  /** Of this run. */
  readonly seconds: number
  readonly comparison: LossComparison
  readonly samples: readonly AnswerSample[]
  readonly curve: readonly CurvePoint[]
}

/** Everything about the model and the examples that the later phases need. */
interface Prepared {
  readonly shape: NetworkShape
  readonly name: string
  readonly parameters: number
  readonly weightBytes: number
  readonly contextLength: number
  readonly train: readonly EncodedExample[]
  readonly held: readonly EncodedExample[]
  readonly samples: readonly Pick<AnswerSample, 'prompt' | 'expected'>[]
  readonly paths: WorkPaths
  readonly work: Work
}

/** Tokens of a calibration window, if there are enough. */
const WINDOW_TOKENS = 512

/** AdamW's weight decay of whole matrices; adapters start at zero already. */
const DECAY = 0.01

/** Throws what the phases throw; a stopped run says how to resume it. */
export async function runTune(job: TuneJob, signal: AbortSignal): Promise<Tuned> {
  const started = performance.now()
  const { data, out, flags } = job
  const examples = await readExamples(data, readPieces(data))
  const split = holdOut(examples, { share: flags.heldOut, seed: flags.seed })
  const python = await trainingPython(flags.python, signal)
  const prepared = await prepare(job, split, signal)
  try {
    const progress = new TuneProgress({
      ...prepared,
      calibrationTokens: flags.method === 'rtn' ? 0 : calibrationTokens(prepared, flags),
      heldTokens: tokensOf(prepared.held),
      answerTokens: answerTokens(prepared.held.slice(0, flags.samples)),
      threads: flags.threads,
    })
    const curve = await trainOnce(job, prepared, python, progress, signal)
    for (const which of ['base', 'tuned'] as const) await compressOnce(which, job, prepared, progress, signal)
    const ran = await compare(prepared, flags, progress, signal)
    const tuned = { ...ran, out, report: flags.report, curve, seconds: secondsSince(started) }
    const facts = factsOf(job, prepared, python)
    const page = reportPage({ ...tuned, model: prepared.name, data, output: basename(out), facts })
    await rename(prepared.paths.packs.tuned, out)
    await writeOutput(flags.report, [new TextEncoder().encode(page)], signal)
    await prepared.work.removeAll()
    return tuned
  } catch (error) {
    clearProgress()
    if (signal.aborted)
      process.stderr.write(
        visible(`${out}.work has the finished part; repeat the command with --resume to continue\n`),
      )
    throw error
  }
}

const secondsSince = (started: number): number => Math.round((performance.now() - started) / 100) / 10

/** Checks the model and the examples, opens the work folder, and writes both into it. */
function prepare(
  { model, data, out, flags }: TuneJob,
  split: ReturnType<typeof holdOut>,
  signal: AbortSignal,
): Promise<Prepared> {
  return withPrepared(model, { weights: 'f32', forPack: true }, signal, async (prepared) => {
    const { config, parameters, weights } = prepared
    const shape = networkShape(config)
    overwrite('reading the examples')
    const side = textSide(prepared, Math.min(flags.context, config.contextLength))
    const [train, held] = [split.train, split.held].map((each) => encodeAll(data, each, side)) as [
      EncodedExample[],
      EncodedExample[],
    ]
    clearProgress()
    reportLosses([...split.train, ...split.held].length, [...train, ...held], side.context)
    if (train.length === 0 || held.length === 0) throw nothingLeft(data, side.context)
    const work = await openWork(
      `${out}.work`,
      await keyOf(prepared, flags, [train, held], signal),
      flags.resume === true,
    )
    const paths = workPaths(`${out}.work`)
    await writeExamples(paths, train, held)
    if (!isModelFolder(paths.base)) {
      const onBytes = (done: number, total: number) => overwrite(writingText(done, total))
      await writeModelFolder(prepared, paths.base, { signal, onBytes })
    }
    const weightBytes = [...weights.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
    const samples = held.slice(0, flags.samples).map((each) => ({
      prompt: promptText(each, (ids) => side.tokenizer.decode(ids)),
      expected: side.tokenizer.decode(samplePrompt(each).expected),
    }))
    const { name, contextLength } = config
    return { shape, name, parameters, weightBytes, contextLength, train, held, samples, paths, work }
  })
}

/** What the model is asked, for people. */
function promptText(encoded: EncodedExample, decode: (ids: readonly number[]) => string): string {
  const { example } = encoded
  if (example.form !== 'chat') return decode(samplePrompt(encoded).prompt)
  const asked = example.messages.slice(0, -1)
  return asked.length === 1
    ? asked[0]!.content
    : asked.map(({ role, content }) => `${role}: ${content}`).join('\n\n')
}

function reportLosses(count: number, encoded: readonly EncodedExample[], context: number): void {
  const dropped = count - encoded.length
  const cut = encoded.filter(({ isCut }) => isCut).length
  if (cut > 0)
    note(`${cut} examples have more than ${context} tokens and were cut; raise --context to learn all`)
  if (dropped > 0)
    note(`${dropped} examples have nothing to learn within ${context} tokens and were left out`)
}

const nothingLeft = (data: string, context: number): HalfbyteError =>
  new HalfbyteError(
    'format',
    `${data} has too few examples with something to learn within ${context} tokens; raise --context, or give shorter examples`,
    { context },
  )

async function keyOf(
  { config, weights }: PreparedModel,
  flags: TuneFlags,
  examples: readonly (readonly EncodedExample[])[],
  signal: AbortSignal,
) {
  const { rank, alpha, epochs, rate, batch, context, seed, method, windows, name, license } = flags
  const show = (done: number, total: number) => overwrite(hashingText(done, total))
  return jobKey({
    settings: {
      ...{ rank, alpha, epochs, rate, batch, context, seed, method, windows, name, license },
      ...{ whole: flags.whole, weights: flags.weights },
    },
    configuration: hashOf(config),
    examples: hashOf(examples),
    weights: await hashWeights(weights, signal, show),
  })
}

/** States the time before the first step. Returns the loss curve. */
async function trainOnce(
  { flags }: TuneJob,
  { shape, paths, train }: Prepared,
  python: TrainingPython,
  progress: TuneProgress,
  signal: AbortSignal,
): Promise<readonly CurvePoint[]> {
  if (isModelFolder(paths.tuned))
    return parseJson(await readFile(paths.curve, 'utf8')) as readonly CurvePoint[]
  await makeTunedFolder(paths)
  const sequences = train.reduce((sum, each) => sum + each.sequences.length, 0)
  const steps = flags.epochs * Math.ceil(sequences / flags.batch)
  overwrite('starting the training')
  const curve = await runTrainer(
    python.program,
    paths.job,
    {
      shape,
      lora: flags.whole === true ? undefined : { rank: flags.rank, alpha: flags.alpha },
      rate: flags.rate,
      decay: flags.whole === true ? DECAY : 0,
      ...{ epochs: flags.epochs, batch: flags.batch, seed: flags.seed },
      threads: flags.threads === 'auto' ? undefined : flags.threads,
      weights: weightsIn(paths.base),
      output: weightsIn(paths.tuned),
      ...{ train: paths.train, held: paths.held, checkpoint: paths.checkpoint },
    },
    {
      onPace(seconds, step) {
        clearProgress()
        const time = progress.timed(1000 * seconds, step / steps)
        const from = step === 0 ? '' : `continuing at step ${step}; `
        process.stderr.write(
          `${from}${sequences} sequences, ${steps} steps in ${flags.epochs} ${flags.epochs === 1 ? 'epoch' : 'epochs'}; ${time}\n`,
        )
        overwrite('training')
      },
      onStep: progress.trained,
    },
    signal,
  )
  await writeOutput(paths.curve, [new TextEncoder().encode(JSON.stringify(curve))])
  await completeFolder(paths.base, paths.tuned)
  return curve
}

const windowTokens = ({ contextLength, train }: Pick<Prepared, 'contextLength' | 'train'>): number =>
  Math.max(2, Math.min(WINDOW_TOKENS, contextLength, Math.floor(tokensOf(train) / 2)))

const calibrationTokens = (prepared: Prepared, { windows }: TuneFlags): number =>
  Math.min(tokensOf(prepared.train), windows * windowTokens(prepared))

const answerTokens = (held: readonly EncodedExample[]): number =>
  2 * held.reduce((sum, each) => sum + samplePrompt(each).expected.length, 0)

/** Both models are calibrated on the examples that were learned. */
async function compressOnce(
  which: 'base' | 'tuned',
  { out, flags }: TuneJob,
  prepared: Prepared,
  progress: TuneProgress,
  signal: AbortSignal,
): Promise<void> {
  const { paths } = prepared
  const pack = paths.packs[which]
  if (existsSync(pack)) return
  const { method, weights, windows, threads, license } = flags
  const quantize: QuantizeFlags = {
    ...{ method, weights, windows, threads, license },
    damp: DEFAULT_DAMP,
    drift: DEFAULT_DRIFT,
    sweeps: DEFAULT_SWEEPS,
    ...(method !== 'rtn' && { calibration: paths.calibration }),
    context: windowTokens(prepared),
    heldOut: 0,
    resume: true,
    name: which === 'base' ? prepared.name : (flags.name ?? basename(out).replace(/\.hbm$/, '')),
  }
  const within = progress.compressing(which)
  const job = { ...quantizeJob(paths[which], pack, 'hbm', quantize), within }
  await withPrepared(paths[which], { weights: job.policy, forPack: true }, signal, (model) =>
    writeCompressed(job, model, signal),
  )
}

async function compare(
  { held, paths, samples }: Prepared,
  { threads, samples: count, context }: TuneFlags,
  progress: TuneProgress,
  signal: AbortSignal,
): Promise<Pick<Tuned, 'comparison' | 'bytes' | 'samples'>> {
  const run = (which: 'base' | 'tuned') => {
    const pack = paths.packs[which]
    return runPack({
      pack,
      held,
      samples: count,
      context,
      threads,
      signal,
      onProgress: progress.running(which),
    })
  }
  const before = await run('base')
  const after = await run('tuned')
  const [first, second] = await Promise.all([paths.packs.base, paths.packs.tuned].map((path) => stat(path)))
  return {
    comparison: compareLosses(before.losses, after.losses),
    bytes: { before: first!.size, after: second!.size },
    samples: samples.map((each, index) => ({
      ...each,
      before: before.answers[index]!,
      after: after.answers[index]!,
    })),
  }
}

function factsOf(
  { model, data, flags }: TuneJob,
  { train, held }: Prepared,
  { what }: TrainingPython,
): (readonly [string, string])[] {
  const { whole, rank, alpha, epochs, rate, batch, seed, method, weights } = flags
  return [
    ['base model', model],
    ['examples', `${data}: ${train.length} learned (${tokensOf(train)} tokens), ${held.length} held out`],
    [
      'training',
      `${whole === true ? 'all weights' : `LoRA of rank ${rank}, alpha ${alpha}`}, ${epochs} epochs, rate ${rate}, ${batch} examples per step, seed ${seed}`,
    ],
    ['compression', `${weights}, ${method}`],
    ['Python', what],
  ]
}
