import { describe, expect, test } from 'vitest'
import { gbnf } from '../testing/language.ts'

/** Texts that a grammar accepts and rejects. */
const LANGUAGES: readonly [string, string, readonly string[], readonly string[]][] = [
  ['a literal with escapes', String.raw`root ::= "a\"\\\n\x41\u00e9\U0001F600"`, ['a"\\\nAé😀'], ['a', '']],
  ['ranges', 'root ::= [a-c_0-9] [^a-c\\n]', ['bx', '_é', '9😀'], ['ba', 'x1', 'b\n']],
  ['a range that contains - and ]', 'root ::= [\\]a-] "x"', [']x', 'ax', '-x'], ['bx']],
  ['any character', 'root ::= "<" . ">"', ['<a>', '<\n>', '<漢>'], ['<>', '<ab>']],
  [
    'repetitions',
    'root ::= "a"* "b"+ "c"? "d"{2} "e"{1,} "f"{0,2} "g"{,1}',
    ['bdde', 'aabbcddeeffg'],
    ['bde'],
  ],
  ['a repetition of a group', 'root ::= ("a" | "bc"){2,3}', ['abc', 'bcbca', 'aaa'], ['a', 'aaaa', 'ab']],
  [
    'alternatives and groups across lines, and comments',
    'root ::= # begins\n  "a" |\n  "b" (\n  "c" # inside\n  | "d"\n  )\n# ends',
    ['a', 'bc', 'bd'],
    ['b', 'ac'],
  ],
  [
    'rules defined later',
    'root ::= one two-2\none ::= "1"\r\ntwo-2 ::= "2" | ""\n',
    ['12', '1'],
    ['2', '122'],
  ],
  [
    'alternatives at the start of lines, Windows line endings',
    'root ::= "a"\r\n  | "b"\r\n',
    ['a', 'b'],
    ['ab', ''],
  ],
  ['a byte order mark', '\ufeffroot ::= "a"', ['a'], ['\ufeffa']],
  ['an empty alternative', 'root ::= "a" ws "b"\nws ::= | " " ws', ['ab', 'a b', 'a   b'], ['a\tb']],
  [
    'recursion',
    'root ::= "(" root ")" | ""',
    ['', '()', '((()))', '('.repeat(500) + ')'.repeat(500)],
    ['(', '())', ')('],
  ],
  [
    'recursion on both sides of a value',
    'root ::= term ([-+*/] term)*\nterm ::= [0-9]+ | "(" root ")"',
    ['1', '12+3*(4-5)', '((1))/2'],
    ['', '1+', '(1', '1 + 2'],
  ],
  [
    'a repetition of a part that may be empty',
    'root ::= ("a"? "b"?){2,4} ("c"*)*',
    ['', 'ab', 'abababab', 'bbbbcc'],
    ['ca'],
  ],
  [
    'a repetition of a rule that may be empty',
    'root ::= x+ "."\nx ::= "a"* y\ny ::= "" | "b"',
    ['.', 'abb.'],
    ['c.'],
  ],
]

describe('a grammar of', () => {
  test.each(LANGUAGES)('%s', (_, source, inside, outside) => {
    const language = gbnf(source)
    for (const text of inside) expect(language.has(text), JSON.stringify(text)).toBe(true)
    for (const text of outside) expect(language.has(text), JSON.stringify(text)).toBe(false)
  })
})

describe('invalid grammars are rejected with the position', () => {
  test.each([
    ['no root', 'a ::= "b"', /without the rule root/],
    ['an unknown rule', 'root ::= "a"\n  b', /lacks ::= after b in line 2/],
    ['an unknown rule in a group', 'root ::= ("a"\n  b)', /uses b.*line 2, column 3/],
    ['a rule twice', 'root ::= "a"\nroot ::= "b"', /defines root twice in line 2/],
    ['an open literal', 'root ::= "a\n"', /ends inside a literal in line 1/],
    ['an open group', 'root ::= ("a"', /an unclosed \(/],
    ['a bad escape', 'root ::= "\\q"', /the unknown escape \\q/],
    ['a short escape', 'root ::= "\\u12"', /without 4 hexadecimal digits/],
    ['half a surrogate pair', 'root ::= "\\ud800"', /not a character/],
    ['a backward range', 'root ::= [z-a]', /ends before it starts/],
    ['a backward count', 'root ::= "a"{3,2}', /from 3 to 2/],
    ['a huge count', 'root ::= "a"{99999999}', /more than 1048576/],
    ['left recursion', 'root ::= root "a" | "b"', /the left-recursive rule root/],
    ['hidden left recursion', 'root ::= a "x"\na ::= "y"? b\nb ::= a "z" | "w"', /left-recursive rule/],
    ['an endless rule', 'root ::= "a" root', /matches no text/],
    ['an impossible range', 'root ::= [^\\x00-\\U0010FFFF]', /matches no text/],
    [
      'endlessly nested groups',
      `root ::= ${'('.repeat(300)}"a"${')'.repeat(300)}`,
      /nests groups more than 200 deep/,
    ],
  ])('%s', (_, source, message) => {
    expect(() => gbnf(source)).toThrow(message)
    expect(() => gbnf(source)).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })
})

describe('hostile grammars are read or rejected quickly', () => {
  const levels = Array.from(
    { length: 60 },
    (_, level) => `r${level} ::= r${level + 1} "x" | r${level + 1} "y"`,
  )
  const chain = Array.from({ length: 10_000 }, (_, index) => `r${index} ::= r${index + 1}`)

  test.each([
    ['parses that double at each level', `root ::= r0\n${levels.join('\n')}\nr60 ::= "a"`, 'a', false],
    ['a chain of rules', `root ::= r0\n${chain.join('\n')}\nr10000 ::= "a"`, 'a', true],
    ['the chain in reverse', `root ::= r0\n${chain.toReversed().join('\n')}\nr10000 ::= "a"`, 'a', true],
    ['counts within counts', 'root ::= ((("a"{0,900}){0,900}){0,900}){0,900}', 'a'.repeat(3000), false],
    ['choices that stay ambiguous', 'root ::= ("a" | "b")* "a" ("a" | "b"){40}', 'ab'.repeat(2000), true],
    ['many optional parts', `root ::= ${'"a"? '.repeat(3000)}`, 'aaaa', true],
    ['many optional parts in a repetition', `root ::= (${'"a"? '.repeat(3000)})*`, 'aaaa', false],
    ['depth', 'root ::= "[" root? "]"', '['.repeat(20_000), true],
  ])('%s', (_, source, text, isRead) => {
    const read = () => gbnf(source).begins(text)
    if (isRead) expect(read()).toBe(true)
    else expect(read).toThrow(expect.objectContaining({ code: 'unsupported' }))
  })
})
