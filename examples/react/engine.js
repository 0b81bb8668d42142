import { Engine } from 'halfbyte'
import model from 'halfbyte/models/halfbyte-stories.hbm?url'

let loading

/** Loads the model once for the page, whose components come and go. A call after a failure tries again. */
export function loadEngine(onProgress) {
  loading ??= Engine.load(model, { onProgress }).catch((error) => {
    loading = undefined
    throw error
  })
  return loading
}
