// `halfbyte quantize`: chooses codes that suit a float model's actual inputs, and writes a .hbm pack, GGUF or
// GPTQ folder.
import { Command, Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { type MatrixReport, quantizeModel } from '../../shrink/calibrate/quantize-model.ts'
import { matricesOf } from '../../shrink/calibrate/work-files.ts'
import type { Format } from '../../shrink/codes/coded-matrix.ts'
import { DEFAULT_DRIFT } from '../../shrink/matrix/targets.ts'
import { withTables } from '../../shrink/vocabulary/coded-tables.ts'
import {
  type CompressFlags,
  type CompressJob,
  calibrationOption,
  compress,
  dampOption,
  sum,
  sweepsOption,
  withCompressOptions,
} from '../compress/compressing.ts'
import { type FormatRule, formatOption, formatsOf } from '../compress/matrix-formats.ts'
import { MATRIX_FORMATS, type TableFlags, tableFormats, withTableOptions } from '../compress/table-option.ts'
import { loadSolver, startSolver } from '../node-host.ts'
import { MODEL, real, size } from '../options.ts'
import { unused, withIgnored } from '../terminal/notes.ts'

export interface QuantizeFlags extends CompressFlags, TableFlags {
  readonly method: 'rtn' | 'gptq'
  readonly weights: 'w4' | 'w4m' | 'w8' | 'w4_channel' | 'mixed' | 'keep'
  readonly budget?: number
  readonly damp: number
  readonly drift: number
  readonly sweeps: number
  readonly as?: 'hbm' | 'gguf' | 'gptq'
  readonly format?: readonly FormatRule[]
}

const FORMATS: Readonly<Record<QuantizeFlags['weights'], Format | 'mixed' | 'keep'>> = {
  ...MATRIX_FORMATS,
  w4_channel: 'w4_channel',
  mixed: 'mixed',
  keep: 'keep',
}

export function quantizeCommand(): Command {
  const command = new Command('quantize')
    .alias('quantise')
    .description(
      'Write a model with 4- or 8-bit matrices as a .hbm pack. With gptq, later codes of a row compensate for the errors of earlier ones, measured on a calibration text.',
    )
    .argument('<model>', MODEL)
    .argument(
      '<output>',
      'the .hbm or .gguf file, or with --as gptq the folder, to write; <output>.work holds the finished part until then',
    )
    .addOption(
      new Option('--method <method>', 'how codes are chosen; rtn rounds each weight to the nearest')
        .choices(['rtn', 'gptq'])
        .default('gptq'),
    )
    .addOption(
      new Option(
        '--weights <format>',
        "w4: groups of 32 with one scale; w4m: also a minimum; w8: 8 bits; mixed: formats mixed to fit --budget; keep: the model's own, for --table and --head",
      )
        .choices(Object.keys(FORMATS))
        .default('w4'),
    )
    .option('--budget <size>', 'maximum bytes of all weights, like 300MB; for --weights mixed', size(1))
    .addOption(calibrationOption())
    .addOption(formatOption())
    .addOption(dampOption())
    .option(
      '--drift <share>',
      "the share of earlier matrices' errors that a matrix compensates for",
      real(0, 1),
      DEFAULT_DRIFT,
    )
    .addOption(sweepsOption())
    .addOption(
      new Option(
        '--as <kind>',
        "what to write; default: from the output's name. gguf needs a model in GGUF, gptq a folder with safetensors",
      ).choices(['hbm', 'gguf', 'gptq']),
    )
  const rounding = ['damp', 'drift', 'sweeps'].map((option) => unused(option, '--method', 'rtn'))
  return withIgnored(withCompressOptions(withTableOptions(command)), rounding).action(quantize)
}

async function quantize(model: string, output: string, flags: QuantizeFlags): Promise<void> {
  const { method, calibration, weights, budget } = flags
  const isMixed = weights === 'mixed'
  const as = flags.as ?? (output.endsWith('.gguf') ? 'gguf' : 'hbm')
  checkTables(flags, as)
  if (weights === 'keep') checkKept(flags, as)
  if ((method !== 'rtn' || isMixed) && calibration === undefined) {
    throw new HalfbyteError(
      'unsupported',
      isMixed
        ? 'mixed formats are chosen on a text; give --calibration FILE, or choose other --weights'
        : `${method} needs a text to calibrate on; give --calibration FILE, or choose --method rtn`,
    )
  }
  if (isMixed && flags.format !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      '--weights mixed chooses the formats from the budget; omit --format, or choose other --weights',
    )
  }
  if (isMixed !== (budget !== undefined)) {
    throw new HalfbyteError(
      'unsupported',
      isMixed
        ? 'mixed formats need a budget; give --budget, like --budget 300MB'
        : `--budget is for --weights mixed, and the weights are ${weights}; omit it, or choose mixed`,
    )
  }
  await compress(quantizeJob(model, output, as, flags))
}

