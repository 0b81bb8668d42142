// Finds the model of a measurement.
import { existsSync } from 'node:fs'
import { REAL_MODELS, type RealModelName, requireModel } from '../../../scripts/models/real-models.mjs'

/** The path of `named`: a file, or a model downloaded by `npm run setup`. Throws if it is neither. */
export function modelPathOf(named: string): string {
  if (existsSync(named)) return named
  if (!(named in REAL_MODELS)) {
    throw new Error(`there is no file ${named}; the known models are ${Object.keys(REAL_MODELS).join(', ')}`)
  }
  return requireModel(named as RealModelName)
}
