// Measures the speedup from lookup drafts, for texts that repeat themselves and for others.
import { Sampler } from '../../../src/core/generate/sampler/sampler.ts'
import { LookupDrafter } from '../../../src/core/generate/speculate/draft-lookup.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import { spread } from '../spread.ts'
import type { Bench, Figure, Job } from './measure.ts'

const STORY = 'Once upon a time, there was a little girl named Lily. She liked to play in the garden.'
const SOUNDS = 'The cat said meow. The dog said woof. The cow said moo. '
const PROMPTS = {
  'a story': STORY,
  'a refrain': SOUNDS.repeat(3),
  'a story told again': `${STORY} One day, she found a big red ball. She was very happy. ${STORY}`,
} as const

export async function measureTexts(
  bench: Bench,
  model: BuiltModel,
  { rounds, tokens }: Job,
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, prompt] of Object.entries(PROMPTS)) {
    for (const temperature of [0, 0.8]) {
      const ids = model.text.encode(prompt, true)
      const sequence = model.newSequence()
      const ms: number[] = []
      const ratios: number[] = []
      let drafted = 0
      let accepted = 0
      const run = async (seed: number, isDrafted: boolean) => {
        sequence.setTokens(ids)
        const sampler = new Sampler(model.logitRows, { temperature, seed })
        return bench.run([sequence], 4 * tokens, {
          sampler,
          drafters: isDrafted ? [new LookupDrafter()] : [],
        })
      }
      await run(0, true)
      for (let round = 0; round < rounds; round++) {
        // Alternates which of the two runs first, because the halves of a round may differ in speed.
        const isFirst = round % 2 === 0
        const one = await run(round, isFirst)
        const other = await run(round, !isFirst)
        const [with_, without] = isFirst ? [one, other] : [other, one]
        ms.push(with_.ms)
        ratios.push(without.ms / with_.ms)
        drafted += with_.drafted
        accepted += with_.accepted
      }
      sequence.release()
      figures.push({
        name: `lookup, ${name}, ${temperature === 0 ? 'greedy' : `temperature ${temperature}`}`,
        ms: spread(ms),
        ratio: spread(ratios),
        note: `${4 * tokens} tokens, ${(drafted / rounds).toFixed(1)} drafted, ${(accepted / rounds).toFixed(1)} of them right`,
      })
    }
  }
  return figures
}
