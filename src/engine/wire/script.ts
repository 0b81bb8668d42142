// Worker scripts. In: a script's address. Out: an address that this page may start a worker from.

/** Browsers refuse worker scripts of another origin, but accept a script of this origin that imports one. */
export function sameOriginScript(address: URL): URL {
  if (address.origin === globalThis.location.origin || address.protocol === 'blob:') return address
  const source = new Blob([`import ${JSON.stringify(address.href)}`], { type: 'text/javascript' })
  return new URL(URL.createObjectURL(source))
}
