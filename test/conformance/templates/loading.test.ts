// Templates in whole models. In: tiny GGUF files with templates of several kinds. Out: replies, notes,
// errors.
import { expect, test } from 'vitest'
import { ggufFile } from '../testing/model-files.ts'
import { openEngine } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'

const model = randomLlama({ seed: 38, gain: 1.5, speaks: true })
const GREEDY = { temperature: 0, maxTokens: 3 }
const TURNS = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
const GO = '{{- if .System }}{{ .System }}{{ end }}{{- range .Messages }}<{{ .Role }}>{{- end }}'
const TOOLS = [{ name: 'w', parameters: { type: 'object', properties: {} } }]

const fileOf = (template: string, more: Parameters<typeof ggufFile>[2] = {}) =>
  ggufFile(model, 'F32', {
    metadata: { 'tokenizer.chat_template': ['string', template], ...more.metadata },
  })

test('a model whose template is in another template language loads but rejects messages, unless a template is passed', async () => {
  const file = await fileOf(GO)
  await using engine = await openEngine([file])
  expect(engine.note).toContain('the chat template cannot be read')
  expect(await engine.complete('hello', GREEDY).text()).not.toBe('')
  await expect(engine.createSession().send('hello', GREEDY).text()).rejects.toMatchObject({ code: 'format' })
  await using other = await openEngine([file], { chatTemplate: TURNS })
  expect(await other.createSession().send('hello', GREEDY).text()).not.toBe('')
  await expect(openEngine([file], { chatTemplate: GO })).rejects.toMatchObject({ code: 'format' })
  await expect(openEngine([file], { chatTemplate: 5 as never })).rejects.toMatchObject({
    code: 'unsupported',
  })
})

test("tools are rendered by the GGUF's template for tools", async () => {
  const named = {
    'tokenizer.chat_template.tool_use': ['string', `{% if tools %}T{% endif %}${TURNS}`] as const,
  }
  const send = async (file: File) => {
    await using engine = await openEngine([file])
    return await engine
      .createSession()
      .send('hi', { ...GREEDY, tools: TOOLS })
      .text()
  }
  expect(await send(await fileOf(TURNS))).toBeTypeOf('string')
  expect(await send(await fileOf(TURNS, { metadata: named as never }))).toBeTypeOf('string')
})

test('arguments of a session and of a reply reach the template', async () => {
  const strict = `{% if mode is not defined or mode != 'b' %}{{ raise_exception('mode ' ~ mode) }}{% endif %}${TURNS}`
  await using engine = await openEngine([await fileOf(strict)])
  const session = engine.createSession({ templateArguments: { mode: 'a' } })
  await expect(session.send('hi', GREEDY).text()).rejects.toThrow(/mode a/)
  expect(await session.send('hi', { ...GREEDY, templateArguments: { mode: 'b' } }).text()).toBeTypeOf(
    'string',
  )
  await expect(session.send('hi', { templateArguments: { messages: [] } }).text()).rejects.toMatchObject({
    code: 'unsupported',
  })
})
