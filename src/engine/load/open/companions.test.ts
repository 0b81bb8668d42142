// Companions. In: prompts and options on a toy model. Out: the sequences that run besides the reply's own.
import { expect, test } from 'vitest'
import type { Drafter } from '../../../core/generate/schedule/speculation.ts'
import { LookupDrafter } from '../../../core/generate/speculate/draft-lookup.ts'
import { toyModel } from '../../testing/toy-model.ts'
import type { Prompt } from '../../wire/protocol.ts'
import type { LoadedModel } from '../loaded-model.ts'
import { openCompanions } from './companions.ts'

/** A prompt with text rather than ids. */
type GuidedPrompt = Exclude<Prompt, { readonly type: 'ids' }>

const CONVERSATION: GuidedPrompt = {
  type: 'messages',
  messages: [
    { role: 'system', content: 'be kind' },
    { role: 'user', content: 'hi' },
  ],
}
const TEXT: GuidedPrompt = { type: 'text', text: 'once upon' }

/** A prompt without images. */
const seenBy = ({ text }: Pick<LoadedModel, 'text'>, prompt: Prompt) => ({
  prompt,
  encode: (given: string, start: boolean, after?: number) => text.encode(given, start, after),
})

function guideText(prompt: GuidedPrompt, negativePrompt?: string): string {
  const toy = toyModel()
  const ids = toy.text.encode(
    prompt.type === 'messages' ? toy.renderPrompt(prompt.messages) : prompt.text,
    true,
  )
  const { guide, release } = openCompanions(toy, seenBy(toy, prompt), ids, { cfgScale: 2, negativePrompt })
  const text = guide!.tokens.map((id) => (id === 256 ? '<end>' : String.fromCharCode(id))).join('')
  release()
  expect(toy.liveBytes()).toBe(0)
  return text
}

test('a negative prompt replaces the system prompt, or the plain text', () => {
  expect(guideText(CONVERSATION, 'be rude')).toBe('<system>be rude<end><user>hi<end><assistant>')
  expect(guideText(CONVERSATION)).toBe('<user>hi<end><assistant>')
  expect(guideText(TEXT, 'never')).toBe('never')
  expect(guideText(TEXT)).toBe('n')
})

test('scale 1 does not open another sequence, whatever the negative prompt', () => {
  for (const cfgScale of [1, undefined]) {
    const { guide } = openCompanions(toyModel(), seenBy(toyModel(), TEXT), [1, 2], {
      cfgScale,
      negativePrompt: 'never',
    })
    expect(guide).toBeUndefined()
  }
})

test('drafts come from the text unless turned off, and from a draft model only if there is one', () => {
  const toy = toyModel()
  const draftersOf = (
    speculation?: 'off' | 'lookup' | 'draft',
    model = toy as Parameters<typeof openCompanions>[0],
  ) => openCompanions(model, seenBy(model, TEXT), [1, 2], { speculation }).drafters
  expect(draftersOf('off')).toEqual([])
  expect(draftersOf()).toEqual([expect.any(LookupDrafter)])
  expect(() => draftersOf('draft')).toThrow(expect.objectContaining({ code: 'unsupported' }))
  const opened: (readonly number[])[] = []
  const second = toyModel()
  const drafter: Drafter = { msPerDraft: 1, look: () => 1, gradeAt: () => 0, draft: () => 0 }
  const draft = {
    newSequence: second.newSequence,
    drafter(sequence: ReturnType<typeof second.newSequence>) {
      opened.push(sequence.tokens)
      return drafter
    },
  }
  // Repetitions cost nothing, so they are always looked up.
  expect(draftersOf(undefined, { ...toy, draft })).toEqual([expect.any(LookupDrafter), drafter])
  draftersOf('draft', { ...toy, draft })
  draftersOf('lookup', { ...toy, draft })
  expect(opened).toEqual([
    [1, 2],
    [1, 2],
  ])
})
