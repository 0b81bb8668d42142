// Alone. In: what is worked on, by name, and the work. Out: its result, with tabs that work on the same one
// after the other.

/**
 * `shared` work waits only for other kinds; `unused` work is done only when nobody else is there, and answers
 * undefined otherwise. Where there are no locks there is one tab, as far as we can know. Rejects with the
 * signal's reason while it waits.
 */
export async function alone<T>(
  name: string,
  work: () => Promise<T>,
  how: 'exclusive' | 'shared' | 'unused' = 'exclusive',
  signal?: AbortSignal,
): Promise<T> {
  const { locks } = navigator
  if (locks === undefined) return work()
  const mode = how === 'shared' ? how : 'exclusive'
  // A signal and `ifAvailable` exclude each other.
  const options = how === 'unused' ? { mode, ifAvailable: true } : { mode, ...(signal && { signal }) }
  return locks.request(`halfbyte-${name}`, options as LockOptions, (lock) =>
    lock === null ? (undefined as T) : work(),
  )
}
