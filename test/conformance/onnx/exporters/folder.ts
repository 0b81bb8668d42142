// Exports on disk. In: a folder written by the scripts next to this file. Out: its files, tokens and logits.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ByteSource, bufferSource } from '../../../../src/core/base/bytes.ts'

/** How an export stores its weights. `int` are codes of 8 or 4 bits with scales. */
export type Kind = 'f32' | 'f16' | 'bf16' | 'int8' | 'int4'

export interface Meta {
  readonly exporter: string
  readonly family: string
  readonly form: string
  readonly kind: Kind
  /** Number of tokens given at once; the others come one by one. */
  readonly prompt: number
  readonly vocab: number
  /** For all kinds but f32: how far rounding moves the logits, relative to the largest. */
  readonly moved?: Moved
}

export interface Moved {
  /** Each scale moved by half a step of f16. */
  readonly scales: number
  /** Activations and weights of products rounded to 8 bits in groups of 32. */
  readonly groups: number
  /**
   * The difference between ONNX Runtime on the graph and on its f32 twin, with float products by the same
   * weights.
   */
  readonly runtime: number
}

export interface Export {
  readonly name: string
  readonly meta: Meta
  readonly sources: readonly ByteSource[]
  readonly tokens: readonly number[]
  /** [token][vocab], of the graph. */
  readonly logits: readonly Float32Array[]
  /** [token][vocab], of the f32 twin, if the graph itself is not f32. */
  readonly floats: readonly Float32Array[] | undefined
}

/** Names of the folders of exports in `folder`, sorted. */
export const exportNames = (folder: string): string[] =>
  readdirSync(folder)
    .filter(
      (name) => existsSync(join(folder, name, 'meta.json')) && existsSync(join(folder, name, 'ref.f32')),
    )
    .sort()

const BESIDE = /\.(onnx|onnx_data|data)$|^(genai_|generation_)?config\.json$|^tokenizer(_config)?\.json$/

export function readExport(folder: string, name: string): Export {
  const bytesOf = (file: string) => new Uint8Array(readFileSync(join(folder, name, file)))
  const json = (file: string) => JSON.parse(readFileSync(join(folder, name, file), 'utf8'))
  const meta: Meta = json('meta.json')
  const rowsOf = (file: string) => {
    const values = new Float32Array(bytesOf(file).buffer)
    return Array.from({ length: values.length / meta.vocab }, (_, row) =>
      values.subarray(row * meta.vocab, (row + 1) * meta.vocab),
    )
  }
  return {
    name,
    meta,
    sources: readdirSync(join(folder, name))
      .filter((file) => BESIDE.test(file))
      .map((file) => bufferSource(file, bytesOf(file))),
    tokens: json('tokens.json'),
    logits: rowsOf('ref.f32'),
    floats: existsSync(join(folder, name, 'floats.f32')) ? rowsOf('floats.f32') : undefined,
  }
}
