// JSON mutations. In: a valid document as a tree. Out: a document with values of other types, extreme
// numbers, duplicate or missing keys, deep nesting.

import type { Random } from '../../helpers/random.ts'
import { childOf, childrenIn, Pairs, Raw, type Tree, withChild } from './json-tree.ts'

const NUMBERS: readonly Tree[] = [
  0,
  -0,
  1,
  -1,
  2,
  3,
  4,
  7,
  8,
  16,
  24,
  31,
  32,
  33,
  64,
  100,
  128,
  255,
  256,
  1000,
  4096,
  65_536,
  2 ** 20,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 40,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 60,
  -(2 ** 31),
  -(2 ** 53),
  0.5,
  -0.5,
  1.5,
  1e-5,
  1e-320,
  1e38,
  1e39,
  1e308,
  -1e308,
  new Raw('1e999'),
  new Raw('-1e999'),
  new Raw('Infinity'),
  new Raw('NaN'),
  new Raw('-Infinity'),
]
const STRINGS = [
  '',
  ' ',
  'a',
  '0',
  '1',
  '-1',
  'null',
  'true',
  '1e5',
  'auto',
  '__proto__',
  'constructor',
  'toString',
  'length',
  '\0',
  '\n',
  'é',
  '漢',
  '😀',
  '\ud800',
  '\udfff',
  '\ufdd0',
  '\uffff',
  '\u2581',
  '<|im_end|>',
  '../../..',
  '(a*)*b',
  '(?<a>x)\\k<a>',
  '[',
  '\\p{L}+',
  'x'.repeat(300),
  '%s',
  '{{ x }}',
  '\u202e',
]
const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'then',
  'length',
  'hasOwnProperty',
  '',
  '0',
  '-1',
  'type',
  'name',
  'id',
  '__float__',
]
/** Texts of objects that cannot be converted to a string or a number. */
const TRAPS: readonly Tree[] = [
  new Pairs([['toString', 1]]),
  new Pairs([
    ['toString', null],
    ['valueOf', 'x'],
  ]),
  new Pairs([['__proto__', null]]),
  new Pairs([['length', 2 ** 32]]),
  new Pairs([
    ['length', 3],
    ['0', 'a'],
  ]),
  new Pairs([['toJSON', 1]]),
  new Pairs([['then', 1]]),
  new Pairs([['__float__', 'Infinity']]),
]

/** Makes one to six changes. `donors`: documents whose parts may replace others. */
export function mutateJson(random: Random, good: Tree, donors: readonly Tree[] = [good]): Tree {
  let tree = good
  for (let left = random.few(); left > 0; left--) tree = mutateOnce(random, tree, donors)
  return tree
}

function mutateOnce(random: Random, tree: Tree, donors: readonly Tree[]): Tree {
  const count = childrenIn(tree)
  // Each level is equally likely to be changed, so that a vocabulary of thousands of tokens does not attract
  // all changes.
  if (count === 0 || random.chance(0.25)) return changed(random, tree, donors)
  const place = random.below(count)
  return withChild(tree, place, mutateOnce(random, childOf(tree, place) as Tree, donors))
}

function changed(random: Random, tree: Tree, donors: readonly Tree[]): Tree {
  if (tree instanceof Pairs && random.chance(0.6)) return changedPairs(random, tree, donors)
  if (Array.isArray(tree) && random.chance(0.6)) return changedList(random, tree, donors)
  if (typeof tree === 'number' && random.chance(0.6)) {
    return random.chance(0.5)
      ? random.pick(NUMBERS)
      : tree + random.pick([-64, -2, -1, 0.5, 1, 2, 64, tree, -2 * tree])
  }
  if (typeof tree === 'string' && random.chance(0.5)) return changedText(random, tree)
  if (typeof tree === 'boolean' && random.chance(0.5)) return !tree
  return anyValue(random, tree, donors)
}

function changedPairs(random: Random, { entries }: Pairs, donors: readonly Tree[]): Tree {
  const place = random.below(Math.max(1, entries.length))
  const entry = entries[place]
  switch (random.below(6)) {
    case 0:
      return new Pairs(entries.filter((_, index) => index !== place))
    case 1:
      return new Pairs([...entries, [random.pick(KEYS), anyValue(random, null, donors)]])
    case 2:
      return entry === undefined
        ? new Pairs([])
        : new Pairs([...entries, [entry[0], anyValue(random, entry[1], donors)]])
    case 3:
      return new Pairs(entries.map((one, index) => (index === place ? [random.pick(KEYS), one[1]] : one)))
    case 4: {
      const other = entries[random.below(Math.max(1, entries.length))]
      if (entry === undefined || other === undefined) return new Pairs([])
      return new Pairs(entries.map((one, index) => (index === place ? [one[0], other[1]] : one)))
    }
    default:
      return new Pairs(random.chance(0.3) ? [] : entries.filter(() => random.chance(0.7)))
  }
}

function changedList(random: Random, items: readonly Tree[], donors: readonly Tree[]): Tree {
  const place = random.below(Math.max(1, items.length))
  const item = items[place] ?? null
  switch (random.below(6)) {
    case 0:
      return items.filter((_, index) => index !== place)
    case 1:
      return [...items.slice(0, place), anyValue(random, item, donors), ...items.slice(place)]
    case 2:
      return [...items, item]
    case 3:
      return items.slice(0, place)
    case 4:
      return [...items].reverse()
    default:
      return random.chance(0.5) ? [] : Array.from({ length: 1 + random.below(40) }, () => item)
  }
}

function changedText(random: Random, text: string): Tree {
  const at = random.below(text.length + 1)
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + random.pick(STRINGS) + text.slice(at)
    case 2:
      return text.repeat(1 + random.below(5))
    case 3:
      return (
        text.slice(0, at) +
        String.fromCharCode(random.below(random.chance(0.7) ? 128 : 65_536)) +
        text.slice(at + 1)
      )
    default:
      return text.toUpperCase()
  }
}

function anyValue(random: Random, old: Tree, donors: readonly Tree[]): Tree {
  switch (random.below(12)) {
    case 0:
    case 1:
      return random.pick(NUMBERS)
    case 2:
    case 3:
      return random.pick(STRINGS)
    case 4:
      return random.pick(TRAPS)
    case 5:
      return random.pick([true, false, null])
    case 6:
      return [old]
    case 7:
      return random.chance(0.5) ? [] : new Pairs([])
    case 8:
      return new Pairs([[random.pick(KEYS), old]])
    case 9:
      return random.chance(0.05) ? nested(random) : [old, old]
    case 10:
      return typeof old === 'number' ? String(old) : typeof old === 'string' ? Number(old) || 0 : [null]
    default:
      return part(random, random.pick(donors))
  }
}

/** A value from any position in a document. */
function part(random: Random, tree: Tree): Tree {
  const count = childrenIn(tree)
  return count === 0 || random.chance(0.2) ? tree : part(random, childOf(tree, random.below(count)) as Tree)
}

function nested(random: Random): Tree {
  const levels = random.pick([50, 500, 3000, 20_000])
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"type":', '}]'],
  ] as const)
  return new Raw(open.repeat(levels) + '1' + close.repeat(levels))
}
