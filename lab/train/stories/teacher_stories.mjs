// Makes a small story model tell stories on this engine. In: a model file, a count and a first seed. Out: a
// JSONL file of stories that end by themselves and keep their hero, one {"text", "hero", "thing", "seed"} a
// line.
//
// npx node lab/train/stories/teacher_stories.mjs --model stories15M-f16.gguf --out stories.jsonl --stories
// 1500
//   --seed 1000
import { createWriteStream, renameSync } from 'node:fs'
import { Command } from 'commander'
import { openEngine } from '../../../src/tools/cli/command-engine.ts'

const args = new Command('teacher_stories')
  .requiredOption('--model <file>')
  .requiredOption('--out <file>')
  .option('--stories <n>', '', Number, 1500)
  .option('--seed <n>', '', Number, 1000)
  .option('--minutes <n>', '', Number, 12)
  .parse()
  .opts()

const NAMES = {
  he: ['Pip', 'Max', 'Ben', 'Tom', 'Leo', 'Finn', 'Toby', 'Jack', 'Oscar', 'Milo', 'Sam', 'Tim', 'Teddy', 'Bobo'],
  she: ['Mia', 'Lily', 'Lucy', 'Anna', 'Ella', 'Rosie', 'Ruby', 'Molly', 'Zoe', 'Daisy', 'Nina', 'Bella', 'Kitty'],
}
const KINDS = ['rabbit', 'mouse', 'bear', 'fox', 'cat', 'dog', 'frog', 'duck', 'bird', 'squirrel', 'turtle', 'pig']
const KINDS_RARE = ['hedgehog', 'dragon', 'robot', 'bee', 'owl', 'lion', 'horse', 'fish', 'monkey', 'elephant']
const CHILD = { he: 'boy', she: 'girl' }
const TRAITS = ['small', 'brave', 'kind', 'curious', 'shy', 'happy', 'clever', 'sleepy', 'lonely', 'funny']
const THINGS = [
  'red ball', 'blue hat', 'little boat', 'yellow kite', 'soft blanket', 'shiny key', 'green balloon', 'old book',
  'toy train', 'big drum', 'golden bell', 'warm scarf', 'sweet apple', 'round stone', 'tiny lamp', 'pink cup',
  'wooden box', 'silver spoon', 'honey jar', 'new bike', 'toy car', 'red umbrella', 'magic pencil', 'small flute',
  'basket of berries', 'paper plane', 'white feather', 'pretty shell', 'carrot', 'cookie', 'puzzle', 'flower',
]
const PLACES = ['forest', 'garden', 'park', 'village', 'meadow', 'farm', 'town', 'river', 'lake', 'hill', 'beach']
const WANTS = ['learn to swim', 'find a friend', 'fly high in the sky', 'bake a cake', 'build a house', 'see the sea',
  'go on an adventure', 'help someone', 'win a race', 'sing a song', 'find a treasure', 'grow a big flower']

/** The token that the model emits after a story. In its training text, this token separates stories. */
const BETWEEN_STORIES = 1

/** Random numbers in [0, 1) from an integer seed: mulberry32. */
function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

function opening(seed) {
  const next = random(seed)
  const pick = (list) => list[Math.floor(next() * list.length)]
  const pronoun = pick(['he', 'she'])
  const name = pick(NAMES[pronoun])
  const roll = next()
  const kind = roll < 0.35 ? CHILD[pronoun] : roll < 0.75 ? pick(KINDS) : pick(KINDS_RARE)
  const trait = pick(TRAITS)
  const thing = pick(THINGS)
const place = pick(PLACES)
const want = pick(WANTS)
  const a = (word) => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
  const text = pick([
    `Once upon a time, there was ${a(trait)} ${kind} named ${name}. ${name} had ${a(thing)}.`,
    `Once upon a time, there was ${a(trait)} ${kind} named ${name}. One day, ${name} found ${a(thing)} near the ${place}.`,
    `Once upon a time, there was ${a(trait)} ${kind} named ${name}. ${name} wanted to ${want}.`,
    `One day, ${a(trait)} ${kind} named ${name} went to the ${place}. There ${pronoun} saw ${a(thing)}.`,
    `${name} was ${a(trait)} ${kind}. ${pronoun === 'he' ? 'He' : 'She'} lived near the ${place} and wanted to ${want}.`,
  ])
  const used = text.includes(thing) ? { thing } : { want }
  return { text, name, kind, trait, pronoun, ...used, ...(text.includes(`the ${place}`) ? { place } : {}) }
}

const engine = await openEngine(args.model, { threads: 1, context: 256 }, new AbortController().signal)
const ends = performance.now() + args.minutes * 60_000
const partial = `${args.out}.part`
const file = createWriteStream(partial)
let kept = 0
let told = 0
for (let seed = args.seed; kept < args.stories && performance.now() < ends; seed++) {
  const { text: start, ...facts } = opening(seed)
  const options = { temperature: 0.8, topP: 0.95, seed, maxTokens: 230, stop: ['Once upon a time'], logprobs: 0 }
  const tokens = (await engine.complete(start, options).result).logprobs ?? []
  told++
  const end = tokens.findIndex(({ id }) => id === BETWEEN_STORIES)
  const text = tokens.slice(0, Math.max(end, 0)).map((token) => token.text)
  const story = (start + text.join('')).trim()
  const names = story.split(facts.name).length - 1
  const last = story.slice(-story.length / 3)
  if (end < 0 || names < 3 || !last.includes(facts.name) || !/[.!?"]$/.test(story)) continue
  if (facts.thing && story.split(facts.thing.split(' ').at(-1)).length < 3) continue
  file.write(`${JSON.stringify({ text: story, ...facts, seed })}\n`)
  kept++
}
await new Promise((resolve) => file.end(resolve))
renameSync(partial, args.out)
console.log(`kept ${kept} of ${told} stories`)
await engine[Symbol.asyncDispose]()
