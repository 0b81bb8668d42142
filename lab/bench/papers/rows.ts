// The rows of the papers' tables: parsing of models on the command line and of earlier output.
import { WEIGHT_POLICIES, type WeightPolicy } from '../../../src/core/weights/policy.ts'
import type { TableRow } from './score-table.ts'

interface AskedModel {
  readonly path: string
  readonly weights: WeightPolicy
}

/** `model.gguf@f32`. What follows the last `@` is part of the path unless it is a precision. */
export function parseModel(text: string): AskedModel {
  const at = text.lastIndexOf('@')
  const weights = WEIGHT_POLICIES.find((each) => each === text.slice(at + 1))
  return at > 0 && weights !== undefined
    ? { path: text.slice(0, at), weights }
    : { path: text, weights: 'auto' }
}

/** Scored rows in lines of JSON. A last line that was not written to its end is skipped. */
export const jsonLines = (text: string): TableRow[] =>
  text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as TableRow)
    .filter(({ tasks }) => Array.isArray(tasks))
