// Repositories of small ONNX encoders in transformers.js's layout, with the results of onnxruntime.
import { fixture, fixtureText } from '../../helpers/fixture.ts'

interface Result {
  readonly tokens: number
  /** [row][width] */
  readonly states?: readonly (readonly number[])[]
  readonly vector?: readonly number[]
  readonly logit?: number
}

const { texts, tokenizer, models } = JSON.parse(fixtureText('onnx/encoders/encoders.json')) as {
  readonly texts: readonly string[]
  readonly tokenizer: object
  readonly models: Readonly<Record<string, { readonly config: object; readonly results: readonly Result[] }>>
}
export const TEXTS = texts
export const resultsOf = (name: string) => models[name]!.results

/** The files of a repository, by path. */
export type Repository = ReadonlyMap<string, Uint8Array<ArrayBuffer>>

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const LENGTH = { model_max_length: 48 }

/**
 * `graph`: the name of a fixture, or the bytes of a graph. `others`: more files; undefined removes a file.
 */
export function repository(
  graph: string | Uint8Array<ArrayBuffer>,
  others: Readonly<Record<string, object | undefined>> = {},
  file = 'onnx/model.onnx',
): Repository {
  const files: Record<string, object | undefined> = {
    'config.json': typeof graph === 'string' ? models[graph]!.config : {},
    'tokenizer.json': tokenizer,
    'tokenizer_config.json': LENGTH,
    ...others,
  }
  const described = Object.entries(files).flatMap(([path, value]) =>
    value === undefined ? [] : [[path, json(value)] as const],
  )
  const bytes = typeof graph === 'string' ? new Uint8Array(fixture(`onnx/encoders/${graph}.onnx`)) : graph
  return new Map([...described, [file, bytes]])
}

/** The pooled states, scaled to length 1. */
export function pooledResult({ states = [] }: Result, pooling: 'mean' | 'cls' | 'last'): Float64Array {
  const rows = pooling === 'mean' ? states : [states.at(pooling === 'cls' ? 0 : -1)!]
  return unit(rows[0]!.map((_, at) => rows.reduce((sum, row) => sum + row[at]!, 0)))
}

export function unit(vector: readonly number[]): Float64Array {
  const length = Math.hypot(...vector)
  return Float64Array.from(vector, (value) => value / length)
}
