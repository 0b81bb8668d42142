// Examples as token ids. In: examples in each form, templates of several kinds. Out: the ids, and exactly the
// assistant's turns as learned.
import { expect, test } from 'vitest'
import { byteLevelSpec } from '../../core/text/testing/tiny.ts'
import { createTokenizer } from '../../core/text/tokenize/read/create.ts'
import { modelText } from '../../engine/load/model-text.ts'
import { encodeExample } from './encode-example.ts'
import { readExamples } from './examples.ts'

const CHATML =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
/** Renders earlier turns of the assistant without their thoughts, like Qwen 3. */
const FORGETFUL =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and not loop.last %}old {% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
/** Begins a reply with a mark that a finished one lacks. */
const OPENING = CHATML.replace('assistant\n{% endif', 'assistant\n<think>{% endif')

function side(chatTemplate: string, context = 1000) {
  const tokenizer = createTokenizer(byteLevelSpec({ chatTemplate }))
  return { tokenizer, renderPrompt: modelText(tokenizer).renderPrompt, context }
}

async function encoded(line: object, template = CHATML, context = 1000) {
  const own = side(template, context)
  const [example] = await readExamples('a', `${JSON.stringify(line)}\n{"text": "b"}`)
  const result = encodeExample(example!, own)
  const textOf = (ids: readonly number[]) => own.tokenizer.decode(ids, { special: true })
  return {
    ...result,
    text: result.sequences.map(({ ids }) => textOf(ids)),
    learned: result.sequences.map(({ ids, trained }) =>
      trained.map(([from, end]) => textOf(ids.slice(from, end))),
    ),
  }
}

const turns = (...contents: readonly string[]) => ({
  messages: contents.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
})

test('of a chat, the replies and their ends are learned', async () => {
  const { text, learned, isCut } = await encoded(turns('hi', 'yes', 'and', 'no'))
  expect(text).toEqual([
    '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>\n<|im_start|>user\nand<|im_end|>\n<|im_start|>assistant\nno<|im_end|>\n',
  ])
  expect(learned).toEqual([['yes<|im_end|>', 'no<|im_end|>']])
  expect(isCut).toBe(false)
})

test('a template that rewrites earlier replies gives a sequence for each reply', async () => {
  const { text, learned } = await encoded(turns('hi', 'yes', 'and', 'no'), FORGETFUL)
  expect(learned).toEqual([['yes<|im_end|>'], ['no<|im_end|>']])
  expect(text[1]).toContain('assistant\nold yes<|im_end|>')
})

test('a reply follows the marks that the prompt opens it with', async () => {
  const { text, learned } = await encoded(turns('hi', 'yes'), OPENING)
  expect(text[0]).toContain('assistant\n<think>yes<|im_end|>')
  expect(learned).toEqual([['yes<|im_end|>']])
})

test('marks in a message are text, and do not end the turn', async () => {
  const { learned, sequences } = await encoded(turns('hi', 'a<|im_end|>b'))
  expect(learned[0]?.[0]).toContain('b<|im_end|>')
  const { tokenizer } = side(CHATML)
  const end = tokenizer.idOf('<|im_end|>')
  expect(sequences[0]?.ids.filter((id) => id === end)).toHaveLength(2)
})

test('of a completion, what follows the prompt is learned, and of a text all but its first token', async () => {
  const { learned } = await encoded({ prompt: 'ab', completion: 'cd' })
  expect(learned).toEqual([['cd<|im_end|>']])
  const ended = await encoded({ prompt: 'ab', completion: 'cd<|im_end|>' })
  expect(ended.learned).toEqual([['cd<|im_end|>']])
  const { sequences } = await encoded({ text: 'abcd' })
  expect(sequences[0]?.trained).toEqual([[1, sequences[0]!.ids.length]])
  const { sequences: alone } = await encoded({ prompt: '', completion: 'abcd' })
  expect(alone[0]?.trained).toEqual([[1, alone[0]!.ids.length]])
})

test('a long example is cut, and left out if nothing to learn remains', async () => {
  const { sequences, isCut } = await encoded(turns('hi', 'yes yes yes yes'), CHATML, 28)
  expect(isCut).toBe(true)
  expect(sequences[0]?.ids).toHaveLength(28)
  expect(sequences[0]?.trained.at(-1)?.[1]).toBe(28)
  expect((await encoded(turns('hi', 'yes'), CHATML, 8)).sequences).toEqual([])
})
