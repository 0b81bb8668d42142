// In: Markdown as models write it, whole and cut off. Out: whether the tree is right and nothing in it can act.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Piece, parseMarkdown } from './markdown.ts'

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
    ['one\ntwo  \nthree', ['p(one twobr()three)']],
    ['---', ['hr()']],
    ['|a|b|\n|-|-|\n|1|2|', ['table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(2))))']],
  ])('%j', (text, expected) => {
    expect(tree(text)).toEqual(expected)
  })

  test('an ordered list starts where it says', () => {
    expect(parseMarkdown('3. c\n4. d')[0]?.piece).toMatchObject({ tag: 'ol', start: 3 })
  })

  test('a code block has its language and text, also while its end is missing', () => {
    const expected = { tag: 'pre', language: 'js', children: ['let a = 1\n'] }
    expect(parseMarkdown('```js\nlet a = 1\n```')[0]?.piece).toEqual(expected)
    expect(parseMarkdown('```js\nlet a = 1\n')[0]?.piece).toEqual(expected)
  })
})

describe('what a model writes cannot act', () => {
  test('HTML is text', () => {
    expect(tree('<img src=x onerror=alert(1)>')).toEqual(['p(<img src=x onerror=alert(1)>)'])
  })

  test('images are their description', () => {
    expect(tree('![a cat](https://example.com/cat.png)')).toEqual(['p(a cat)'])
  })

  test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/here', 'mailto:a@b.c'])(
    'a link to %s is text',
    (address) => {
      expect(tree(`[x](${address})`).join('')).not.toContain('a<')
    },
  )

  test('a link to the web is one', () => {
    expect(tree('[x](https://example.com/a)')).toEqual(['p(a<https://example.com/a>(x))'])
  })
})

test('blocks keep their source while the text after them grows, so that they need not be rendered again', () => {
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

test('every letter of a text without marks is shown', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]+$/), { minLength: 1 }), (words) => {
      const shown = parseMarkdown(words.join(' ')).map(({ piece }) => piece.children.join(''))
      expect(shown.join(' ')).toBe(words.join(' '))
    }),
  )
})
