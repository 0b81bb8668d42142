// Trains the classifier of need. In: the data beside this file and the stored messages. Out: `trained.ts` of
// the package, or what it recognizes of sets that it did not learn from.
//
//   npx node lab/train/need/main.ts
//   npx node lab/train/need/main.ts --without unseen-need-4,unseen-ordinary-4
//   npx node lab/train/need/main.ts --each
//
// The second leaves sets out and measures them; the third does so with each round in turn, and with the
// earlier sets, and adds what is recognized in each language. Neither writes anything.
import { writeFileSync } from 'node:fs'
import { languageOf, passages } from '../../../src/ui/assist/care/classifier/features.ts'
import { type Packed, pack, unpack } from '../../../src/ui/assist/care/classifier/packed.ts'
import { NEEDS, scorePassage, type Weights } from '../../../src/ui/assist/care/classifier/scores.ts'
import { withoutFiction } from '../../../src/ui/assist/care/fiction.ts'
import { folded } from '../../../src/ui/assist/care/fold.ts'
import { needByPatterns } from '../../../src/ui/assist/care/patterns/need-by-patterns.ts'
import { MIN_PATTERN_ODDS } from '../../../src/ui/assist/care/recognize.ts'
import {
  type Example,
  lexiconOf,
  plainExamples,
  readLexicon,
  seeded,
  storedExamples,
  writtenExamples,
} from './data.ts'
import { fit } from './fit.ts'

const ROUNDS = [1, 2, 3, 4, 5, 6, 7].map((round) => [`unseen-need-${round}`, `unseen-ordinary-${round}`])
const EARLIER = ['need', 'ordinary', 'held-need', 'held-ordinary']
/**
 * Stored messages that the classifier learns from; those of rounds after the seventh are never among them.
 */
const LEARNT = [...EARLIER, ...ROUNDS.flat()]
const THRESHOLDS = [1, 1.5, 2, 2.5, 3]
const TARGET = new URL('../../../src/ui/assist/care/classifier/trained.ts', import.meta.url)

const { keys } = readLexicon()
const lexicon = lexiconOf(keys)
const said = (text: string) => withoutFiction(folded(text))
const passagesOf = (text: string) => {
  const language = languageOf(said(text), lexicon)
  return language === undefined ? [] : passages(said(text), language, lexicon)
}
const fitted = (examples: readonly Example[], weight: number) =>
  examples.map(({ kind, text }) => ({ kind, weight, passages: passagesOf(text) }))

function train(withheld: readonly string[]): Packed {
  const stored = LEARNT.filter((set) => !withheld.includes(set)).flatMap((set) =>
    fitted(storedExamples(`${set}.txt`), 3),
  )
  return pack(
    keys,
    fit([...fitted(writtenExamples(seeded(1)), 1), ...fitted(plainExamples(), 1), ...stored]),
  )
}

interface Judged {
  readonly example: Example
  readonly odds: number
  readonly pattern: boolean
}

function judge(weights: Weights, set: string): Judged[] {
  const scores = new Float64Array(NEEDS.length)
  return storedExamples(`${set}.txt`).map((example) => {
    const odds = passagesOf(example.text).map((passage) => scorePassage(weights, passage, scores))
    const pattern = needByPatterns(said(example.text)) !== undefined
    return { example, odds: Math.max(...odds, -Infinity), pattern }
  })
}

const percent = (part: readonly unknown[], all: readonly unknown[]) =>
  `${((100 * part.length) / all.length).toFixed(1)} %`

function report(title: string, judged: readonly Judged[]): void {
  const shares = THRESHOLDS.map((threshold) => {
    const alone = judged.filter(({ odds }) => odds >= threshold)
    const both = judged.filter(
      ({ odds, pattern }) => odds >= threshold || (pattern && odds >= MIN_PATTERN_ODDS),
    )
    return `${threshold}: ${percent(alone, judged)} (${percent(both, judged)})`
  })
  console.log(`${title}, ${judged.length} messages: ${shares.join(', ')}`)
}

function measure(withheld: readonly string[]): Judged[] {
  const { weights } = unpack(train(withheld))
  return withheld.flatMap((set) => {
    const judged = judge(weights, set)
    report(set, judged)
    return judged
  })
}

const at = process.argv.indexOf('--without')
if (at !== -1) {
  console.log('share at or above each threshold, and with patterns')
  measure(process.argv[at + 1]!.split(','))
} else if (process.argv.includes('--each')) {
  console.log('share at or above each threshold, and with patterns')
  measure(EARLIER)
  const judged = ROUNDS.flatMap(measure)
  const isOrdinary = ({ example }: Judged) => example.kind === 'ordinary'
  const ordinary = judged.filter(isOrdinary)
  const need = judged.filter((each) => !isOrdinary(each))
  report('all rounds, in need', need)
  report('all rounds, ordinary', ordinary)
  for (const language of new Set(judged.map(({ example }) => example.language))) {
    const isIn = ({ example }: Judged) => example.language === language
    report(`${language}, in need`, need.filter(isIn))
    report(`${language}, ordinary`, ordinary.filter(isIn))
  }
} else {
  const { lexicon, meanings, surfaces } = train([])
  writeFileSync(
    TARGET,
    `// The trained classifier, written by lab/train/need/main.ts.\nimport type { Packed } from './packed.ts'\n\nexport const TRAINED: Packed = {\n  lexicon:\n    '${lexicon}',\n  meanings:\n    '${meanings}',\n  surfaces:\n    '${surfaces}',\n}\n`,
  )
}
