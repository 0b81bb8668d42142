// Warnings. In: sentences about options that an adapter ignores. Out: each sentence once.

/** Receives warnings. Default: writes to the console. */
export type OnWarning = (sentence: string) => void

/** Passes on each sentence the first time it occurs. */
export function warnOnce(onWarning: OnWarning = (sentence) => console.warn(sentence)): OnWarning {
  const said = new Set<string>()
  return (sentence) => {
    if (said.has(sentence)) return
    said.add(sentence)
    onWarning(sentence)
  }
}
