// What `quantize` and `prune` share: a work folder from which a later run can resume, progress, one line per
// matrix, and a summary.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import type { PackContents } from '../../../core/formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { modelTokenizer } from '../../../engine/load/model-text.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { calibrationWindows } from '../../shrink/calibrate/calibration-windows.ts'
import type { WalkOptions } from '../../shrink/calibrate/walk.ts'
import { DEFAULT_DAMP } from '../../shrink/matrix/factor.ts'
import { DEFAULT_SWEEPS } from '../../shrink/matrix/refine.ts'
import { withPrepared } from '../models/model.ts'
import { nodeHost } from '../node-host.ts'
import { type EngineFlags, loraOption, real, threadsOption, whole } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { needs, withIgnored } from '../terminal/notes.ts'
import { clearProgress } from '../terminal/output.ts'
import { checkName, checkOutput, forceOption } from '../write/check-output.ts'
import { hashOf, hashWeights, type JobKey, jobKey, openWork } from '../write/work-folder.ts'
import { type ModelOutput, WEIGHTS_FILE, writeModel } from '../write/write-model.ts'
import { calibrationTexts } from './calibration-file.ts'
import { CompressProgress } from './compress-progress.ts'
import { HELD_OUT, judged, qualityText, splitWindows } from './held-out.ts'

export interface CalibrationFlags {
  readonly windows: number
  readonly context?: number
  readonly threads: number | 'auto'
}

/** Default number of tokens in a window. */
const WINDOW_TOKENS = 512

export function withCalibrationOptions(command: Command): Command {
  return command
    .option('--windows <n>', 'maximum windows of the text to use', whole(1), 128)
    .option(
      '--context <tokens>',
      `tokens per window; default: ${WINDOW_TOKENS} or the model's limit`,
      whole(2),
    )
    .addOption(threadsOption())
}

/** Throws `format` if the text cannot be read or is shorter than one window. */
export async function readWindows(
  path: string,
  prepared: PreparedModel,
  flags: Pick<CalibrationFlags, 'windows' | 'context'>,
): Promise<number[][]> {
  const tokenizer = modelTokenizer(prepared.file, prepared.plan.logits.width)
  const length = flags.context ?? Math.min(WINDOW_TOKENS, prepared.config.contextLength)
  return calibrationWindows(calibrationTexts(path, tokenizer), tokenizer, { windows: flags.windows, length })
}

export interface CompressFlags extends CalibrationFlags, Pick<EngineFlags, 'lora'> {
  readonly calibration?: string
  readonly heldOut: number
  readonly resume?: true
  readonly force?: true
  readonly name?: string
  readonly license?: string
  readonly json?: true
}

export const calibrationOption = (): Option =>
  new Option(
    '--calibration <file>',
    'text like what the model will see: UTF-8, or .jsonl with a text or messages per line',
  )

export const dampOption = (): Option =>
  new Option('--damp <share>', "damping: a fraction of the Hessian's mean diagonal, added to the diagonal")
    .argParser(real(0, 10))
    .default(DEFAULT_DAMP)

export const sweepsOption = (): Option =>
  new Option('--sweeps <n>', 'maximum sweeps over the solved codes')
    .argParser(whole(0))
    .default(DEFAULT_SWEEPS)

/** The options of `CompressFlags`, except those of the text. */
export function withCompressOptions(command: Command): Command {
  return withCalibrationOptions(
    withIgnored(command, [
      needs('windows', '--calibration'),
      needs('context', '--calibration'),
      needs('heldOut', '--calibration'),
    ])
      .option(
        '--held-out <n>',
        'maximum windows of the text, after those of --windows, used to compare the result with the original',
        whole(0),
        HELD_OUT,
      )
      .option('--resume', 'resume an unfinished run')
      .addOption(forceOption())
      .addOption(loraOption())
      .option('--name <name>', "the model's name; default: its own")
      .option('--license <text>', 'licence to record in the pack')
      .option('--json', 'print one JSON object'),
  )
}

export interface CompressJob<Report> {
  /** `<model>` as typed. */
  readonly model: string
  readonly output: string
  readonly as: ModelOutput['as']
  /** Encodings of uncompressed weights. */
  readonly policy: EngineFlags['weights']
  readonly flags: CompressFlags
  /** Everything that the result depends on, besides model, text and adapters. */
  readonly settings: object
  /** True if all blocks are visited once before the first is solved. Default false. */
  readonly isSurveyed?: boolean
  readonly make: (prepared: PreparedModel, shared: SharedOptions<Report>) => Promise<Made<Report>>
  readonly lineOf: (report: Report) => string
  /** Additional fields of the JSON output. */
  readonly totals: (reports: readonly Report[]) => object
  /** The progress of the job that this one is a step of. That job reports what was written or stopped. */
  readonly within?: Pick<CompressProgress, 'hashed' | 'walked' | 'written'>
}

