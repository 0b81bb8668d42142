// Evaluates a compressed model on windows that were not used for calibration, compared with the original
// model.
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { EXACT_KV } from '../../../core/graph/ir.ts'
import { type Divergence, divergence } from '../../evaluate/divergence.ts'
import { withModel } from '../models/model.ts'
import type { EngineFlags } from '../options.ts'
import { clearProgress } from '../terminal/output.ts'

/** Default number of held-out windows. */
export const HELD_OUT = 8

/**
 * The windows to calibrate on, and the held-out ones after them. If a text has fewer windows than both need,
 * the last eighth is held out; with fewer than two windows, none.
 */
export function splitWindows(
  all: readonly (readonly number[])[],
  most: { readonly windows: number; readonly heldOut: number },
): { readonly windows: readonly (readonly number[])[]; readonly held: readonly (readonly number[])[] } {
  const share = all.length < 2 ? 0 : Math.max(1, Math.floor(all.length / 8))
  const count = Math.min(most.heldOut, Math.max(share, all.length - most.windows))
  const first = all.length - count
  return { windows: all.slice(0, Math.min(first, most.windows)), held: all.slice(first) }
}

interface JudgeOptions extends Pick<EngineFlags, 'threads' | 'lora'> {
  readonly model: string
  readonly output: string
  readonly held: readonly (readonly number[])[]
  readonly signal: AbortSignal
  readonly onWindow?: ((done: number, total: number) => void) | undefined
}

/** The original runs in f32, with its adapters. Throws what loading and running throw. */
export async function judge({
  model,
  output,
  held,
  signal,
  onWindow,
  ...flags
}: JudgeOptions): Promise<Divergence> {
  const context = held[0]?.length ?? 2
  const shared = { threads: flags.threads, build: 'auto', kv: EXACT_KV, context } as const
  onWindow?.(0, held.length)
  const original: EngineFlags = { ...shared, weights: 'f32', lora: flags.lora }
  return withModel(model, original, signal, (before) =>
    withModel(output, { ...shared, weights: 'auto' }, signal, (after) =>
      divergence(before, after, {
        windows: held,
        signal,
        onWindow,
      }).finally(clearProgress),
    ),
  )
}

/** The same comparison, or the reason why there is none. The output is complete either way. */
export async function judged(
  options: JudgeOptions,
): Promise<{ readonly quality: Divergence } | { readonly reason: string }> {
  if (options.held.length === 0) {
    return { reason: 'there was no held-out text; give --calibration FILE with more than one window' }
  }
  try {
    return { quality: await judge(options) }
  } catch (error) {
    options.signal.throwIfAborted()
    if (isHalfbyteError(error)) return { reason: error.message }
    throw error
  }
}

/** The meaning of a change in loss, by its size in nats per token. */
const MEANINGS: readonly (readonly [most: number, meaning: string])[] = [
  [0.01, 'on this text the model is as good as the original'],
  [0.05, 'the model is a little worse than the original; most replies will be just as good'],
  [0.15, 'the model is clearly worse than the original; look at its replies before you use it'],
  [0.5, 'the model has lost much of its ability; use more bytes or drop fewer weights'],
  [Number.POSITIVE_INFINITY, 'the model is ruined; use more bytes or drop fewer weights'],
]

export const meaningOf = ({ change }: Pick<Divergence, 'change'>): string =>
  MEANINGS.find(([most]) => change.value <= most)?.[1] ?? MEANINGS.at(-1)![1]

/** Two lines for users: the numbers, and what they mean. */
export function qualityText(quality: Divergence): string {
  const { before, after, change, kl, sameTop, tokens } = quality
  const percent = (100 * (Math.exp(change.value) - 1)).toFixed(1)
  const error = change.error === undefined ? '' : ` ± ${change.error.toFixed(4)}`
  const sign = change.value < 0 ? '' : '+'
  return [
    `on ${tokens} held-out tokens: perplexity ${after.toFixed(3)}, original ${before.toFixed(3)} (${sign}${percent} %, ${sign}${change.value.toFixed(4)}${error} nats per token), divergence ${kl.value.toFixed(4)} nats, same first choice ${(100 * sameTop.value).toFixed(1)} %`,
    `${meaningOf(quality)}`,
    '',
  ].join('\n')
}
