// `halfbyte prune --drop-layers`: writes a model without the layers that change their input least, and lets
// the layers before them compensate for that.
import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { checkDroppable, leastInfluential, withoutLayers } from '../../shrink/layers/drop-layers.ts'
import { layerInfluence } from '../../shrink/layers/influence.ts'
import { type Repaired, repaired } from '../../shrink/layers/repair.ts'
import { withPrepared } from '../models/model.ts'
import { loadSolver, nodeHost } from '../node-host.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress, writeOutput } from '../terminal/output.ts'
import { checkName, checkOutput, makeFolder } from '../write/check-output.ts'
import { type CompressFlags, progressOf, readWindows } from './compressing.ts'
import { judged, qualityText, splitWindows } from './held-out.ts'

/** More windows do not change which layers matter least, and the rows of all are in memory. */
const MOST_WINDOWS = 32

/** Options of `prune` that apply to weights. */
const OF_WEIGHTS = [
  'method',
  'pattern',
  'sparsity',
  'speed',
  'tokensPerSecond',
  'size',
  'loss',
  'costs',
  'weights',
  'sparse',
  'scope',
  'drift',
  'sweeps',
  'as',
  'resume',
] as const

export interface DropFlags extends CompressFlags {
  readonly dropLayers: number
  /** Whether the layers before the dropped ones compensate for them. */
  readonly repair: boolean
  readonly damp: number
}

interface Dropped {
  readonly layers: number
  readonly dropped: readonly number[]
  readonly influence: readonly number[]
  /** Matrices that were solved again, by their names in the new model. */
  readonly repaired: readonly string[]
  readonly held: readonly (readonly number[])[]
}

/** Throws `unsupported` for other options of `prune` and for a model whose layers differ. */
export async function dropLayers(
  model: string,
  output: string,
  flags: DropFlags,
  command: Command,
): Promise<void> {
  const started = performance.now()
  checkAlone(flags, command)
  await checkOutput({ model, output, force: flags.force })
  checkName(output, 'hbm')
  const { threads, lora } = flags
  const { made, result } = await interruptible(async (signal) => {
    const asked = { weights: 'auto', lora, forPack: true } as const
    const made = await withPrepared(model, asked, signal, (prepared) =>
      write(prepared, output, flags, signal),
    )
    const { held } = made
    const isJudged = flags.heldOut > 0
    return {
      made,
      result: isJudged ? await judged({ model, output, held, threads, lora, signal }) : undefined,
    }
  }).finally(clearProgress)
  const { layers, dropped, influence, repaired: matrices } = made
  const { size: bytes } = await stat(output)
  const seconds = Math.round((performance.now() - started) / 100) / 10
  if (flags.json === true) {
    const summary = {
      output,
      bytes,
      seconds,
      ...result,
      layers: { before: layers, dropped, influence, repaired: matrices },
    }
    process.stdout.write(`${JSON.stringify(summary)}\n`)
    return
  }
  for (const layer of dropped) {
    process.stdout.write(`layer ${layer} dropped: influence ${influence[layer]!.toFixed(4)}\n`)
  }
  for (const matrix of matrices) {
    process.stdout.write(`${matrix.replace(/\.weight$/, '')} solved again to compensate for them\n`)
  }
  const left = layers - dropped.length
  process.stdout.write(visible(`${output}: ${bytes} bytes, ${left} of ${layers} layers, ${seconds} s\n`))
  if (result === undefined) return
  process.stdout.write(
    'quality' in result
      ? qualityText(result.quality)
      : visible(`not compared with the original: ${result.reason}\n`),
  )
}

function checkAlone({ calibration }: DropFlags, command: Command): void {
  const other = OF_WEIGHTS.find((name) => command.getOptionValueSource(name) === 'cli')
  if (other !== undefined) {
    const option = other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw new HalfbyteError(
      'unsupported',
      `--drop-layers drops no single weights; leave --${option} out, or prune the result in a second run`,
    )
  }
  if (calibration === undefined) {
    throw new HalfbyteError(
      'unsupported',
      'layers are chosen by what they do to a text; give --calibration FILE',
    )
  }
}

async function write(
  prepared: PreparedModel,
  output: string,
  flags: DropFlags,
  signal: AbortSignal,
): Promise<Dropped> {
  const { calibration = '', dropLayers: count, heldOut, threads, name, license, json } = flags
  checkDroppable(prepared.config, count)
  const most = { heldOut, windows: Math.min(flags.windows, MOST_WINDOWS) }
  const all = await readWindows(calibration, prepared, { ...flags, windows: most.windows + heldOut })
  const { windows, held } = splitWindows(all, most)
  const onProgress = progressOf(json === true)
  const influence = await layerInfluence(prepared, { windows, host: nodeHost(), threads, signal, onProgress })
  clearProgress()
  const dropped = leastInfluential(influence, count)
  const { model, matrices } = await shallowModel(prepared, dropped, windows, flags, signal)
  clearProgress()
  const about = {
    ...(license !== undefined && { license }),
    pruning: `without layers ${dropped.join(', ')} of ${prepared.config.layers}`,
  }
  const contents = await packContents(model, { name, about, signal })
  await makeFolder(output)
  await writeOutput(output, writePack(contents, signal), signal)
  return { layers: prepared.config.layers, dropped, influence, repaired: matrices, held }
}

async function shallowModel(
  prepared: PreparedModel,
  dropped: readonly number[],
  windows: readonly (readonly number[])[],
  { repair, damp, threads, json }: DropFlags,
  signal: AbortSignal,
): Promise<Repaired> {
  const model = withoutLayers(prepared, dropped)
  if (!repair) return { model, matrices: [] }
  const solver = await loadSolver()
  const onProgress = progressOf(json === true)
  return repaired(prepared, model, dropped, {
    windows,
    damp,
    solver,
    host: nodeHost(),
    threads,
    signal,
    onProgress,
  })
}
