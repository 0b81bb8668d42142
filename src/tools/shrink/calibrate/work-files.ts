// Work files: what a long job stores between its steps, so that it can be resumed later.

import type { PackedEncoding } from '../../../core/abi/encodings.ts'
import { roleOf } from '../../../core/arch/tensors/names.ts'
import { type ByteSource, bufferSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { DTYPE_OF } from '../../../core/formats/hbm/hbm.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'

/** Canonical names of the matrices used in products, in the plan's order. Throws `unsupported`. */
export function matricesOf({ plan, file }: PreparedModel): string[] {
  const names = plan.slots.flatMap(({ ref: { parts, kind } }) =>
    kind === 'matrix' ? parts.map(({ name }) => name).filter((name) => roleOf(name) === 'matrix') : [],
  )
  if (names.length > 0) return names
  throw new HalfbyteError('unsupported', `${file.name} has no matrices to compress; convert it as it is`)
}

const bytesName = (name: string): string => `${name}.codes`
const reportName = (name: string): string => `${name}.json`

export class DoneMatrices<Report extends { readonly name: string }> {
  readonly #work: WorkFiles
  readonly #onMatrix: ((report: Report) => void) | undefined
  readonly #reports = new Map<string, Report>()

  /** `onMatrix`: called for each matrix finished in this run, not for earlier ones. */
  constructor(work: WorkFiles, onMatrix?: (report: Report) => void) {
    this.#work = work
    this.#onMatrix = onMatrix
  }

  /** The reports of finished matrices, in the order of `names`. */
  reports(names: readonly string[]): Report[] {
    return names.flatMap((name) => this.#reports.get(name) ?? [])
  }

  /** Whether a matrix is finished, in this run or an earlier one. */
  async has(name: string): Promise<boolean> {
    if ((await this.#work.open(bytesName(name))) === undefined) return false
    if (this.#reports.has(name)) return true
    const bytes = await readWork(this.#work, reportName(name))
    if (bytes !== undefined) this.#reports.set(name, parseJson(new TextDecoder().decode(bytes)) as Report)
    return true
  }

  /** The report is written first, so every stored matrix has one. */
  async keep(bytes: Uint8Array, report: Report): Promise<void> {
    const { name } = report
    await this.#work.write(reportName(name), [new TextEncoder().encode(JSON.stringify(report))])
    await this.#work.write(bytesName(name), [bytes])
    this.#reports.set(name, report)
    this.#onMatrix?.(report)
  }

  /** Throws `integrity` if the work file is missing. */
  async bytes(name: string): Promise<Uint8Array> {
    const bytes = await readWork(this.#work, bytesName(name))
    if (bytes === undefined) throw lost(name)
    return bytes
  }

  /**
   * A matrix as a tensor: in a pack's layout, or F32 rows for `rows`. Throws `integrity` if it is missing.
   */
  async tensor(name: string, encoding: PackedEncoding | 'rows', n: number, k: number): Promise<TensorInfo> {
    const source = await this.#work.open(bytesName(name))
    if (source === undefined) throw lost(name)
    const place = { name, shape: [n, k], source, offset: 0, byteLength: source.size }
    if (encoding === 'rows') return { ...place, dtype: 'F32' }
    return { ...place, dtype: DTYPE_OF[encoding], packed: encoding }
  }
}

const lost = (name: string): HalfbyteError =>
  new HalfbyteError('integrity', `the work file of ${name} is missing; start again`, { name })

export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Files by name. A file exists completely or not at all, even if the process was killed. */
export interface WorkFiles {
  /** Undefined if there is no such file. */
  open(name: string): Promise<ByteSource | undefined>
  /** Throws `storage-full` if the disk is full; the file then does not exist. */
  write(name: string, chunks: Chunks): Promise<void>
  remove(name: string): Promise<void>
}

/** Files in memory, for small models. */
export function memoryWork(): WorkFiles {
  const files = new Map<string, Uint8Array>()
  return {
    async open(name) {
      const bytes = files.get(name)
      return bytes && bufferSource(name, bytes)
    },
    async write(name, chunks) {
      const parts: Uint8Array[] = []
      for await (const chunk of chunks) parts.push(chunk.slice())
      files.set(name, new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer()))
    },
    async remove(name) {
      files.delete(name)
    },
  }
}

/** The whole file; undefined if there is none. */
export async function readWork(files: WorkFiles, name: string): Promise<Uint8Array | undefined> {
  const source = await files.open(name)
  return source?.read(0, source.size)
}

/** Files with prefixed names, so that the rows of several walks can coexist. */
export const prefixed = (work: WorkFiles, prefix: string): WorkFiles => ({
  open: (name) => work.open(prefix + name),
  write: (name, chunks) => work.write(prefix + name, chunks),
  remove: (name) => work.remove(prefix + name),
})
