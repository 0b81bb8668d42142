// Documented options. In: the sources of the public options. Out: a failure for each option whose comment
// does not state its default.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const OPTIONS: readonly (readonly [file: string, type: string])[] = [
  ['engine/api/types.ts', 'LoadOptions'],
  ['engine/api/types.ts', 'ProbeOptions'],
  ['engine/api/types.ts', 'Assets'],
  ['engine/api/types.ts', 'AbortOptions'],
  ['engine/api/types.ts', 'GenerateOptions'],
  ['engine/api/types.ts', 'SessionOptions'],
  ['engine/types/reply.ts', 'DecodeOptions'],
  ['engine/types/conversation.ts', 'Overflow'],
  ['core/generate/sampler/sampler-options.ts', 'SamplerOptions'],
  ['engine/score/embed.ts', 'EmbedOptions'],
  ['core/store/hub.ts', 'Hub'],
  ['core/store/hub.ts', 'RepoAddress'],
  ['adapters/openai-chat.ts', 'OpenAIOptions'],
  ['adapters/openai-chat.ts', 'RequestOptions'],
  ['adapters/ai-sdk.ts', 'HalfbyteProviderOptions'],
]

for (const [file, type] of OPTIONS) {
  test(`each option of ${type} states its default`, () => {
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
