// Storage. In: a key of localStorage. Out: its text, if the browser grants storage.

/** Undefined also where storage is refused. */
export function readItem(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** `undefined` removes it. */
export function writeItem(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, value)
  } catch {
    // A private window may refuse storage. What is kept there is only a convenience.
  }
}
