// npm run bench:stored measures starts of the command with a GGUF on a server of this machine: without the
// store, with it for the first time, and later with the file and with its pack.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { serveFiles } from '../../../test/helpers/file-server.ts'
import { spread, spreadText } from '../spread.ts'

const { model, rounds, threads, architecture } = new Command('bench:stored')
  .description('Time of a start until the first word of a GGUF, with and without the store on disk.')
  .requiredOption('--model <file>', 'a .gguf file')
  .requiredOption(
    '--architecture <family>',
    "the file's own, which makes a start read the file and not its pack",
  )
  .option('--rounds <n>', 'rounds, each with every kind of start', Number, 5)
  .option('--threads <n>', 'threads', Number, 2)
  .parse()
  .opts<{ model: string; rounds: number; threads: number; architecture: string }>()

const MAIN = fileURLToPath(new URL('../../../src/tools/cli/main.ts', import.meta.url))
const hub = await serveFiles({ 'owner/name/resolve/main/m.gguf': await readFile(model) })
hub.behaviour.etag = '"1"'
const home = await mkdtemp(join(tmpdir(), 'halfbyte-bench-'))

interface Start {
  /** Seconds until the first token, including the load. */
  readonly word: number
  /** Seconds until the model was loaded. */
  readonly load: number
  /** Seconds of the whole process. */
  readonly whole: number
}

async function start(...flags: readonly string[]): Promise<Start> {
  const begun = performance.now()
  const args = ['generate', 'owner/name:m.gguf', 'Hello', '--max-tokens', '1', '--temperature', '0', '--json']
  const env = { ...process.env, HF_ENDPOINT: hub.address, HALFBYTE_HOME: home }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [MAIN, ...args, '--threads', String(threads), ...flags],
    { env },
  )
  const { loadMs, prefillMs } = JSON.parse(stdout).timings
  const whole = (performance.now() - begun) / 1000
  return { load: loadMs / 1000, word: (loadMs + prefillMs) / 1000, whole }
}

const kinds: readonly (readonly [title: string, flags: readonly string[]])[] = [
  ['streamed, without the store', ['--no-store']],
  ['stored, from the file', ['--architecture', architecture]],
  ['stored, from its pack', []],
]
try {
  const { load, word, whole } = await start()
  console.log(
    `first start, with the download: ${load.toFixed(1)} s to load, ${word.toFixed(1)} s to the first word, ${whole.toFixed(1)} s in all`,
  )
  const starts = kinds.map(() => [] as Start[])
  for (let round = 0; round < rounds; round++)
    for (const [at, [, flags]] of kinds.entries()) starts[at]!.push(await start(...flags))
  console.log('| start | load | first word | whole process |\n|---|--:|--:|--:|')
  for (const [at, [title]] of kinds.entries()) {
    const cells = (['load', 'word', 'whole'] as const).map((of) =>
      spreadText(spread(starts[at]!.map((each) => each[of]))),
    )
    console.log(`| ${[title, ...cells].join(' | ')} |`)
  }
} finally {
  await hub.close()
  await rm(home, { recursive: true })
}
