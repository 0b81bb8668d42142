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

/** Names of an OpenAI object's fields that have a value and are not among those that are read. */
export const unreadFields = (given: object, read: object): string[] =>
  Object.entries(given)
    .filter(([name, value]) => value != null && !Object.hasOwn(read, name))
    .map(([name]) => name)

/** Warns of each field of an OpenAI request that is not read. */
export function warnOfUnread(params: object, read: object, onWarning: OnWarning): void {
  for (const name of unreadFields(params, read))
    onWarning(`halfbyte/openai ignores "${name}": the engine has nothing like it`)
}