export interface SharedOptions<Report> extends Omit<WalkOptions, 'visit' | 'drift'> {
  readonly onMatrix: (report: Report) => void
}

export interface Made<Report> {
  readonly contents: PackContents
  /** Matrices to write as safetensors, by canonical name. */
  readonly tensors?: ReadonlyMap<string, TensorInfo>
  readonly matrices: readonly Report[]
}

/**
 * Throws what `make` and the writers throw, and `unsupported` for another job's work folder. Prints how to
 * resume a stopped run.
 */
export async function compress<Report>(job: CompressJob<Report>): Promise<void> {
  const { model, output, as, flags } = job
  const started = performance.now()
  await checkOutput({ model, output, force: flags.force })
  checkName(output, as)
  const { matrices, result } = await interruptible(async (signal) => {
    const { matrices, held, progress } = await withPrepared(
      model,
      { weights: job.policy, lora: flags.lora, forPack: true },
      signal,
      (prepared) => writeCompressed(job, prepared, signal),
    )
    const { threads, lora } = flags
    const isJudged = flags.heldOut > 0
    return {
      matrices,
      result: isJudged ? await judged({ model, output, held, threads, lora, signal, progress }) : undefined,
    }
  }).finally(clearProgress)
  const isFolder = as === 'gptq' || as === 'safetensors'
  const { size: bytes } = await stat(isFolder ? join(output, WEIGHTS_FILE) : output)
  const seconds = Math.round((performance.now() - started) / 100) / 10
  if (flags.json === true) {
    const summary = { output, bytes, seconds, ...result, ...job.totals(matrices), matrices }
    process.stdout.write(`${JSON.stringify(summary)}\n`)
    return
  }
  process.stdout.write(`${output}: ${bytes} bytes, ${matrices.length} matrices, ${seconds} s\n`)
  if (result === undefined) return
  process.stdout.write(
    'quality' in result
      ? qualityText(result.quality)
      : visible(`not compared with the original: ${result.reason}\n`),
  )
}

/** Makes and writes the output. Throws what `compress` throws. */
export async function writeCompressed<Report>(
  job: CompressJob<Report>,
  prepared: PreparedModel,
  signal: AbortSignal,
): Promise<{
  readonly matrices: readonly Report[]
  readonly held: readonly (readonly number[])[]
  readonly progress: CompressProgress
}> {
  const { model, output, as, flags } = job
  const { calibration, json } = flags
  const all =
    calibration === undefined
      ? []
      : await readWindows(calibration, prepared, { ...flags, windows: flags.windows + flags.heldOut })
  const { windows, held } = splitWindows(all, flags)
  const progress = progressOf(job, prepared, windows, held)
  const { hashed, walked, written } = job.within ?? progress
  const key = await keyOf(prepared, windows, job, hashed, signal)
  const work = await openWork(`${output}.work`, key, flags.resume === true)
  try {
    const { contents, tensors, matrices } = await job.make(prepared, {
      windows,
      work,
      signal,
      host: nodeHost(),
      threads: flags.threads,
      onProgress: walked,
      onMatrix: (report) => {
        if (json === true || job.within !== undefined) return
        clearProgress()
        process.stdout.write(visible(`${job.lineOf(report)}\n`))
      },
    })
    await writeModel({ model, output, as, prepared, contents, tensors, signal, onBytes: written })
    await work.removeAll()
    return { matrices, held, progress }
  } catch (error) {
    if (signal.aborted && job.within === undefined) {
      clearProgress()
      process.stderr.write(
        visible(`${output}.work has the finished part; repeat the command with --resume to continue\n`),
      )
    }
    throw error
  }
}

const progressOf = <Report>(
  { isSurveyed = false }: CompressJob<Report>,
  { parameters, weights }: PreparedModel,
  windows: readonly (readonly number[])[],
  held: readonly (readonly number[])[],
): CompressProgress =>
  new CompressProgress({
    parameters,
    isSurveyed,
    weightBytes: [...weights.values()].reduce((total, { byteLength }) => total + byteLength, 0),
    tokens: windows.length * (windows[0]?.length ?? 0),
    held: held.length * (held[0]?.length ?? 0),
  })

/** The weights include adapters, and the windows depend on the tokenizer. */
async function keyOf<Report>(
  { config, weights }: PreparedModel,
  windows: readonly (readonly number[])[],
  { settings }: CompressJob<Report>,
  onProgress: CompressProgress['hashed'],
  signal: AbortSignal,
): Promise<JobKey> {
  return jobKey({
    settings,
    configuration: hashOf(config),
    text: hashOf(windows),
    weights: await hashWeights(weights, signal, onProgress),
  })
}

/** The sum of a number over the matrices that have it. */
export const sum = <Name extends string>(
  reports: readonly { readonly [name in Name]?: number | undefined }[],
  what: Name,
): number => reports.reduce((total, report) => total + (report[what] ?? 0), 0)
