// Reads the flags of sparsity budgets, and prints the predicted result.
import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseObject } from '../../../core/formats/json-files.ts'
import {
  builtInCosts,
  COST_FORMATS,
  type Costs,
  measuredCosts,
  parseCostTable,
} from '../../../core/weights/sparse/cost-table.ts'
import type { AllocateOptions, Prediction, SparsityBudget } from '../../shrink/calibrate/allocate-sparsity.ts'
import type { Pattern } from '../../shrink/prune/mask.ts'
import { real, size } from '../options.ts'
import { systemError } from '../terminal/failure.ts'

export interface BudgetFlags {
  readonly sparsity?: number
  readonly speed?: number
  readonly tokensPerSecond?: number
  readonly size?: number
  readonly loss?: number
  readonly costs?: string
}

export function withBudgetOptions(command: Command): Command {
  return command
    .option(
      '--speed <times>',
      'instead of --sparsity: target speedup of the products over dense; each product gets its own sparsity',
      real(1, 10),
    )
    .option(
      '--tokens-per-second <n>',
      'the same for whole tokens of one conversation; needs --costs',
      (text) => {
        const value = real(0)(text)
        if (value > 0) return value
        throw new InvalidArgumentError('give a number above 0.')
      },
    )
    .option('--size <size>', 'the same, as a limit on the bytes of all weights, like 20MB', size(1))
    .option(
      '--loss <share>',
      'the same, as the mean share of energy that products may lose; gives the fastest model within it',
      real(0, 1),
    )
    .option(
      '--costs <file>',
      'times of the products on the target, from halfbyte measure-costs; default: built-in times',
    )
}

export type Allocating = Pick<AllocateOptions, 'format' | 'sparseFormat' | 'budget' | 'costs'>

/**
 * Undefined when no budget is given. Throws `unsupported` for conflicting flags, `format` for costs that
 * cannot be read.
 */
export async function allocatingOf(
  flags: BudgetFlags & { readonly calibration?: string },
  { name }: Pattern,
  format: 'f32' | 'w8_g32' | 'w4_g32',
): Promise<Allocating | undefined> {
  const asked = budgetOf(flags)
  if (asked === undefined) {
    if (flags.costs === undefined) return undefined
    throw new HalfbyteError(
      'unsupported',
      '--costs needs a budget; give --speed, --tokens-per-second, --size or --loss, or omit --costs',
    )
  }
  const sparseFormat = COST_FORMATS.find((each) => each === name)
  if (sparseFormat === undefined || format === 'f32') {
    throw new HalfbyteError(
      'unsupported',
      `a budget uses measured times of sv32 and sb84 in w4 and w8, and this is ${name} in ${format}; choose one of those, or give --sparsity`,
    )
  }
  if (flags.sparsity !== undefined || flags.calibration === undefined) {
    throw new HalfbyteError(
      'unsupported',
      'a budget chooses sparsities on a text; give --calibration FILE, and omit --sparsity',
    )
  }
  const costs = flags.costs === undefined ? builtInCosts(format) : await readCosts(flags.costs, format)
  return { format, sparseFormat, budget: completed(asked, costs), costs }
}

type AskedBudget = Exclude<SparsityBudget, { kind: 'tokens' }> | { kind: 'tokens'; perSecond: number }

function completed(asked: AskedBudget, { restMs, machine }: Costs): SparsityBudget {
  if (asked.kind !== 'tokens') return asked
  if (restMs !== undefined) return { ...asked, restMs }
  throw new HalfbyteError(
    'unsupported',
    `tokens per second need costs of whole tokens, but those of ${machine} cover products only; give --costs FILE from halfbyte measure-costs`,
  )
}

function budgetOf({ speed, tokensPerSecond, size, loss }: BudgetFlags): AskedBudget | undefined {
  const asked: AskedBudget[] = []
  if (speed !== undefined) asked.push({ kind: 'speed', times: speed })
  if (tokensPerSecond !== undefined) asked.push({ kind: 'tokens', perSecond: tokensPerSecond })
  if (size !== undefined) asked.push({ kind: 'bytes', most: size })
  if (loss !== undefined) asked.push({ kind: 'loss', share: loss })
  if (asked.length < 2) return asked[0]
  throw new HalfbyteError(
    'unsupported',
    `${asked.length} budgets were given but only one is possible; choose one of --speed, --tokens-per-second, --size and --loss`,
  )
}

async function readCosts(path: string, format: 'w8_g32' | 'w4_g32'): Promise<Costs> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw systemError(cause, 'format', `the costs ${path} cannot be read`, 'check the path')
  }
  const table = parseCostTable(path, parseObject(path, text))
  if (table.format === format) return measuredCosts(table)
  throw new HalfbyteError(
    'unsupported',
    `${path} has times of ${table.format}, but the weights are ${format}; measure with --weights ${format.slice(0, 2)}`,
    { costs: table.format, weights: format },
  )
}

/** One line for users. */
export function predictionLine(prediction: Prediction, { machine }: Costs): string {
  const { speed, tokensPerSecond, denseTokensPerSecond, bytes, loss, dropped } = prediction
  const whole =
    tokensPerSecond === undefined || denseTokensPerSecond === undefined
      ? ''
      : `, ${tokensPerSecond.toPrecision(4)} tokens per second (dense ${denseTokensPerSecond.toPrecision(4)})`
  return `predicted from times on ${machine}: ${(100 * dropped).toFixed(1)} % dropped, products ${speed.toFixed(2)} times as fast${whole}, ${bytes} bytes of weights, ${(100 * loss).toFixed(2)} % of energy lost\n`
}
