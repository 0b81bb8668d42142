// Sampled replies. In: an engine with the embedded model. Out: its replies with one seed and every kind of
// sampler chain.
import { TRIALS } from '../../../src/core/generate/sampler/testing/brute-force.ts'
import type { Engine, GenerateOptions } from '../../../src/index.ts'

export const CHAIN_PROMPT = 'Once upon a time there was a'
const open: GenerateOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

export const CHAINS: Readonly<Record<string, GenerateOptions>> = {
  'the defaults': {},
  'all ids, nothing cut': open,
  'cuts without top-k': { ...open, topP: 0.9, minP: 0.01, temperature: 1.3 },
  'tail-free and typical': { ...open, tfsZ: 0.95, typicalP: 0.8 },
  'top-n-sigma and XTC': { ...open, topNSigma: 1, xtcProbability: 0.5 },
  'penalties and DRY': { repeatPenalty: 1.2, frequencyPenalty: 0.1, dryMultiplier: 0.8 },
  'every stage at once': TRIALS,
  'mirostat 1': { mirostat: 1, temperature: 1 },
  'mirostat 2': { mirostat: 2, mirostatEnt: 3 },
}

/** Added to each of `CHAINS`. */
export const CHAIN_OPTIONS: GenerateOptions = { seed: 20_26, maxTokens: 40, logprobs: 3 }

/** Ids and log-probabilities by the name of the chain. */
export async function drawChains(engine: Engine): Promise<Record<string, unknown>> {
  const replies: Record<string, unknown> = {}
  for (const [name, chain] of Object.entries(CHAINS)) {
    const { tokens, logprobs } = await engine.complete(CHAIN_PROMPT, { ...chain, ...CHAIN_OPTIONS }).result
    replies[name] = { tokens, logprobs }
  }
  return replies
}
