// Marks of images. In: messages with images, templates of both kinds. Out: prompts with each mark in its
// place, and marks that users' text cannot forge.
import { describe, expect, test } from 'vitest'
import { byteLevelSpec } from '../../core/text/testing/tiny.ts'
import { createTokenizer } from '../../core/text/tokenize/read/create.ts'
import { modelText } from '../load/model-text.ts'
import type { Message } from '../types/conversation.ts'
import { pictureKeys, pictureMark, splitAtPictures } from './picture-marks.ts'

const [one, two] = ['1'.repeat(64), '2'.repeat(64)] as [string, string]
const first = pictureMark(one)
const second = pictureMark(two)
const tokenizer = createTokenizer(byteLevelSpec())

test.each([
  ['a \uFFFC b \uFFFC', `a ${first} b ${second}`],
  ['a \uFFFC b', `${first}\na ${second} b`],
  ['a', `${first}\n${second}\na`],
  ['\uFFFC\uFFFC\uFFFC', `${first}${second}\uFFFC`],
])('images are placed at their positions in %j, or before the text', (content, expected) => {
  expect(pictureKeys(content, [first, second])).toBe(expected)
})

test('a text is split only at known images', () => {
  const parts = splitAtPictures(`a${first}b${second}`, (key) => key === two)
  expect(parts).toEqual([{ plain: `a${first}b`, key: two }, { plain: '' }])
})

/** Like SmolVLM's template: it supports only parts, and begins a turn differently if an image comes first. */
const PARTS =
  "{% for m in messages %}{{ m['role'] }}{% if m['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}" +
  "{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}|{% endfor %}"
const STRINGS = '{% for m in messages %}{{ m.role }}: {{ m.content }}|{% endfor %}'
/** Accepts text as well as parts, and writes an image in its own format. */
const BOTH =
  '{% for m in messages %}{{ m.role }}: {% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}' +
  "{% if p.type == 'text' %}{{ p.text }}{% else %}[picture]{% endif %}{% endfor %}{% endif %}|{% endfor %}"

describe('a prompt', () => {
  const said = (content: string): Message => ({ role: 'user', content })
  const render = (template: string, ...contents: readonly string[]) =>
    modelText(tokenizer, template, '<image>').renderPrompt(contents.map(said))

  test.each([
    ['parts', PARTS, `user:${first}what?|user: and ${second}|`],
    ['texts', STRINGS, `user: ${first}what?|user: and ${second}|`],
    ['both', BOTH, `user: ${first}what?|user: and ${second}|`],
  ])('from a template for %s has each mark once', (_, template, prompt) => {
    expect(render(template, `${first}what?`, `and ${second}`)).toBe(prompt)
  })

  test('from a template for parts also contains the texts of messages without images', () => {
    expect(render(PARTS, 'hello', '')).toBe('user: hello|user: |')
  })

  test('from a template that also supports parts is made from plain text if there are no images', () => {
    expect(render(BOTH, 'hello')).toBe('user: hello|')
  })

  test("a user's text like the template's mark is not an image", () => {
    const prompt = render(PARTS, `<image> ${first}`)
    expect(prompt.split(first)).toHaveLength(2)
    expect(prompt.indexOf(first)).toBeGreaterThan(prompt.indexOf('image>'))
  })
})
