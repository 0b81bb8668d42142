// Computes bits per byte of stories with the engine. In: a model and JSON lines with a text each. Out: one
// JSON line.
//
// npx node lab/train/stories/score.mjs --model FILE --text tinystories-held.jsonl [--stories 200] [--chosen
// FILE]
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { forwardRows, withModel } from '../../../src/tools/cli/models/model.ts'
import { negativeLogLikelihood } from '../../../src/engine/score/perplexity.ts'

const args = new Command('score')
  .requiredOption('--model <file>')
  .requiredOption('--text <file>')
  .option('--stories <n>', 'default: all', Number)
  .option('--weights <policy>')
  .option('--chosen <file>', 'JSON with the line numbers to score')
  .parse()
  .opts()

const lines = readFileSync(args.text, 'utf8').trim().split('\n')
const chosen = args.chosen ? JSON.parse(readFileSync(args.chosen, 'utf8')) : lines.map((_, i) => i)
const flags = { threads: 1, context: 1024, weights: args.weights }
await withModel(args.model, flags, new AbortController().signal, async (built) => {
  const forward = forwardRows(built)
  const sums = { nats: 0, bytes: 0, tokens: 0, stories: 0 }
  for (const i of chosen.slice(0, args.stories)) {
    const { text } = JSON.parse(lines[i])
    const ids = [built.tokenizer.bosId, ...built.tokenizer.encode(text)]
    await forward(ids, (position, logits) => {
      if (position < ids.length - 1) sums.nats += negativeLogLikelihood(logits, ids[position + 1])
    })
    sums.bytes += Buffer.byteLength(text)
    sums.tokens += ids.length - 1
    sums.stories++
  }
  const bitsPerByte = sums.nats / Math.LN2 / sums.bytes
  console.log(JSON.stringify({ model: args.model, bitsPerByte, ...sums }))
})
