// Storage. In: a key of localStorage or sessionStorage. Out: its text, if the browser grants
// storage.

/** Also returns undefined if storage is denied. */
export const readItem = (key: string): string | undefined => read(() => localStorage, key)

/** `undefined` removes the key. */
export const writeItem = (key: string, value: string | undefined): void =>
  write(() => localStorage, key, value)

/** The same for sessionStorage, which belongs to this tab and lasts until it closes. */
export const sessionItem = (key: string): string | undefined => read(() => sessionStorage, key)
export const writeSessionItem = (key: string, value: string | undefined): void =>
  write(() => sessionStorage, key, value)

function read(storage: () => Storage, key: string): string | undefined {
  try {
    return storage().getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

function write(storage: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(key)
    else storage().setItem(key, value)
  } catch {
    // A private window may deny storage. The data is only a convenience.
  }
}
