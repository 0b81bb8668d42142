// Making packs. In: a model that ships with the page, instead of a large one. Out: its pack and card, twice
// and after an interruption, and the output of `npm run make`.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { packsIn } from '../../demo/packs.ts'
import { bufferSource } from '../../src/core/base/bytes.ts'
import { readPack } from '../../src/core/formats/hbm/hbm.ts'
import { main } from './main.ts'
import { type MakeOptions, makePack } from './make-pack.ts'
import { PACKS } from './packs.ts'
import { PROMPTS } from './prompts.ts'
import { writeChats } from './write-chats.ts'

const MODEL = fileURLToPath(new URL('../../demo/models/halfbyte-stories.hbm', import.meta.url))
const PACK = { ...PACKS['smollm2-page']!, file: 'stories' }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-make-'))
})
afterAll(() => rm(folder, { recursive: true }))
afterEach(() => vi.restoreAllMocks())

/** A few short chats, all from `work`. */
const options = (name: string, threads = 1): MakeOptions => ({
  model: MODEL,
  packs: join(folder, name),
  work: join(folder, `${name}-work`),
  prompts: PROMPTS.slice(0, 9),
  replyTokens: 32,
  windows: 4,
  windowTokens: 64,
  threads,
})

/** What `work` prints on the terminal. */
async function printed(work: () => Promise<unknown>): Promise<string> {
  const pieces: string[] = []
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((piece) => pieces.push(String(piece)) > 0)
  }
  vi.spyOn(console, 'log').mockImplementation((line) => void pieces.push(`${line}\n`))
  try {
    await work()
  } finally {
    vi.restoreAllMocks()
  }
  return pieces.join('')
}

test('a pack has the layers of its model, a smaller table, and a card that the page can read', async () => {
  const out = await printed(() => makePack(PACK, options('one')))
  expect(out).toMatch(/^embed\.weight \[6144,288\] w4_g32: [\d.]+ % of the rounding error$/m)
  expect(out).toMatch(/^on \d+ held-out tokens: perplexity [\d.]+, original [\d.]+ /m)
  const encodings = async (path: string) => {
    const { header } = await readPack(bufferSource(path, await readFile(path)))
    return new Map(header.tensors.map(({ name, encoding }) => [name, encoding]))
  }
  const made = await encodings(join(folder, 'one/stories.hbm'))
  const before = await encodings(MODEL)
  expect(before.get('embed.weight')).toBe('w8_g32')
  expect(made).toEqual(new Map([...before, ['embed.weight', 'w4_g32']]))
  expect(packsIn(join(folder, 'one'))).toEqual([
    {
      ...PACK.card,
      file: 'packs/stories.hbm',
      sizeBytes: (await readFile(join(folder, 'one/stories.hbm'))).length,
    },
  ])
  expect(await readdir(join(folder, 'one-work'))).toEqual([])
})

test('other thread counts, or an interruption, give the same bytes', async () => {
  const sums: string[] = []
  await printed(async () => {
    sums.push((await makePack(PACK, options('twice', 2))).sha256)
    // Two chats and half of a third, as if the process had been killed.
    const cut = options('cut')
    const text = await chatsOf(cut)
    await mkdir(cut.work)
    await writeFile(
      join(cut.work, 'chats.jsonl'),
      text.slice(0, text.indexOf('\n', text.indexOf('\n') + 1) + 40),
    )
    sums.push((await makePack(PACK, cut)).sha256)
    // A run with other prompts does not resume these chats.
    const other = { ...options('other'), prompts: PROMPTS.slice(9, 18) }
    await mkdir(other.work)
    await writeFile(join(other.work, 'chats.jsonl'), text)
    sums.push((await makePack(PACK, other)).sha256)
  })
  const [first, resumed, others] = sums
  expect(resumed).toBe(first)
  expect(others).not.toBe(first)
})

async function chatsOf(options: MakeOptions): Promise<string> {
  const path = join(folder, 'chats.jsonl')
  await writeChats(path, { ...options, signal: new AbortController().signal })
  const text = await readFile(path, 'utf8')
  const chats = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).messages)
  expect(chats.map(([user]) => user.content)).toEqual(options.prompts)
  expect(new Set(chats.map(([, assistant]) => assistant.content)).size).toBe(options.prompts.length)
  return text
}

test('without a name, it lists the packs; unknown names and missing models are rejected', async () => {
  const list = await printed(async () => expect(await main([], () => undefined)).toBe(0))
  expect(list).toMatch(
    /smollm2-page {2}SmolLM2 135M .*English, Apache-2\.0; first run "npm run setup -- smollm2"/,
  )
  const unknown = await printed(async () => expect(await main(['nothing'])).toBe(1))
  expect(unknown).toBe('unsupported: make knows smollm2-page; not nothing\n')
  const absent = await printed(async () => expect(await main(['smollm2-page'], () => undefined)).toBe(1))
  expect(absent).toMatch(
    /^unsupported: .*Q4_1 \(98362432 bytes\), which is not set up; run "npm run setup -- smollm2" first\n$/,
  )
})

test('the prompts all differ, and each names a single subject', () => {
  expect(new Set(PROMPTS).size).toBe(PROMPTS.length)
  expect(PROMPTS.filter((prompt) => /[{}]|undefined/.test(prompt))).toEqual([])
})
