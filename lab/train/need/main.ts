// Trains the classifier of need. In: the data next to this file and the stored messages. Out: `trained.ts` of
// the package, and the share of messages that the classifier recognizes in the sets that it was not trained
// on.
//
//   npx node lab/train/need/main.ts
//   npx node lab/train/need/main.ts --without unseen-need-4,unseen-ordinary-4
//
// The second command measures those sets and writes nothing.
import { writeFileSync } from 'node:fs'
import { languageOf, passages } from '../../../src/ui/assist/care/classifier/features.ts'
import { pack, unpack } from '../../../src/ui/assist/care/classifier/packed.ts'
import { NEEDS, scorePassage } from '../../../src/ui/assist/care/classifier/scores.ts'
import { withoutFiction } from '../../../src/ui/assist/care/fiction.ts'
import { folded } from '../../../src/ui/assist/care/fold.ts'
import { type Example, lexiconOf, readLexicon, seeded, storedExamples, writtenExamples } from './data.ts'
import { fit } from './fit.ts'

/** Stored messages that the classifier learns from; those of `unseen-*-5` are never among them. */
const UNSEEN = [1, 2, 3, 4].flatMap((round) => [`unseen-need-${round}`, `unseen-ordinary-${round}`])
const LEARNT = ['need', 'ordinary', 'held-need', 'held-ordinary', ...UNSEEN]
const THRESHOLDS = [0, 0.5, 1, 1.5, 2, 2.5, 3]
const TARGET = new URL('../../../src/ui/assist/care/classifier/trained.ts', import.meta.url)

const { keys } = readLexicon()
const lexicon = lexiconOf(keys)
const passagesOf = (text: string) => {
  const said = withoutFiction(folded(text))
  const language = languageOf(said, lexicon)
  return language === undefined ? [] : passages(said, language, lexicon)
}
const fitted = (examples: readonly Example[], weight: number) =>
  examples.map(({ kind, text }) => ({ kind, weight, passages: passagesOf(text) }))

const withheld = (process.argv[process.argv.indexOf('--without') + 1] ?? '').split(',')
const learnt = LEARNT.filter((set) => !withheld.includes(set))
const packed = pack(
  keys,
  fit([
    ...fitted(writtenExamples(seeded(1)), 1),
    ...learnt.flatMap((set) => fitted(storedExamples(`${set}.txt`), 2)),
  ]),
)
const { weights } = unpack(packed)

const scores = new Float64Array(NEEDS.length)
for (const set of UNSEEN.filter((set) => !learnt.includes(set))) {
  const odds = storedExamples(`${set}.txt`).map(({ text }) =>
    Math.max(...passagesOf(text).map((passage) => scorePassage(weights, passage, scores)), -Infinity),
  )
  const shares = THRESHOLDS.map((threshold) => {
    const share = odds.filter((odd) => odd >= threshold).length / odds.length
    return `${threshold}: ${(100 * share).toFixed(1)} %`
  })
  console.log(`${set}, share at or above each threshold: ${shares.join(', ')}`)
}
if (!process.argv.includes('--without')) {
  writeFileSync(
    TARGET,
    `// The trained classifier, written by lab/train/need/main.ts.\nimport type { Packed } from './packed.ts'\n\nexport const TRAINED: Packed = {\n  lexicon:\n    '${packed.lexicon}',\n  weights:\n    '${packed.weights}',\n}\n`,
  )
}
