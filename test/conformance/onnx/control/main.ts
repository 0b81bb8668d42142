// Random control values, in any number. In: a count of decoders, and a seed. Out: how many match ONNX
// Runtime, how many are rejected and why, and every one that differs. `npm run conformance:control -- COUNT
// [SEED]`
import { judgeDecoder } from './judge.ts'
import { randomDecoder } from './random-decoder.ts'

const [count = 2000, seed = 1] = process.argv.slice(2).map(Number)
/** Without a cache, masks of longer prompts are not computed. */
const MOST = 1300

const equal = { whole: 0, shorter: 0 }
const refused = new Map<string, number>()
const loaded = new Map<string, number>()
const reasons = new Map<string, number>()
let different = 0
const add = (counts: Map<string, number>, keys: readonly string[]) => {
  for (const key of keys.length === 0 ? ['nothing changed'] : keys)
    counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The part of an error message that does not depend on nodes and numbers. */
const withoutNames = (why: string): string =>
  why
    .replace(/^node \S+ /, '')
    .replace(/; export.*$/, '')
    .replaceAll(/\b[A-Za-z]+_\d+\b|-?\d[\d.e+-]*/g, '#')
    .replaceAll(/\[[#,\s-]*\]/g, '[#]')

for (let index = 0; index < count; index++) {
  const { form, lengths, labels, isRounded } = randomDecoder(seed, index, MOST)
  const verdict = await judgeDecoder(form, lengths, isRounded)
  if (verdict.is === 'refused') {
    add(refused, labels)
    add(reasons, [withoutNames(verdict.why)])
  } else add(loaded, labels)
  if (verdict.is === 'equal') equal[verdict.positions === undefined ? 'whole' : 'shorter']++
  if (verdict.is !== 'different') continue
  different++
  console.log(`${index}: ${labels.join(', ')}: ${verdict.why}`)
}

const all = new Set([...refused.keys(), ...loaded.keys()])
console.log('kind: loaded, rejected')
for (const kind of [...all].sort())
  console.log(`${kind}: ${loaded.get(kind) ?? 0}, ${refused.get(kind) ?? 0}`)
console.log('reasons for rejections')
for (const [reason, times] of [...reasons].sort(([, one], [, other]) => other - one))
  console.log(`${times}: ${reason}`)
const read = equal.whole + equal.shorter
console.log(
  `${count} decoders of seed ${seed}: ${read} equal (${equal.shorter} with a shorter context), ` +
    `${count - read - different} refused, ${different} different`,
)
process.exit(different === 0 ? 0 : 1)
