// Memory released by loads. In: a pack and a GGUF file, every pool. Out: whether their sources and tokenizer
// texts are garbage-collected once the model is loaded.
import { readFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { type ByteSource, bufferSource } from '../../src/core/base/bytes.ts'
import { givenPlace } from '../../src/core/formats/names/named-files.ts'
import { EXACT_KV } from '../../src/core/graph/ir.ts'
import type { PoolKind } from '../../src/core/runtime/pool.ts'
import { loadModel } from '../../src/engine/load/load-model.ts'
import type { LoadedModel } from '../../src/engine/load/loaded-model.ts'
import type { LoadRequest } from '../../src/engine/wire/protocol.ts'
import { nodeHost } from '../../src/tools/cli/node-host.ts'
import { turns } from '../helpers/turns.ts'
import { GOLDEN, goldenFile, TINY_PATH } from './testing/golden.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

const FILES = {
  'tiny.hbm': () => readFile(TINY_PATH),
  'golden.gguf': async () => (await goldenFile(GOLDEN)).arrayBuffer(),
}

/** Number of garbage collections after which something counts as retained. */
const MAX_COLLECTIONS = 40

/** True once the target of `reference` is collected. */
async function isGone(reference: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < MAX_COLLECTIONS && reference.deref() !== undefined; round++) {
    await turns(10)
    collect()
  }
  return reference.deref() === undefined
}

/** Parsed JSON objects that contain a tokenizer, created while `work` ran. */
async function tokenizersParsedIn(work: () => Promise<void>): Promise<WeakRef<object>[]> {
  const parse = JSON.parse
  const parsed: WeakRef<object>[] = []
  JSON.parse = (...args) => {
    const value = parse(...args)
    if (value?.tokenizer !== undefined) parsed.push(new WeakRef(value.tokenizer))
    return value
  }
  try {
    await work()
  } finally {
    JSON.parse = parse
  }
  return parsed
}

/** A loaded model, with weak references to the data that loading read. */
async function load(name: keyof typeof FILES, pool: PoolKind, threads: number) {
  const bytes = new Uint8Array(await FILES[name]())
  let held: WeakRef<ByteSource> | undefined
  const open = async () => {
    const source = bufferSource(name, bytes.slice())
    held = new WeakRef(source)
    return { sources: [source], close: async () => undefined }
  }
  const request: LoadRequest = {
    source: givenPlace(name),
    threads,
    pool,
    build: 'auto',
    weights: 'auto',
    kvCache: EXACT_KV,
    cache: 'none',
    assets: {},
  }
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  let model: LoadedModel | undefined
  const tokenizers = await tokenizersParsedIn(async () => {
    model = await loadModel(request, hooks, nodeHost(), open)
  })
  return { model: model!, read: [held!, ...tokenizers] }
}

test.each([
  ['tiny.hbm', 'single', 1],
  ['tiny.hbm', 'shared', 2],
  ['tiny.hbm', 'shards', 2],
  ['golden.gguf', 'single', 1],
] as const)('%s in the pool %s is released once it is loaded', async (name, pool, threads) => {
  const { model, read } = await load(name, pool, threads)
  try {
    expect(model.info.pool).toBe(pool)
    expect(read).toHaveLength(name === 'tiny.hbm' ? 2 : 1)
    for (const each of read) expect(await isGone(each)).toBe(true)
    expect(await model.fingerprint()).toMatch(/^[0-9a-f]{64}$/)
  } finally {
    await model.dispose()
  }
})
