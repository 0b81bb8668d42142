// npm run bench:stored measures starts of the command with a GGUF on a server of this machine: without the
// store, with it for the first time, and later with the file and with its pack; and bare reads of both.
import { execFile } from 'node:child_process'
import { closeSync, openSync, readSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
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

/** Bytes of one read. */
const PIECE_BYTES = 4 << 20

/** Seconds of reading a stored file into memory that nothing has touched, as a model's is. */
function bareRead(path: string, bytes: number): number {
  const pages = Math.ceil(bytes / 65536)
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  const target = new Uint8Array(memory.buffer)
  const file = openSync(path, 'r')
  try {
    const begun = performance.now()
    for (let at = 0; at < bytes; at += PIECE_BYTES)
      readSync(file, target, at, Math.min(PIECE_BYTES, bytes - at), at)
    return (performance.now() - begun) / 1000
  } finally {
    closeSync(file)
  }
}

/** The stored files in order of their sizes: the model's own, then its pack. */
async function storedFiles(): Promise<readonly (readonly [path: string, bytes: number])[]> {
  const paths = (await readdir(home, { recursive: true })).filter((path) => path.endsWith('.bin'))
  const files = paths.map(async (path) => [join(home, path), (await stat(join(home, path))).size] as const)
  return (await Promise.all(files)).sort(([, left], [, right]) => left - right)
}

/** `file`: which of the stored files is read. */
const kinds: readonly (readonly [title: string, flags: readonly string[], file?: number])[] = [
  ['streamed, without the store', ['--no-store']],
  ['stored, from the file', ['--architecture', architecture], 0],
  ['stored, from its pack', [], 1],
]
try {
  const { load, word, whole } = await start()
  console.log(
    `first start, with the download: ${load.toFixed(1)} s to load, ${word.toFixed(1)} s to the first word, ${whole.toFixed(1)} s in all`,
  )
  const files = await storedFiles()
  const starts = kinds.map(() => [] as Start[])
  const bare = kinds.map(() => [] as number[])
  for (let round = 0; round < rounds; round++)
    for (const [at, [, flags, file]] of kinds.entries()) {
      const stored = file === undefined ? undefined : files[file]
      if (stored !== undefined) bare[at]!.push(bareRead(...stored))
      starts[at]!.push(await start(...flags))
    }
  console.log('| start | bare read | load | bare read / load | first word | whole process |')
  console.log('|---|--:|--:|--:|--:|--:|')
  for (const [at, [title]] of kinds.entries()) {
    const of = (key: keyof Start) => spreadText(spread(starts[at]!.map((each) => each[key])))
    const reads = bare[at]!
    const shares = reads.map((seconds, round) => seconds / starts[at]![round]!.load)
    const [read, share] =
      reads.length === 0 ? ['', ''] : [reads, shares].map((each) => spreadText(spread(each), 2))
    console.log(`| ${[title, read, of('load'), share, of('word'), of('whole')].join(' | ')} |`)
  }
} finally {
  await hub.close()
  await rm(home, { recursive: true })
}
