// Warms up an engine: its first greedy tokens after some prompts, and roughly how fast it is.
import type { EngineName, Run } from './engines.ts'
import { promptOf } from './prompts.ts'
import type { Agreement } from './results.ts'

const PROMPTS = 4
const PROMPT_TOKENS = 12
const DECODE = 2
/** Seeds that no measured prompt has. */
const FIRST_SEED = 900_000

export interface WarmUp {
  /** The first token after each prompt. */
  readonly firstTokens: readonly number[]
  /** Tokens per second. */
  readonly prefillRate: number
  readonly decodeRate: number
}

/** Not measured. Compiles code, touches memory, and shows which tokens the engine generates. */
export async function warmUp(run: (prompt: string, decode: number) => Promise<Run>): Promise<WarmUp> {
  const runs: Run[] = []
  for (let index = 0; index < PROMPTS; index++) {
    runs.push(await run(promptOf(PROMPT_TOKENS, FIRST_SEED + index), DECODE))
  }
  const warm = runs.slice(1)
  const rate = (tokens: (one: Run) => number, ms: (one: Run) => number) => {
    const total = warm.reduce((sum, one) => sum + tokens(one), 0)
    return (
      (1000 * total) /
      Math.max(
        1e-3,
        warm.reduce((sum, one) => sum + ms(one), 0),
      )
    )
  }
  return {
    firstTokens: runs.map(({ ids }) => ids[0] ?? -1),
    prefillRate: rate(
      ({ promptTokens }) => promptTokens,
      ({ prefillMs }) => prefillMs,
    ),
    decodeRate: rate(
      ({ decodedTokens }) => decodedTokens - 1,
      ({ decodeMs }) => decodeMs,
    ),
  }
}

/**
 * Weights are random and the vocabulary has thousands of tokens, so an engine with wrong results agrees on no
 * token.
 */
export function agreementOf(
  tokens: readonly number[],
  reference: readonly number[],
  name: EngineName,
): Agreement {
  return {
    same: tokens.filter((id, index) => id === reference[index]).length,
    of: reference.length,
    reference: name,
  }
}

/**
 * Half of them must agree: rounding may swap two tokens, especially with int8 activations scaled per tensor.
 */
export const agrees = ({ same, of }: Agreement): boolean => same * 2 >= of
