// halfbyte prune. In: a model, how many weights to drop and in which pattern, calibration text. Out: a .hbm
// pack, or a folder with safetensors, of a model whose matrices have zeros.
import { Command, Option } from 'commander'
import { HalfbyteError } from '../../base/errors.ts'
import { type Pattern, parsePattern, sparsityOf } from '../../compress/prune/pattern.ts'
import { PRUNE_METHODS, type PruneMethod } from '../../compress/prune/prune.ts'
import { type AllocateOptions, allocateSparsity } from '../../engine/calibrate/allocate-sparsity.ts'
import { type PrunedReport, type PruneModelOptions, pruneModel } from '../../engine/calibrate/prune-model.ts'
import {
  type CompressFlags,
  calibrationOption,
  compress,
  dampOption,
  sum,
  sweepsOption,
  withCompressOptions,
} from '../compressing.ts'
import { loadSolver } from '../host.ts'
import { MODEL, real, type SparseFlags, sparseOption, whole } from '../options.ts'

interface PruneFlags extends CompressFlags, SparseFlags {
  readonly method: PruneMethod
  readonly pattern: string
  readonly sparsity?: number
  readonly weights: 'f32' | 'w8' | 'w4'
  readonly damp: number
  readonly drift: number
  readonly sweeps: number
  readonly rounds: number
  readonly scope: 'row' | 'matrix'
  readonly as: 'hbm' | 'safetensors'
  readonly speed?: number
}

const FORMATS = { f32: 'f32', w8: 'w8_g32', w4: 'w4_g32' } as const

export function pruneCommand(): Command {
  const command = new Command('prune')
    .description(
      'Write a model with weights set to zero. obs changes all kept weights of an output so that they make up best for the dropped ones, as seen on a calibration text.',
    )
    .argument('<model>', MODEL)
    .argument(
      '<output>',
      'the .hbm file, or with --as safetensors the folder, to write; <output>.work holds what is done until then',
    )
    .addOption(
      new Option('--method <method>', 'how weights are chosen and made up for; magnitude needs no text')
        .choices([...PRUNE_METHODS])
        .default('obs'),
    )
    .option(
      '--pattern <pattern>',
      'unstructured, sb84, sv32, or N:M like 2:4: N of M inputs are kept',
      'sv32',
    )
    .option('--sparsity <share>', 'share of weights to drop; N:M says it itself', real(0, 1))
    .option(
      '--speed <times>',
      'instead of --sparsity: how many times as fast as dense the products shall be; each gets a sparsity of its own',
      real(1, 10),
    )
    .addOption(
      new Option('--weights <format>', 'how what is left is stored; w8 and w4 choose codes on the same text')
        .choices(Object.keys(FORMATS))
        .default('w4'),
    )
    .addOption(sparseOption())
    .addOption(calibrationOption())
    .addOption(dampOption())
    .option(
      '--rounds <n>',
      'obs: in how many steps weights are dropped, scored again after each',
      whole(1),
      1,
    )
    .addOption(
      new Option('--scope <scope>', 'obs: what weights compete in; row: each output drops the same share')
        .choices(['matrix', 'row'])
        .default('matrix'),
    )
    .option(
      '--drift <share>',
      'obs, sparsegpt: how much of what earlier matrices changed in its inputs a matrix makes up for',
      real(0, 1),
      0,
    )
    .addOption(sweepsOption())
    .addOption(
      new Option('--as <kind>', 'what to write; safetensors needs a folder with safetensors, and f32')
        .choices(['hbm', 'safetensors'])
        .default('hbm'),
    )
  return withCompressOptions(command).action(pruneAction)
}

async function pruneAction(model: string, output: string, flags: PruneFlags): Promise<void> {
  const { method, calibration, weights, damp, drift, sweeps, rounds, scope, sparse, speed } = flags
  const pattern = parsePattern(flags.pattern)
  const allocation = allocationOf(flags, pattern)
  const sparsity = allocation === undefined ? sparsityOf(pattern, flags.sparsity) : 0
  if (method !== 'magnitude' && calibration === undefined) {
    throw new HalfbyteError(
      'unsupported',
      `${method} needs a text to calibrate on; give --calibration FILE, or choose --method magnitude`,
    )
  }
  if (flags.as === 'safetensors' && weights !== 'f32') {
    throw new HalfbyteError(
      'unsupported',
      `safetensors hold plain weights and the weights are ${weights}; add --weights f32, or write a .hbm`,
    )
  }
  await compress<PrunedReport>({
    ...{ model, output, flags, lineOf, as: flags.as, policy: weights },
    settings: {
      prune: method,
      pattern: pattern.name,
      sparsity,
      speed,
      weights,
      damp,
      drift,
      sweeps,
      rounds,
      scope,
    },
    make: async (prepared, shared) => {
      const options: PruneModelOptions = {
        ...{ ...shared, method, pattern, sparsity, damp, drift, sweeps, rounds, scope },
        format: FORMATS[weights],
        solver: calibration === undefined ? undefined : await loadSolver(),
        card: { name: flags.name, about: aboutOf(flags, pattern, sparsity), sparse, signal: shared.signal },
      }
      const sparsities = allocation && (await allocateSparsity(prepared, { ...options, ...allocation }))
      return pruneModel(prepared, { ...options, sparsities })
    },
    totals: (matrices) => ({
      loss: sum(matrices, 'loss'),
      energy: sum(matrices, 'energy'),
      work: sum(matrices, 'work'),
    }),
  })
}

/** What --speed asks for. Throws `unsupported` where no kernel was measured or nothing could be predicted. */
function allocationOf(
  { speed, sparsity, weights, calibration }: PruneFlags,
  { name }: Pattern,
): Pick<AllocateOptions, 'format' | 'sparseFormat' | 'speed'> | undefined {
  if (speed === undefined) return undefined
  if ((name !== 'sv32' && name !== 'sb84') || weights === 'f32') {
    throw new HalfbyteError(
      'unsupported',
      `--speed goes by measured times of sv32 and sb84 in w4 and w8, and this is ${name} in ${weights}; choose one of those, or give --sparsity`,
    )
  }
  if (sparsity !== undefined || calibration === undefined) {
    throw new HalfbyteError(
      'unsupported',
      '--speed chooses sparsities on a text; give --calibration FILE, and leave out --sparsity',
    )
  }
  return { speed, format: FORMATS[weights], sparseFormat: name }
}

const aboutOf = ({ license, method, weights, speed }: PruneFlags, { name }: Pattern, sparsity: number) => ({
  ...(license !== undefined && { license }),
  pruning: `${method} ${name} ${speed === undefined ? sparsity : `speed ${speed}`} ${FORMATS[weights]}`,
})

function lineOf({ name, shape, format, dropped, loss, energy, work }: PrunedReport): string {
  const lost =
    loss === undefined || energy === undefined
      ? ''
      : `, ${((100 * loss) / (energy || 1)).toFixed(2)} % of the energy of its products lost`
  const effort = work === 0 ? '' : `, ${(work / 1e9).toPrecision(2)} billion multiply-adds`
  return `${name} [${shape}] ${format}: ${(100 * dropped).toFixed(1)} % dropped${lost}${effort}`
}
