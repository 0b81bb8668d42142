// In: Markdown as models write it, complete and cut off. Out: whether the tree is right and contains nothing
// active.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GrowingMarkdown, inParts, type Piece, parseMarkdown, plainText } from './markdown.ts'

/** The tree as text: `p(a strong(b))`. */
const print = (piece: Piece | string): string =>
  typeof piece === 'string'
    ? piece
    : `${piece.tag}${piece.href === undefined ? '' : `<${piece.href}>`}(${piece.children.map(print).join('')})`

const tree = (text: string) => parseMarkdown(text).map(({ piece }) => print(piece))

describe('Markdown', () => {
  test.each([
    ['plain', ['p(plain)']],
    ['a **b** *c* ~~d~~ `e`', ['p(a strong(b) em(c) s(d) code(e))']],
    ['# One\n\n### Three', ['h2(One)', 'h3(Three)']],
    ['- a\n- b\n  1. c', ['ul(li(a)li(bol(li(c))))']],
    ['> quoted', ['blockquote(p(quoted))']],
    ['one\ntwo  \nthree', ['p(onebr()twobr()three)']],
    ['- one\n  two\n\n> three\n> four', ['ul(li(onebr()two))', 'blockquote(p(threebr()four))']],
    ['---', ['hr()']],
    ['|a|b|\n|-|-|\n|1|2|', ['table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(2))))']],
  ])('%j', (text, expected) => {
    expect(tree(text)).toEqual(expected)
  })

  test.each([
    ['$a_1 * b_1$ and \\(c\\)', ['p(math(a_1 * b_1) and math(c))']],
    ['$$\nx^2\n$$', ['math(x^2)']],
    ['\\[ x \\]\n\nso', ['math(x)', 'p(so)']],
    ['so $$x$$ it is', ['p(so math(x) it is)']],
    ['- \\[x\n+ y\\]', ['ul(li(math(x\n+ y)))']],
    ['$5 and $6, $7-$8', ['p($5 and $6, $7-$8)']],
    ['$$\nx\n+ y', ['math(x\n+ y)']],
    ['$$\nx\n\n$$', ['p($$br()x)', 'p($$)']],
    ['$a\n\nb$', ['p($a)', 'p(b$)']],
    ['`$a$`', ['p(code($a$))']],
    ['$$ $$', ['p($$ $$)']],
  ])('formulas in %j', (text, expected) => {
    expect(tree(text)).toEqual(expected)
  })

  test('an ordered list starts at its number', () => {
    expect(parseMarkdown('3. c\n4. d')[0]?.piece).toMatchObject({ tag: 'ol', start: 3 })
  })

  test('a code block has its language and text, even while its end is missing', () => {
    const expected = { tag: 'pre', language: 'js', children: ['let a = 1\n'] }
    expect(parseMarkdown('```js\nlet a = 1\n```')[0]?.piece).toEqual(expected)
    expect(parseMarkdown('```js\nlet a = 1\n')[0]?.piece).toEqual(expected)
  })
})

test('text for reading aloud has no markup', () => {
  expect(plainText('# A **b**\n\n- `c`\n- [d](https://e.example)\n\n|f|g|\n|-|-|\n|1|2|')).toBe(
    'A b\nc\nd\n\nf, g\n1, 2',
  )
})

describe('a model’s output contains nothing active', () => {
  test('HTML is text', () => {
    expect(tree('<img src=x onerror=alert(1)>')).toEqual(['p(<img src=x onerror=alert(1)>)'])
  })

  test('images are shown as their alt text', () => {
    expect(tree('![a cat](https://example.com/cat.png)')).toEqual(['p(a cat)'])
  })

  test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/here', 'mailto:a@b.c'])(
    'a link to %s is text',
    (address) => {
      expect(tree(`[x](${address})`).join('')).not.toContain('a<')
    },
  )

  test('a link to the web stays a link', () => {
    expect(tree('[x](https://example.com/a)')).toEqual(['p(a<https://example.com/a>(x))'])
  })
})

test('blocks stay the same object while the text after them grows, so they are not rendered again', () => {
  const text = '# Title\n\nFirst paragraph.\n\n- one\n- two\n\n```\ncode\n```\n\nLast words.'
  const whole = parseMarkdown(text)
  for (let length = 1; length < text.length; length++) {
    const part = parseMarkdown(text.slice(0, length))
    for (const [index, block] of part.slice(0, -1).entries()) {
      const same = whole[index]
      expect(block.piece).toEqual(same?.piece)
      expect(block.source.trimEnd()).toBe(same?.source.trimEnd())
    }
  }
})

