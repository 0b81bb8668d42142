import { Engine } from 'halfbyte'
import model from 'halfbyte/models/halfbyte-stories.hbm?url'

let loading

/** Loads the model once for the whole page: components come and go. After a failure the next call tries again. */
export function loadEngine(onProgress) {
  loading ??= Engine.load(model, { onProgress }).catch((error) => {
    loading = undefined
    throw error
  })
  return loading
}
