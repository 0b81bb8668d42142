// Warnings. In: sentences about what an adapter cannot honour. Out: each of them once.

/** Where warnings go. Default: the console. */
export type OnWarning = (sentence: string) => void

/** Passes a sentence on the first time it is said. */
export function warnOnce(onWarning: OnWarning = (sentence) => console.warn(sentence)): OnWarning {
  const said = new Set<string>()
  return (sentence) => {
    if (said.has(sentence)) return
    said.add(sentence)
    onWarning(sentence)
  }
}
