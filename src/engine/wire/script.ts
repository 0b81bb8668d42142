// Worker scripts. In: a script's address. Out: a worker that runs it, whatever its origin.

/** Browsers refuse worker scripts of another origin, but accept a script of this origin that imports one. */
export function startScript(address: URL): Worker {
  // A sandboxed frame has an origin of its own, which only `origin` says.
  const { origin } = globalThis
  if (address.origin === origin || address.protocol === 'blob:')
    return new Worker(address, { type: 'module' })
  const name = JSON.stringify(address.href)
  if (origin !== 'null') return new Worker(blobOf(`import ${name}`), { type: 'module' })
  // There a blob must not be a module. What arrives before the script runs is kept for it.
  return new Worker(
    blobOf(`const early = [], keep = (event) => early.push(event)
addEventListener('message', keep)
import(${name}).then(() => {
  removeEventListener('message', keep)
  for (const { data } of early) dispatchEvent(new MessageEvent('message', { data }))
}, () => setTimeout(() => { throw new Error('its script could not be loaded') }))`),
  )
}

const blobOf = (source: string) => URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