test('every character of plain text is shown', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]+$/), { minLength: 1 }), (words) => {
      const shown = parseMarkdown(words.join(' ')).map(({ piece }) => piece.children.join(''))
      expect(shown.join(' ')).toBe(words.join(' '))
    }),
  )
})

const only = (text: string) => parseMarkdown(text)[0]?.piece
const insides = (piece: Piece | undefined) => (piece?.children ?? []) as readonly Piece[]

test('bare addresses become links, but file names do not', () => {
  const links = insides(only('See https://example.com/a_b, readme.md and www.example.com.'))
  expect(links.filter((part) => part.tag === 'a')).toEqual([
    { tag: 'a', children: ['https://example.com/a_b'], href: 'https://example.com/a_b' },
  ])
})

test('items of a task list, tight or loose, are marked as done or not', () => {
  for (const between of ['\n', '\n\n']) {
    const items = insides(only(['- [x] **one**', '- [ ] two', '- [y] three'].join(between)))
    expect(items.map(({ isDone }) => isDone)).toEqual([true, false, undefined])
    expect(items.map((item) => print(item))).toEqual(
      between === '\n'
        ? ['li(strong(one))', 'li(two)', 'li([y] three)']
        : ['li(p(strong(one)))', 'li(p(two))', 'li(p([y] three))'],
    )
  }
})

test('cells are aligned as the table specifies for their column', () => {
  const [head] = insides(only('|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|'))
  const [row] = insides(head)
  expect(insides(row).map(({ align }) => align)).toEqual(['left', 'center', 'right', undefined])
})

describe('a text that grows', () => {
  const lines = [
    '# Title',
    'words',
    '**bold',
    'end**',
    '- one',
    '- [x] done',
    'https://example.com',
    '  more',
    '1. a',
    '2. b',
    '> said',
    '```',
    '|a|b|',
    '|-|-|',
    '$$',
    '+ y$$',
    '\\[x',
    'y\\]',
    '',
  ]
  const ends = ['\n', '\n\n', '\r\n']
  const line = fc.tuple(fc.constantFrom(...lines), fc.constantFrom(...ends)).map((parts) => parts.join(''))

  test('gives the same result at every length as when parsed at once', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.integer({ min: 1, max: 9 }), (parts, step) => {
        const text = parts.join('')
        const growing = new GrowingMarkdown()
        for (let length = 0; length <= text.length; length += step) {
          const part = text.slice(0, length)
          const pieces = (blocks: readonly { readonly piece: Piece }[]) => blocks.map(({ piece }) => piece)
          expect(pieces(growing.blocks(part))).toEqual(pieces(parseMarkdown(part)))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('keeps finished blocks, and parses a different text from scratch', () => {
    const growing = new GrowingMarkdown()
    const text = 'One.\n\n- two\n- three\n\nFour\nfive'
    const before = growing.blocks(text)
    const after = growing.blocks(`${text} six\n\nSeven`)
    expect([after[0], after[1]]).toEqual([before[0], before[1]])
    expect(after[0]).toBe(before[0])
    expect(after[1]).toBe(before[1])
    expect(after.map(({ piece }) => print(piece))).toEqual([
      'p(One.)',
      'ul(li(two)li(three))',
      'p(Fourbr()five six)',
      'p(Seven)',
    ])
    expect(growing.blocks('One').map(({ piece }) => print(piece))).toEqual(['p(One)'])
  })
})

describe('the parts of a text', () => {
  const paragraph = fc.stringMatching(/^[a-z]{1,300}$/)

  test('are short runs of blocks, and full parts stay unchanged while the text grows', () => {
    fc.assert(
      fc.property(fc.array(paragraph, { minLength: 1, maxLength: 20 }), paragraph, (paragraphs, last) => {
        const sources = (parts: ReturnType<typeof inParts>) =>
          parts.map((part) => part.map(({ source }) => source))
        const before = sources(inParts(parseMarkdown(paragraphs.join('\n\n'))))
        const after = sources(inParts(parseMarkdown([...paragraphs, last].join('\n\n'))))
        expect(before.flat()).toEqual(paragraphs)
        expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1))
        for (const part of before) expect(part.slice(0, -1).join('').length).toBeLessThan(240)
      }),
    )
  })
})