/** The job of `quantize`; the flags must fit together. */
export function quantizeJob(
  model: string,
  output: string,
  as: CompressJob<MatrixReport>['as'],
  flags: QuantizeFlags,
): CompressJob<MatrixReport> {
  const { method, weights, budget, damp, drift, sweeps } = flags
  const isMixed = weights === 'mixed'
  const tables = tableFormats(flags)
  return {
    model,
    output,
    flags,
    lineOf,
    as,
    isSurveyed: isMixed,
    policy: weights === 'keep' ? 'auto' : weights === 'w4m' || isMixed ? 'w4' : weights,
    settings: {
      method,
      weights,
      budget,
      damp,
      drift,
      sweeps,
      formats: flags.format,
      ...tables,
    },
    make: async (prepared, shared) => {
      const made = await quantizeModel(prepared, {
        ...shared,
        method,
        damp,
        drift,
        sweeps,
        budgetBytes: budget,
        format: FORMATS[weights],
        formats: formatsOf(flags.format, matricesOf(prepared)),
        head: method === 'gptq' ? tables.head : undefined,
        solver: method === 'gptq' ? await loadSolver() : undefined,
        startSolver,
        card: { name: flags.name, about: aboutOf(flags), signal: shared.signal },
      })
      const { contents, matrices, head } = made
      return { matrices, contents: withTables(contents, prepared.weights, tables, shared.signal, head) }
    },
    totals: (matrices) => ({ loss: sum(matrices, 'loss'), lossBefore: sum(matrices, 'lossBefore') }),
  }
}

/** Throws `unsupported` for table formats that the output or the budget does not support. */
function checkTables({ table, head, weights }: QuantizeFlags, as: string): void {
  const given = table === undefined ? head && '--head' : '--table'
  if (given === undefined || (as !== 'gptq' && weights !== 'mixed')) return
  throw new HalfbyteError(
    'unsupported',
    as === 'gptq'
      ? `a GPTQ folder keeps its tables as they are; omit ${given}, or write a .hbm`
      : `--budget counts tables as they are; omit ${given}, or choose other --weights`,
  )
}

/** Throws `unsupported` if nothing would change, and for options that need matrices with new codes. */
function checkKept({ table, head, format }: QuantizeFlags, as: string): void {
  const next =
    (as !== 'hbm' && 'the output is not a pack; write a .hbm') ||
    (format !== undefined && '--format gives them new codes; omit it, or choose other --weights') ||
    (table === undefined && head === undefined && 'nothing else would change; give --table or --head')
  if (next !== false)
    throw new HalfbyteError('unsupported', `--weights keep leaves the matrices as they are, and ${next}`)
}

const aboutOf = ({ license, method, weights }: QuantizeFlags) => ({
  ...(license !== undefined && { license }),
  quantization: `${method} ${weights === 'keep' ? 'table' : FORMATS[weights]}`,
})

function lineOf({ name, shape, format, loss, lossBefore, dead = 0 }: MatrixReport): string {
  const share =
    loss !== undefined && lossBefore !== undefined
      ? `${((100 * loss) / (lossBefore || 1)).toFixed(1)} % of the rounding error`
      : 'rounded'
  return `${name} [${shape}] ${format}: ${share}${dead > 0 ? `, ${dead} dead inputs` : ''}`
}
