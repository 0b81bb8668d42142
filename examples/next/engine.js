import { Engine } from 'halfbyte'

let loading

/** Loads the model once for the whole page: components come and go. After a failure the next call tries again. */
export function loadEngine(onProgress) {
  loading ??= Engine.load('/halfbyte-stories.hbm', { onProgress }).catch((error) => {
    loading = undefined
    throw error
  })
  return loading
}
