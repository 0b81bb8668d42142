// Replays recorded replies with given step times, to compare rules for drafts without a model's noise.
//
//   npx node lab/bench/drafts/replay.ts MODEL REPLIES MS,MS,...
//
// MODEL has the tokenizer, REPLIES is the output of `npm run bench:drafts -- --replies`,
// and the times are those of steps with 1, 2, ... 16 rows.
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { ConstraintCompiler } from '../../../src/core/constrain/compile.ts'
import { writeGrammar } from '../../../src/core/constrain/write-grammar.ts'
import type { TokenConstraint } from '../../../src/core/constrain/written-grammar.ts'
import { MAX_DRAFTS, Speculation } from '../../../src/core/generate/schedule/speculation.ts'
import { StepCost } from '../../../src/core/generate/schedule/step-cost.ts'
import { ExpectedDrafter } from '../../../src/core/generate/speculate/draft-expected.ts'
import { LookupDrafter } from '../../../src/core/generate/speculate/draft-lookup.ts'
import { modelText, openTokenizer } from '../../../src/engine/load/model-text.ts'
import { modelPathOf } from '../real/model-path.ts'
import { type DraftPrompt, KINDS } from './prompts.ts'

interface Recorded extends DraftPrompt {
  readonly text: string
}

const [named = '', repliesPath = '', times = ''] = process.argv.slice(2)
const ms = [0, ...times.split(',').map(Number)]
if (ms.length !== MAX_DRAFTS + 2 || ms.some(Number.isNaN)) {
  throw new Error(`${MAX_DRAFTS + 1} step times are needed, but ${JSON.stringify(times)} is given`)
}
const path = modelPathOf(named)
const file = await openModel([blobSource(basename(path), await openAsBlob(path))])
const tokenizer = openTokenizer(file)
const { text, renderPrompt } = modelText(tokenizer)
const constraints = new ConstraintCompiler(tokenizer, tokenizer.vocabSize, text.endIds)
const cost = new StepCost()
for (let round = 0; round < 10; round++) {
  for (let rows = 1; rows < ms.length; rows++) cost.observe(rows, ms[rows]!)
}

/** Milliseconds of a reply, step by step, and the counts of its drafts. */
function replay(prompt: readonly number[], reply: readonly number[], constraint?: TokenConstraint) {
  const all = [...prompt, ...reply]
  const tokens: number[] = [...prompt]
  const take = (id: number) => {
    tokens.push(id)
    // Retokenized text may differ from the ids that the model chose, but not in its bytes.
    constraint?.accept(id)
  }
  take(reply[0]!)
  const drafters = [...(constraint ? [new ExpectedDrafter(constraint)] : []), new LookupDrafter()]
  const speculation = new Speculation(drafters, undefined)
  let spent = 0
  while (tokens.length < all.length) {
    const most = Math.min(MAX_DRAFTS, all.length - tokens.length - 1)
    const drafted = speculation.draft(tokens, most, 1, { rows: 1, tokens: 1 }, cost)
    spent += ms[1 + drafted]!
    let right = 0
    while (right < drafted && speculation.ids[right] === all[tokens.length + right]) right++
    for (let count = 0; count <= right; count++) take(all[tokens.length]!)
    speculation.observe(tokens, right + 1, drafted)
  }
  return { ms: spent, drafted: speculation.drafted, accepted: speculation.accepted }
}

const lines = (await readFile(repliesPath, 'utf8')).split('\n').filter(Boolean)
const recorded = lines.map((line): Recorded => JSON.parse(line))
console.log(
  '| prompts | | tokens | drafted | accepted | times as fast |\n| --- | --: | --: | --: | --: | --: |',
)
for (const kind of KINDS) {
  const sum = { tokens: 0, drafted: 0, accepted: 0, ms: 0 }
  const group = recorded.filter((each) => each.kind === kind)
  for (const { question, schema, text: replied } of group) {
    const prompt = text.encode(renderPrompt([{ role: 'user', content: question }]), true)
    const reply = text.encode(replied, false)
    const constraint = schema && constraints.constrain(writeGrammar({ type: 'schema', schema }))
    const { ms: spent, drafted, accepted } = replay(prompt, reply, constraint)
    sum.tokens += reply.length
    sum.drafted += drafted
    sum.accepted += accepted
    sum.ms += spent
  }
  const faster = ((sum.tokens - group.length) * ms[1]!) / sum.ms
  console.log(
    `| ${[kind, group.length, sum.tokens, sum.drafted, sum.accepted, faster.toFixed(2)].join(' | ')} |`,
  )
}
