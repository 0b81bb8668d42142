// Writes golden/families.json. In: the cases of every family. Out: native llama.cpp's results: best tokens,
// some log-probabilities.
//
// Needs the platform package from the perf workspace (`@node-llama-cpp/linux-x64`).
// `node test/conformance/testing/families/write-families.ts [FAMILY...]` rewrites all families, or only those
// named.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { llamaCppAddon } from '../llama-cpp.ts'
import { type Addon, openAddonModel, startAddon } from '../llama-cpp-addon.ts'
import { FAMILY_CASES } from './family-cases.ts'
import { drawFamily, familyGguf } from './family-files.ts'
import { type FamilyGolden, MIN_LEAD, TOKENS, watchedIds } from './family-golden.ts'
import type { FamilyCase } from './family-tensors.ts'

/** GGML_TYPE_F32 */
const F32 = 0
const GOLDEN = new URL('../../golden/families.json', import.meta.url)

/** Natural logarithm of every token's probability at every position. */
async function logProbabilities(addon: Addon, modelPath: string): Promise<Float64Array[]> {
  const model = await openAddonModel(addon, modelPath)
  const context = new addon.AddonContext(model, {
    contextSize: 128,
    batchSize: 128,
    sequences: 1,
    threads: 1,
    flashAttention: false,
    kvCacheKeyType: F32,
    kvCacheValueType: F32,
    swaFullCache: true,
  })
  if (!(await context.init())) throw new Error('llama.cpp cannot create a context')
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

/**
 * Finds the first seed with which the best token has a clear lead at every position, so that rounding
 * differences do not change the result.
 */
async function golden(addon: Addon, one: FamilyCase, folder: string): Promise<FamilyGolden> {
  const path = join(folder, `${one.family}.gguf`)
  for (let seed = 1; seed < 200; seed++) {
    writeFileSync(path, await familyGguf(one, drawFamily(one, seed)))
    const rows = await logProbabilities(addon, path)
    if (Math.min(...rows.map(leadOf)) < MIN_LEAD) continue
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
  const path = llamaCppAddon()
  if (path === undefined)
    throw new Error('the platform package of node-llama-cpp is not installed; run npm ci')
  const addon = await startAddon(path, (text) => {
    if (process.env['LLAMA_LOG']) process.stderr.write(text)
  })
  for (const one of FAMILY_CASES) {
    if (only.length > 0 && !only.includes(one.family)) continue
    known[one.family] = await golden(addon, one, folder)
    console.log(`${one.family}: seed ${known[one.family]?.seed}`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
writeFileSync(GOLDEN, `${JSON.stringify(known, undefined, 2)}\n`)
