// npm run bench:batches measures tokens per second of several concurrent replies, compared with one reply and
// with native llama.cpp, interleaved. Both run in Node, on the same file.
import { openAsBlob } from 'node:fs'
import { cpus } from 'node:os'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { withBuilt } from '../../../test/conformance/testing/node-engine.ts'
import { modelFile } from '../model-file.ts'
import { addonPath, packageOf } from '../perf/catalogue.ts'
import { ENGINES } from '../perf/engines.ts'
import { type NativeRunner, runNative } from '../perf/host/runner.ts'
import { modelPathOf } from '../real/model-path.ts'
import { SMOLLM2_135M } from '../shapes.ts'
import { spread, spreadText } from '../spread.ts'
import { Bench, PROMPT } from './measure.ts'

const numbers = (text: string) => text.split(',').map(Number)

const options = new Command('bench:batches')
  .description('Times several concurrent replies, compared with one reply and with native llama.cpp.')
  .option('--model <file>', "a GGUF file, or a name; default: random weights of SmolLM2-135M's shape in Q4_0")
  .option('--threads <list>', 'thread counts', numbers, [1, 2])
  .option('--sequences <list>', 'concurrent replies', numbers, [1, 4, 16, 64])
  .option('--tokens <n>', 'tokens of each reply', Number, 32)
  .option('--rounds <n>', 'rounds, interleaved', Number, 5)
  .parse()
  .opts<{ model?: string; threads: number[]; sequences: number[]; tokens: number; rounds: number }>()

/** Total tokens per second, by number of replies and engine; one figure per round. */
type Rates = Map<number, { readonly halfbyte: number[]; readonly native: number[] }>

const path = options.model ? modelPathOf(options.model) : fileURLToPath(await modelFile(SMOLLM2_135M))
const kind = ENGINES.find(({ name }) => name === 'llama.cpp')!
const found = await packageOf(kind)
if (found === undefined) throw new Error(`${kind.packageName} is not installed`)
const most = Math.max(...options.sequences)

console.log(
  `${cpus().length} x ${cpus()[0]?.model}, ${basename(path)}, prompts of ${PROMPT}, ` +
    `${options.tokens} decoded, ${options.rounds} rounds, ${kind.title} ${found.version}\n`,
)
console.log(
  '| threads | replies at once | Halfbyte tok/s | times one reply | llama.cpp tok/s | times llama.cpp |',
)
console.log('| --: | --: | --: | --: | --: | --: |')
for (const threads of options.threads) {
  for (const row of rowsOf(threads, await measure(threads))) console.log(row)
}

async function measure(threads: number): Promise<Rates> {
  const file = new File([await openAsBlob(path)], basename(path))
  const native = await runNative({
    modelPath: path,
    addonPath: addonPath(found!),
    threads,
    sequences: most,
    contextSize: most * Math.max(256, PROMPT + options.tokens),
  })
  // Shared memory is sized for at most two full contexts, so one context must have room for all replies.
  const contextLength = Math.max(1024, most * (PROMPT + options.tokens))
  try {
    await native.pause()
    return await withBuilt([file], { threads, contextLength }, async (built) =>
      rounds(new Bench(built), native),
    )
  } finally {
    await native.close()
  }
}

async function rounds(bench: Bench, native: NativeRunner): Promise<Rates> {
  const rates: Rates = new Map(options.sequences.map((count) => [count, { halfbyte: [], native: [] }]))
  const all = Array.from({ length: most }, (_, salt) => bench.sequence(salt))
  await bench.prefill(all)
  const prompts = all.map(({ tokens }) => [...tokens])
  // The first round is the warm-up of both.
  for (let round = 0; round <= options.rounds; round++) {
    for (const [count, { halfbyte, native: peer }] of rates) {
      for (const [index, sequence] of all.entries()) sequence.setTokens(prompts[index]!)
      const { ms } = await bench.run(all.slice(0, count), options.tokens)
      await native.resume()
      const nativeMs = await native.together(prompts.slice(0, count), options.tokens)
      await native.pause()
      if (round === 0) continue
      const tokens = count * options.tokens
      halfbyte.push((1000 * tokens) / ms)
      peer.push((1000 * tokens) / nativeMs)
    }
  }
  for (const sequence of all) sequence.release()
  return rates
}

function rowsOf(threads: number, rates: Rates): string[] {
  const one = rates.get(1)?.halfbyte
  return [...rates].map(([count, { halfbyte, native }]) => {
    const beside = (others: readonly number[] | undefined) =>
      others === undefined ? '' : spreadText(spread(halfbyte.map((rate, round) => rate / others[round]!)), 2)
    const columns = [spreadText(spread(halfbyte)), beside(one), spreadText(spread(native)), beside(native)]
    return `| ${threads} | ${count} | ${columns.join(' | ')} |`
  })
}
