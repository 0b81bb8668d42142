// Markdown in a terminal. In: answers that arrive in pieces. Out: what a person sees after each.
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { closeMarks } from './close-marks.ts'
import { ReplyView } from './reply-view.ts'
import { TerminalScreen } from './testing/terminal-screen.ts'

const ANSWER = `# Pancakes

Mix **two eggs** with *some* milk, \`flour\` and ~~salt~~ sugar; see [the recipe](https://example.org/pancakes) for more.

1. Beat the eggs
   - gently
   - with a fork
2. Add 小麦粉と牛乳をよく混ぜてください 🥚🥚
3. [x] is not a task

- [x] done
- [ ] to do

| Food | Grams |
|:-----|------:|
| Egg  | 60 |
| Flour, sieved | 250 |

\`\`\`python
def bake(eggs):
    return eggs * 2
\`\`\`

> Serve warm.

---
The end`

const SEEN = `Pancakes

Mix two eggs with some milk, flour and
salt sugar; see the recipe
(https://example.org/pancakes) for
more.

1. Beat the eggs
   ◦ gently
   ◦ with a fork
2. Add 小麦粉と牛乳をよく混ぜてください
   🥚🥚
3. ☑ is not a task

• ☑ done
• ☐ to do

Food          │ Grams
──────────────┼──────
Egg           │    60
Flour, sieved │   250

── python ─────────────────────────────
def bake(eggs):
    return eggs * 2
───────────────────────────────────────

│ Serve warm.

───────────────────────────────────────

The end`

/** Pieces of one to five characters, always the same. */
const pieces = (text: string): string[] =>
  [...text.matchAll(/./gsu)].reduce<string[]>((made, [character], at) => {
    if (at % 7 === 0 || at % 5 === 0) made.push(character)
    else made.push((made.pop() ?? '') + character)
    return made
  }, [])

function shown(text: string, columns = 40, rows = 24, each?: (screen: TerminalScreen) => void) {
  const screen = new TerminalScreen(columns, rows)
  const view = new ReplyView(screen)
  for (const piece of pieces(text)) {
    view.add(piece)
    each?.(screen)
  }
  view.end()
  return screen
}

test('an answer looks the same whether it streams or not', () => {
  expect(shown(ANSWER).text).toBe(SEEN)
  const screen = new TerminalScreen(40)
  const view = new ReplyView(screen)
  view.add(ANSWER)
  view.end()
  expect(screen.text).toBe(SEEN)
})

test('prose appears letter by letter, and nothing that was shown changes', () => {
  const prose = 'Some **bold words** and `code`, then *more* words with a [link](https://example.org) inside.'
  let before = ''
  const screen = shown(prose, 200, 24, ({ text }) => {
    expect(text.startsWith(before)).toBe(true)
    expect(text).not.toMatch(/[*`[\]]/)
    before = text
  })
  expect(screen.replaced).toBe(0)
  expect(screen.text).toBe(
    'Some bold words and code, then more words with a link (https://example.org) inside.',
  )
})

test('a table that grows beyond the screen leaves the lines above the top as they are', () => {
  const rows = Array.from({ length: 30 }, (_, at) => `| ${'x'.repeat(at + 1)} | ${at} |\n`)
  const screen = shown(`| a | b |\n|---|---|\n${rows.join('')}`, 60, 8)
  expect(screen.text.split('\n')).toHaveLength(32)
  expect(screen.text).toMatch(/x{30} │ 29$/)
})

test('styles are written, and control characters are not', () => {
  const written: string[] = []
  const view = new ReplyView({ columns: 80, rows: 24, write: (text) => written.push(text) })
  view.add('**bold** `\x1b[2J` [a](https://b.c/\x1b]0;x)')
  view.end()
  const text = written.join('')
  expect(text).toContain('\x1b[1mbold\x1b[22m')
  expect(stripVTControlCharacters(text)).toContain('\\u001b[2J')
  expect(text).not.toContain('\x1b[2J')
  expect(text).not.toContain('\x1b]0')
})

test('in a terminal that becomes narrower the text goes on in the new width, without a loss', () => {
  const text = 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen'
  const screen = new TerminalScreen(60)
  const view = new ReplyView(screen)
  view.add(text.slice(0, 70))
  screen.columns = 30
  view.add(text.slice(70))
  view.end()
  const words = screen.text.replaceAll('\n', ' ')
  for (const word of text.split(' ')) expect(words).toContain(word)
  for (const line of screen.text.split('\n').slice(2)) expect(line.length).toBeLessThan(30)
})

test('a table that does not fit becomes a list', () => {
  const table = '| Country | Capital |\n|---|---|\n| Trinidad and Tobago | Port of Spain |\n| Fiji | Suva |'
  expect(shown(table, 16).text.replaceAll('\n', ' ')).toMatch(
    /^Country: Trinidad and Tobago Capital: Port of Spain +Country: Fiji Capital: Suva$/,
  )
})

test.each([
  ['a **bold', 'a **bold**'],
  ['a **bold*', 'a **bold**'],
  ['a **', 'a '],
  ['a *b **c', 'a *b **c***'],
  ['2 * 3', '2 * 3'],
  ['snake_case', 'snake_case'],
  ['- one\n- two', '- one\n- two'],
  ['\n* one\n* two', '\n* one\n* two'],
  ['a `code', 'a `code`'],
  ['a `**` b', 'a `**` b'],
  ['see [the', 'see the'],
  ['see [the](http', 'see the'],
  ['see ![the](http', 'see the'],
  ['see [the](http://a)', 'see [the](http://a)'],
  ['```\na **b', '```\na **b'],
  ['**a** b\n\nc **d', '**a** b\n\nc **d**'],
])('%j is shown as %j', (text, closed) => {
  expect(closeMarks(text)).toBe(closed)
})
