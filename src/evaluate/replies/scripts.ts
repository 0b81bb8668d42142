// Languages by script. In: a language's code. Out: a check whether a text is written in it, for languages
// that have a script of their own among those of IFEval.

const SCRIPTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ bn: 'Bengali', gu: 'Gujarati', kn: 'Kannada', ko: 'Hangul', pa: 'Gurmukhi' },
    ...{ ta: 'Tamil', te: 'Telugu', th: 'Thai' },
  }),
)

/**
 * Whether most letters are of the language's script. Undefined for a language that shares its script with
 * others (Latin, Cyrillic, Arabic, Devanagari): telling those apart takes a model of each language.
 */
export function scriptCheck(language: string): ((text: string) => boolean) | undefined {
  const script = SCRIPTS.get(language)
  if (script === undefined) return undefined
  const own = new RegExp(`\\p{Script=${script}}`, 'gu')
  return (text) => 2 * (text.match(own)?.length ?? 0) > (text.match(/[\p{L}\p{M}]/gu)?.length ?? 0)
}
