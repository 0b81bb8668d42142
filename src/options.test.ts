// Documented options. In: the sources of the public options. Out: a failure for an option whose comment does
// not say its default.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const OPTIONS: readonly (readonly [file: string, type: string])[] = [
  ['api/types.ts', 'LoadOptions'],
  ['api/types.ts', 'ProbeOptions'],
  ['api/types.ts', 'Assets'],
  ['api/types.ts', 'AbortOptions'],
  ['api/types.ts', 'GenerateOptions'],
  ['api/types.ts', 'SessionOptions'],
  ['engine/wire/protocol.ts', 'DecodeOptions'],
  ['engine/wire/protocol.ts', 'Overflow'],
  ['generate/sampler/sampler-options.ts', 'SamplerOptions'],
  ['evaluate/embed.ts', 'EmbedOptions'],
  ['store/hub.ts', 'Hub'],
  ['store/hub.ts', 'RepoAddress'],
  ['api/adapters/openai-chat.ts', 'OpenAIOptions'],
  ['api/adapters/openai-chat.ts', 'RequestOptions'],
  ['api/adapters/ai-sdk.ts', 'HalfbyteProviderOptions'],
]

for (const [file, type] of OPTIONS) {
  test(`each option of ${type} says its default`, () => {
    const source = readFileSync(new URL(file, import.meta.url), 'utf8')
    const body = new RegExp(
      `\\n/\\*\\*(?:(?!\\*/).)*\\*/\\nexport interface ${type}\\b[^{]*\\{\\n(.*?)\\n\\}`,
      's',
    ).exec(source)
    expect(body, `${type} has a comment`).not.toBeNull()
    const members = [...(body?.[1] ?? '').matchAll(/(\/\*\*(?:(?!\*\/).)*\*\/\n)? {2}readonly (\w+)\?:/gs)]
    expect(members.length).toBeGreaterThan(0)
    const silent = members.filter(([, comment = '']) => !/\b[Dd]efault\b/.test(comment))
    expect(silent.map(([, , name]) => name)).toEqual([])
  })
}
