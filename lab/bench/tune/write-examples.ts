// Writes examples for `halfbyte tune` whose answers can be checked: an order in everyday words becomes one
// line of fields in a fixed form, which no model writes untrained.
//
//     npx node lab/bench/tune/write-examples.ts COUNT > orders.jsonl
import { Random } from '../../../src/core/generate/sampler/random.ts'

const NAMES = [
  'Ada',
  'Boris',
  'Chen',
  'Dora',
  'Emil',
  'Fatima',
  'Goran',
  'Hana',
  'Ivo',
  'Jana',
  'Kofi',
  'Lena',
]
const DISHES = [
  'pizza',
  'soup',
  'curry',
  'salad',
  'burger',
  'pasta',
  'taco',
  'risotto',
  'pancake',
  'dumpling',
]
const PLACES = ['12 Mill Lane', '4 Harbour Road', '77 King Street', '9 Station Square', '31 Oak Avenue']
const NUMBERS = ['one', 'two', 'three', 'four', 'five', 'six']
const TIMES = ['noon', 'six', 'half past seven', 'eight', 'a quarter to nine']
const CLOCKS = ['12:00', '18:00', '19:30', '20:00', '20:45']
const OPENINGS = ['Hi, this is', 'Hello, my name is', 'Good evening,', "It's"]

/** COUNT conversations, as JSON lines; the same for the same seed. */
export function examples(count: number, seed = 1): string {
  const random = new Random(seed)
  const drawn = (length: number) => Math.floor(random.next() * length)
  const one = <Item>(items: readonly Item[]): Item => items[drawn(items.length)]!
  const line = () => {
    const [name, dish, place] = [one(NAMES), one(DISHES), one(PLACES)]
    const amount = drawn(NUMBERS.length)
    const time = drawn(TIMES.length)
    const food = amount === 0 ? dish : `${dish}s`
    const wish = one(['could I get', 'I would like', 'please bring', 'we need'])
    const asked = `${one(OPENINGS)} ${name}, ${wish} ${NUMBERS[amount]} ${food} to ${place} at ${TIMES[time]}.`
    const answer = `#${name.toUpperCase()}|${amount + 1}x${dish}|${place}|${CLOCKS[time]}`
    return JSON.stringify({
      messages: [
        { role: 'user', content: asked },
        { role: 'assistant', content: answer },
      ],
    })
  }
  return `${Array.from({ length: count }, line).join('\n')}\n`
}

if (import.meta.main) process.stdout.write(examples(Number(process.argv[2] ?? 200)))
