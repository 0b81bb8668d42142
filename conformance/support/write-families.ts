// Writes golden/families.json. In: the cases of every family. Out: what native llama.cpp makes of them: best tokens, some log-probabilities.
//
// Needs the platform package that the perf workspace has (`@node-llama-cpp/linux-x64`); `node conformance/support/write-families.ts`
// writes all anew, with names of families behind it only those.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FAMILY_CASES } from './family-cases.ts'
import { drawFamily, familyGguf } from './family-files.ts'
import { type FamilyGolden, LEAST_LEAD, TOKENS, watchedIds } from './family-golden.ts'
import type { FamilyCase } from './family-tensors.ts'

interface Context {
  init(): Promise<boolean>
  initBatch(size: number): void
  addToBatch(sequence: number, position: number, tokens: Uint32Array, logits: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  sampleToken(row: number, sampler: object, probabilities: boolean): Promise<[number, number[]]>
  dispose(): Promise<void>
}
/** What is used of the addon. */
interface Addon {
  readonly AddonModel: new (
    path: string,
    options: object,
  ) => { init(): Promise<boolean>; dispose(): Promise<void> }
  readonly AddonContext: new (model: object, options: object) => Context
  readonly AddonSampler: new (model: object) => { applyConfig(config: object): void }
  markLoaded(): boolean
  setLogger(logger: (level: number, text: string) => void): void
  loadBackends(folder?: string): void
  getGpuType(): string | false | undefined
  init(): Promise<void>
}

/** GGML_TYPE_F32 */
const F32 = 0
const ADDON = '@node-llama-cpp/linux-x64/bins/linux-x64/llama-addon.node'
const GOLDEN = new URL('../golden/families.json', import.meta.url)

async function loadAddon(): Promise<Addon> {
  const path = fileURLToPath(new URL(`../../node_modules/${ADDON}`, import.meta.url))
  const addon: Addon = createRequire(import.meta.url)(path)
  addon.markLoaded()
  addon.setLogger((_, text) => {
    if (process.env['LLAMA_LOG']) process.stderr.write(text)
  })
  addon.loadBackends()
  if (addon.getGpuType() === undefined) addon.loadBackends(dirname(path))
  await addon.init()
  return addon
}

/** ln of every token's probability at every position. */
async function logProbabilities(addon: Addon, modelPath: string): Promise<Float64Array[]> {
  const model = new addon.AddonModel(modelPath, { addonExports: addon, gpuLayers: 0, useMmap: true })
  if (!(await model.init())) throw new Error(`llama.cpp cannot load ${modelPath}`)
  const context = new addon.AddonContext(model, {
    ...{ contextSize: 128, batchSize: 128, sequences: 1, threads: 1 },
    ...{ flashAttention: false, kvCacheKeyType: F32, kvCacheValueType: F32, swaFullCache: true },
  })
  if (!(await context.init())) throw new Error('llama.cpp cannot make a context')
  const sampler = new addon.AddonSampler(model)
  sampler.applyConfig({ temperature: 0 })
  context.initBatch(TOKENS.length)
  const rows = context.addToBatch(0, 0, Uint32Array.from(TOKENS), Uint32Array.from(TOKENS.keys()))
  await context.decodeBatch()
  const all: Float64Array[] = []
  for (const row of rows) {
    const [, pairs] = await context.sampleToken(row, sampler, true)
    const logs = new Float64Array(pairs.length / 2)
    for (let at = 0; at < pairs.length; at += 2) logs[pairs[at]!] = Math.log(pairs[at + 1]!)
    all.push(logs)
  }
  await context.dispose()
  await model.dispose()
  return all
}

function leadOf(row: Float64Array): number {
  const [best = 0, next = 0] = row.toSorted((a, b) => b - a)
  return best - next
}

/** The first seed whose best token leads everywhere, so that the last bits of a sum change nothing. */
async function golden(addon: Addon, one: FamilyCase, folder: string): Promise<FamilyGolden> {
  const path = join(folder, `${one.family}.gguf`)
  for (let seed = 1; seed < 200; seed++) {
    writeFileSync(path, await familyGguf(one, drawFamily(one, seed)))
    const rows = await logProbabilities(addon, path)
    if (Math.min(...rows.map(leadOf)) < LEAST_LEAD) continue
    const best = rows.map((row) => row.indexOf(Math.max(...row))).join(' ')
    const watched = rows.map((row, at) =>
      watchedIds(at, row.length)
        .map((id) => row[id]!.toFixed(4))
        .join(' '),
    )
    return { seed, best, watched }
  }
  throw new Error(`${one.family}: no seed has a clear best token everywhere`)
}

const only = process.argv.slice(2)
const known: Record<string, FamilyGolden> = existsSync(GOLDEN) ? JSON.parse(readFileSync(GOLDEN, 'utf8')) : {}
const folder = mkdtempSync(join(tmpdir(), 'halfbyte-families-'))
try {
  const addon = await loadAddon()
  for (const one of FAMILY_CASES) {
    if (only.length > 0 && !only.includes(one.family)) continue
    known[one.family] = await golden(addon, one, folder)
    console.log(`${one.family}: seed ${known[one.family]?.seed}`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
writeFileSync(GOLDEN, `${JSON.stringify(known, undefined, 2)}\n`)
