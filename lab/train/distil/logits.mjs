// Computes logits with the engine. In: a model and a file with a JSON list of token ids. Out: one JSON line,
// a list of logits per position.
//
// npx node lab/train/distil/logits.mjs --model FOLDER --ids ids.json [--weights f32]
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { forwardRows, withModel } from '../../../src/tools/cli/models/model.ts'

const args = new Command('logits')
  .requiredOption('--model <folder>')
  .requiredOption('--ids <file>')
  .option('--weights <policy>', '', 'f32')
  .parse()
  .opts()

const flags = { threads: 1, weights: args.weights }
await withModel(args.model, flags, new AbortController().signal, async (built) => {
  const rows = []
  await forwardRows(built)(JSON.parse(readFileSync(args.ids, 'utf8')), (_, logits) => rows.push([...logits]))
  console.log(JSON.stringify(rows))
})
