import { Engine } from 'halfbyte'

let loading

/** Loads the model once for the page, whose components come and go. A call after a failure tries again. */
export function loadEngine(onProgress) {
  loading ??= Engine.load('/halfbyte-stories.hbm', { onProgress }).catch((error) => {
    loading = undefined
    throw error
  })
  return loading
}
