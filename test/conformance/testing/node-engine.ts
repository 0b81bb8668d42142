// Engines in this process. In: a model's files. Out: an engine like a page's, or the built model for its
// logits.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ALL_READERS, openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { Engine } from '../../../src/engine/api/engine.ts'
import type { LoadOptions } from '../../../src/engine/api/types.ts'
import { type BuiltModel, buildModel } from '../../../src/engine/load/build-model.ts'
import { loadModel } from '../../../src/engine/load/load-model.ts'
import { openAdapters } from '../../../src/engine/load/open/open-any.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { createService } from '../../../src/engine/service.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import type { EngineService } from '../../../src/engine/wire/protocol.ts'
import { forwardRows } from '../../../src/tools/cli/models/model.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'

export type Files = readonly File[]

/** The service that runs in a page's worker, here on Node's threads. */
export function nodeService(): EngineService {
  return createService((request, hooks) => loadModel(request, hooks, nodeHost()))
}

/** One thread by default, because tests share the machine. */
export function openEngine(
  files: Files,
  options: LoadOptions = {},
  service = nodeService(),
): Promise<Engine> {
  return Engine.open(localConnection(service), files, { threads: 1, ...options })
}

/** A file of the repository, by its path from the root. */
export function repositoryFile(path: string): File {
  return new File([readFileSync(join(import.meta.dirname, '../../..', path))], basename(path))
}

export interface BuildOptions
  extends Pick<LoadOptions, 'threads' | 'pool' | 'build' | 'weights' | 'contextLength'> {
  readonly kvCache?: KvFormat | undefined
  readonly lora?: readonly { readonly source: Files; readonly scale: number }[] | undefined
  readonly shares?: readonly number[] | undefined
}

/** Loads a model, passes it to `use`, and ends its threads. The context may exceed the trained length. */
export async function withBuilt<T>(
  files: Files,
  options: BuildOptions,
  use: (built: BuiltModel) => Promise<T>,
): Promise<T> {
  return withModel(await openModel(sourcesOf(files)), options, use)
}

const sourcesOf = (files: Files) => files.map((each) => blobSource(each.name, each))

/** The same for a model whose headers were already read. */
export async function withModel<T>(
  file: ModelFile,
  options: BuildOptions,
  use: (built: BuiltModel) => Promise<T>,
): Promise<T> {
  const { threads = 1, pool, build = 'auto', weights = 'auto', contextLength, kvCache, shares } = options
  const adapters = await openAdapters(
    options.lora,
    async (source) => ({
      sources: sourcesOf(source as Files),
    }),
    ALL_READERS,
  )
  const prepared = await prepareModel(file, {
    weights,
    contextLength,
    kvCache,
    adapters,
    beyondTraining: true,
  })
  const hooks = { signal: new AbortController().signal, onProgress: () => undefined }
  const built = await buildModel(prepared, { threads, pool, shares, build, host: nodeHost() }, hooks)
  try {
    return await use(built)
  } finally {
    await built.dispose()
  }
}

/** Logits of every position. [position][vocab] */
export async function logitsOf(built: BuiltModel, tokens: readonly number[]): Promise<Float32Array[]> {
  const rows: Float32Array[] = []
  await forwardRows(built)(tokens, (position, row) => {
    rows[position] = row.slice()
  })
  return rows
}

/** The largest absolute difference between two tables of logits. */
export function largestDifference(
  left: readonly ArrayLike<number>[],
  right: readonly ArrayLike<number>[],
): number {
  if (left.length !== right.length) return Number.POSITIVE_INFINITY
  let largest = 0
  for (const [position, row] of left.entries()) {
    const other = right[position] as ArrayLike<number>
    if (row.length !== other.length) return Number.POSITIVE_INFINITY
    for (let id = 0; id < row.length; id++) {
      const difference = Math.abs(row[id]! - other[id]!)
      // NaN must not count as no difference.
      if (!(difference <= largest)) largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference
    }
  }
  return largest
}

/** Root mean square of the differences over that of the expected values. */
export function relativeError(
  rows: readonly ArrayLike<number>[],
  right: readonly ArrayLike<number>[],
): number {
  let errors = 0
  let squares = 0
  for (const [position, row] of right.entries()) {
    for (let id = 0; id < row.length; id++) {
      errors += (rows[position]![id]! - row[id]!) ** 2
      squares += row[id]! ** 2
    }
  }
  return Math.sqrt(errors / squares)
}
