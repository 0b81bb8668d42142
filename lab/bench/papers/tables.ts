// Makes tables from rows that lab/bench/papers/main.ts or lab/bench/pruning.ts scored: Markdown on stdout. A
// second table has the differences from the first row, paired by items.
//
//   node lab/bench/papers/tables.ts rows.jsonl... [--metrics acc,perplexity,hellaswag.acc_norm]
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { jsonLines } from './rows.ts'
import { scoreTable } from './score-table.ts'

const command = new Command('papers-tables')
  .argument('<files...>', 'lines of JSON')
  .option('--metrics <value>', 'columns, separated by commas', 'acc,perplexity')
  .parse()
const metrics = command.opts<{ readonly metrics: string }>().metrics.split(',')
const rows = command.args.flatMap((file) => jsonLines(readFileSync(file, 'utf8')))
process.stdout.write(scoreTable(rows, { metrics }))
process.stdout.write(`\nRelative to ${rows[0]?.model}, paired by items:\n\n`)
process.stdout.write(scoreTable(rows, { metrics, isBeside: true }))
