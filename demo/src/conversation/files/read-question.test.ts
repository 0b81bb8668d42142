// In: questions about files, and a speaker with a small context. Out: what the model reads of the files.
import { expect, test } from 'vitest'
import { DEFAULT_SETTINGS } from '../../shell/settings.ts'
import type { Speaker } from '../speech/speaker.ts'
import type { StoredMessage } from '../store/conversations.ts'
import { splitQuotes, withQuotes } from './attachments.ts'
import { readQuestion } from './read-question.ts'

const stop = new AbortController().signal
const user = (content: string): StoredMessage => ({ role: 'user', content })
/** A speaker that accepts up to `most` letters, or a share of them. */
const speakerWith = (most: number) =>
  ({ fits: async ({ content }, _, share) => content.length <= most * share }) satisfies Pick<Speaker, 'fits'>
const read = (messages: readonly StoredMessage[], most: number) =>
  readQuestion(speakerWith(most) as Speaker, messages, DEFAULT_SETTINGS, stop, () => undefined)

const sky = { name: 'sky.txt', text: `${'Clouds are white. '.repeat(33)}\n\nThe moon is a lamp.` }
const sea = {
  name: 'sea.pdf',
  text: `${'Waves are tall. '.repeat(30)}\f${'Fish swim. '.repeat(50)}\fA whale sings.`,
}

test('a question without files is read unchanged', async () => {
  expect(await read([user('Hello')], 10)).toBeUndefined()
  expect(await read([user('Hello'), { role: 'assistant', content: 'Hi' }], 10)).toBeUndefined()
})

test('files that fit are read whole', async () => {
  expect(await read([user(withQuotes('What?', [sky]))], 1000)).toEqual({ by: 'whole' })
})

test('of files that do not fit, passages with rare words of the question are read, in text order', async () => {
  const question = user(withQuotes('Does the whale see the moon?', [sky, sea]))
  const chosen = await read([question], 1000)
  if (chosen?.by !== 'words') throw new Error('the passages were not found by words')
  expect(chosen.all).toBe(5)
  const { text, files } = splitQuotes(chosen.text)
  expect(text).toBe('Does the whale see the moon?')
  expect(files).toEqual([
    {
      name: 'sky.txt, line 3',
      text: expect.stringMatching(/^Clouds are white\. .*\n\nThe moon is a lamp\.$/),
    },
    { name: 'sea.pdf, page 3', text: expect.stringMatching(/\n\nA whale sings\.$/) },
  ])
  expect(chosen.text.length).toBeLessThanOrEqual(750)
})

test('at least one passage is read, however small the context', async () => {
  const chosen = await read([user(withQuotes('Who sings?', [sea]))], 1)
  expect(chosen).toMatchObject({ by: 'words', text: expect.stringContaining('A whale sings.') })
})

test('a later question refers to the files that were read in passages, and only those', async () => {
  const before: StoredMessage[] = [
    user(withQuotes('Waves?', [sea])),
    { role: 'assistant', content: 'Tall.', read: { by: 'words', text: 'Waves?', all: 3 } },
    user(withQuotes('Moon?', [{ name: 'a.txt', text: 'The moon is near.' }])),
    { role: 'assistant', content: 'Near.', read: { by: 'whole' } },
  ]
  const chosen = await read([...before, user('Which fish swim?')], 4000)
  if (chosen === undefined || !('text' in chosen)) throw new Error('no passages were read')
  expect(splitQuotes(chosen.text).files.map(({ name }) => name.slice(0, 7))).toEqual(Array(2).fill('sea.pdf'))
})
