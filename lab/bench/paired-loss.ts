// Shows how certain a difference between models is. Prints each model's perplexity on a text, and the
// difference of its loss from the first model's, in nats per token with a standard error over windows.
//
//   npx node lab/bench/paired-loss.ts TEXT MODEL... [--chunks 60] [--context 256] [--threads 1]
//
// Each window's second half is scored, as `halfbyte perplexity` does. All models score the same windows, so
// the difficulty of a window cancels out.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { EXACT_KV } from '../../src/core/graph/ir.ts'
import { perplexityOfTokens, scoreWindow, type WindowTally } from '../../src/engine/score/perplexity.ts'
import { forwardRows, withModel } from '../../src/tools/cli/models/model.ts'
import { whole } from '../../src/tools/cli/options.ts'
import { mean } from '../../src/tools/evaluate/task.ts'

const command = new Command('paired-loss')
  .argument('<text>', 'UTF-8 text to score')
  .argument('<models...>', 'models; the others are compared with the first')
  .option('--chunks <n>', 'most windows', whole(1), 60)
  .option('--context <n>', 'tokens of a window', whole(2), 256)
  .option('--threads <n>', 'threads', whole(1), 1)
  .parse()
const values = command.opts<{
  readonly chunks: number
  readonly context: number
  readonly threads: number
}>()
const positionals = command.args
const [text = '', ...models] = positionals
const context = values.context
const { signal } = new AbortController()
const content = readFileSync(text, 'utf8')

const score = (model: string): Promise<WindowTally[]> =>
  withModel(
    model,
    { weights: 'auto', build: 'auto', threads: values.threads, context, kv: EXACT_KV },
    signal,
    async (built) => {
      const { tokenizer } = built
      const bos = tokenizer.addsBos ? tokenizer.bosId : undefined
      const ids = tokenizer.encode(content, { addSpecial: true })
      const count = Math.min(values.chunks, Math.floor(ids.length / context))
      const tallies: WindowTally[] = []
      for (let at = 0; at < count * context; at += context) {
        const own = ids.slice(at, at + context)
        tallies.push(await scoreWindow(own, forwardRows(built), { first: context / 2, bos, signal }))
      }
      return tallies
    },
  )

let base: readonly WindowTally[] | undefined
for (const model of models) {
  const tallies = await score(model)
  const [sum, squares, count] = (['sum', 'squares', 'count'] as const).map((what) =>
    tallies.reduce((total, each) => total + each[what], 0),
  ) as [number, number, number]
  const own = `${basename(model)}: perplexity ${perplexityOfTokens({ sum, squares, count }).value.toFixed(4)}`
  if (base === undefined) console.log(`${own}, ${tallies.length} windows, ${count} tokens`)
  else {
    const first = base
    const { value, error } = mean(tallies.map((each, at) => (each.sum - first[at]!.sum) / each.count))
    console.log(`${own}, ${value.toFixed(5)} +/- ${error?.toFixed(5)} nats per token`)
  }
  base ??= tallies
}
