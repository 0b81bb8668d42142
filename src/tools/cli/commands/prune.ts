// `halfbyte prune`: sets some of a model's weights to zero, and writes a .hbm pack or a folder with
// safetensors.
import { Command, Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { allocateSparsity, type Prediction } from '../../shrink/calibrate/allocate-sparsity.ts'
import { type PrunedReport, type PruneModelOptions, pruneModel } from '../../shrink/calibrate/prune-model.ts'
import { type Pattern, parsePattern, sparsityOf } from '../../shrink/prune/mask.ts'
import { PRUNE_METHODS, type PruneMethod } from '../../shrink/prune/prune-matrix.ts'
import {
  type CompressFlags,
  calibrationOption,
  compress,
  dampOption,
  type SharedOptions,
  sum,
  sweepsOption,
  withCompressOptions,
} from '../compress/compressing.ts'
import {
  type Allocating,
  allocatingOf,
  type BudgetFlags,
  predictionLine,
  withBudgetOptions,
} from '../compress/sparsity-budget.ts'
import { loadSolver, startSolver } from '../node-host.ts'
import { MODEL, real, type SparseFlags, sparseOption } from '../options.ts'
import { visible } from '../terminal/failure.ts'
import { clearProgress } from '../terminal/output.ts'

interface PruneFlags extends CompressFlags, SparseFlags, BudgetFlags {
  readonly method: PruneMethod
  readonly pattern: string
  readonly weights: keyof typeof FORMATS
  readonly damp: number
  readonly sweeps: number
  readonly scope?: 'row' | 'matrix'
  readonly as: 'hbm' | 'safetensors'
}

/** These flags as typed, because the defaults depend on which of them are given. */
type AskedFlags = Omit<PruneFlags, 'pattern' | 'weights'> & Partial<Pick<PruneFlags, 'pattern' | 'weights'>>

const FORMATS = { f32: 'f32', w8: 'w8_g32', w4: 'w4_g32' } as const

/** Default for a run without a sparsity: SmolLM2-135M predicts text equally well without those weights. */
const MILD = { pattern: 'unstructured', sparsity: 0.1, weights: 'w8' } as const

/** A run with a sparsity, a pattern or a budget drops strips and stores 4 bits. */
function withDefaults(flags: AskedFlags): PruneFlags {
  const { pattern, sparsity, speed, tokensPerSecond, size, loss } = flags
  const isAsked = [pattern, sparsity, speed, tokensPerSecond, size, loss].some((each) => each !== undefined)
  return isAsked
    ? { ...flags, pattern: pattern ?? 'sv32', weights: flags.weights ?? 'w4' }
    : { ...MILD, ...flags }
}

export function pruneCommand(): Command {
  const command = new Command('prune')
    .description(
      'Write a model with weights set to zero. obs updates the kept weights of each output to best compensate for the dropped ones, measured on a calibration text.',
    )
    .argument('<model>', MODEL)
    .argument(
      '<output>',
      'the .hbm file, or with --as safetensors the folder, to write; <output>.work holds the finished part until then',
    )
    .addOption(
      new Option('--method <method>', 'how weights are chosen and compensated for; magnitude needs no text')
        .choices([...PRUNE_METHODS])
        .default('obs'),
    )
    .option(
      '--pattern <pattern>',
      'unstructured, sb84, sv32, or N:M like 2:4: N of M inputs are kept; default: sv32 with --sparsity or a budget, or unstructured',
    )
    .option(
      '--sparsity <share>',
      'share of weights to drop; N:M patterns imply it; default: 0.1 if no other option sets it',
      real(0, 1),
    )
    .addOption(
      new Option(
        '--weights <format>',
        'precision of the kept weights; w8 and w4 choose codes on the same text; default: w4, or w8 if no option sets how many to drop',
      ).choices(Object.keys(FORMATS)),
    )
    .addOption(sparseOption())
    .addOption(calibrationOption())
    .addOption(dampOption())
    .addOption(
      new Option(
        '--scope <scope>',
        'obs: where weights compete; row: each output drops the same share (default: row for unstructured, matrix for sb84 and sv32)',
      ).choices(['matrix', 'row']),
    )
    .addOption(sweepsOption())
    .addOption(
      new Option('--as <kind>', 'what to write; safetensors needs a folder with safetensors, and f32')
        .choices(['hbm', 'safetensors'])
        .default('hbm'),
    )
  return withCompressOptions(withBudgetOptions(command)).action(pruneAction)
}

/** The settings from the flags. */
interface PruneJob {
  readonly flags: PruneFlags
  readonly pattern: Pattern
  /** The sparsity of every matrix; 0 if a budget is divided among the matrices. */
  readonly sparsity: number
  readonly allocating: Allocating | undefined
}

async function pruneAction(model: string, output: string, asked: AskedFlags): Promise<void> {
  const flags = withDefaults(asked)
  const pattern = parsePattern(flags.pattern)
  const allocating = await allocatingOf(flags, pattern, FORMATS[flags.weights])
  const sparsity = allocating === undefined ? sparsityOf(pattern, flags.sparsity) : 0
  checkFlags(flags)
  const job: PruneJob = { flags, pattern, sparsity, allocating }
  let prediction: Prediction | undefined
  await compress<PrunedReport>({
    model,
    output,
    flags,
    lineOf,
    as: flags.as,
    isSurveyed: allocating !== undefined,
    policy: flags.weights,
    settings: settingsOf(job),
    make: async (prepared, shared) => {
      const options = await optionsOf(job, shared)
      if (allocating === undefined) return pruneModel(prepared, options)
      const allocated = await allocate(prepared, options, flags, allocating)
      prediction = allocated.prediction
      return pruneModel(prepared, allocated.options)
    },
    totals: (matrices) => ({
      loss: sum(matrices, 'loss'),
      energy: sum(matrices, 'energy'),
      work: sum(matrices, 'work'),
      prediction,
    }),
  })
}

function checkFlags({ method, calibration, as, weights }: PruneFlags): void {
  if (method !== 'magnitude' && calibration === undefined) {
    throw new HalfbyteError(
      'unsupported',
      `${method} needs a text to calibrate on; give --calibration FILE, or choose --method magnitude`,
    )
  }
  if (as === 'safetensors' && weights !== 'f32') {
    throw new HalfbyteError(
      'unsupported',
      `safetensors can only hold plain weights, and these are ${weights}; add --weights f32, or write a .hbm`,
    )
  }
}

/**
 * Everything that the result depends on. A run reuses an unfinished run's work only if all of this is the
 * same.
 */
function settingsOf({ flags, pattern, sparsity, allocating }: PruneJob): object {
  const { method, weights, damp, sweeps, scope } = flags
  return {
    prune: method,
    pattern: pattern.name,
    sparsity,
    budget: allocating?.budget,
    costs: allocating?.costs.table,
    weights,
    damp,
    sweeps,
    scope,
  }
}

async function optionsOf(job: PruneJob, shared: SharedOptions<PrunedReport>): Promise<PruneModelOptions> {
  const { flags, pattern, sparsity } = job
  const { method, calibration, weights, damp, sweeps, scope, name, sparse } = flags
  return {
    ...shared,
    method,
    pattern,
    sparsity,
    damp,
    sweeps,
    scope,
    format: FORMATS[weights],
    solver: calibration === undefined ? undefined : await loadSolver(),
    startSolver,
    card: { name, sparse, signal: shared.signal, about: aboutOf(job) },
  }
}

/** Divides the budget among the matrices, and predicts the result. */
async function allocate(
  prepared: PreparedModel,
  options: PruneModelOptions,
  { json, sparse }: PruneFlags,
  allocating: Allocating,
): Promise<{ readonly options: PruneModelOptions; readonly prediction: Prediction }> {
  const allocation = await allocateSparsity(prepared, { ...options, ...allocating })
  const { prediction, sparsities } = allocation
  if (json !== true) {
    clearProgress()
    process.stdout.write(visible(predictionLine(prediction, allocating.costs)))
  }
  const chosen = (name: string) => (allocation.sparse.has(name) ? allocating.sparseFormat : 'none')
  const card = { ...options.card, sparse: sparse === 'auto' ? chosen : sparse }
  return { options: { ...options, sparsities, card }, prediction }
}

function aboutOf({ flags, pattern: { name }, sparsity, allocating }: PruneJob) {
  const { license, method, weights } = flags
  const { kind, ...most } = allocating?.budget ?? { kind: sparsity }
  return {
    ...(license !== undefined && { license }),
    pruning: [method, name, kind, ...Object.values(most), FORMATS[weights]].join(' '),
  }
}

function lineOf({ name, shape, format, dropped, loss, energy, work }: PrunedReport): string {
  const lost =
    loss === undefined || energy === undefined
      ? ''
      : `, ${((100 * loss) / (energy || 1)).toFixed(2)} % of the energy of its products lost`
  const effort = work === 0 ? '' : `, ${(work / 1e9).toPrecision(2)} billion multiply-adds`
  return `${name} [${shape}] ${format}: ${(100 * dropped).toFixed(1)} % dropped${lost}${effort}`
}
