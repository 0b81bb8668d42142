// Past findings: adapters.
import { peftFiles, randomLora } from '../../conformance/testing/writers/lora-files.ts'
import type { CorpusEntry } from '../corpus.ts'
import { inputOf, tinyLlama } from '../models.ts'
import { TRAP } from './values.ts'

const entry = (title: string, settings: object): CorpusEntry => ({
  title,
  async input() {
    const lora = randomLora(tinyLlama().weights, /\.q_proj/, 2, 5)
    return { ...(await inputOf(peftFiles(lora, settings))), depth: 'read' }
  },
})

export const CORPUS: readonly CorpusEntry[] = [
  entry('an object for the kind', { peft_type: TRAP }),
  entry('an object for the rank', { r: TRAP }),
  entry('an object for alpha', { lora_alpha: TRAP }),
  entry('an object for a pattern', { rank_pattern: TRAP }),
]
