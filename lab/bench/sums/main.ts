// Gives the chat page's default model sums to solve, with the page's own prompts and tools, and counts the
// right answers.
//
// npx node lab/bench/sums/main.ts [--seeds 1,2,3]
import { Command } from 'commander'
import { speakAnswer } from '../../../demo/src/conversation/answer.ts'
import { Speaker } from '../../../demo/src/conversation/speech/speaker.ts'
import { newConversation, type StoredMessage } from '../../../demo/src/conversation/store/conversations.ts'
import { DEFAULT_SETTINGS } from '../../../demo/src/shell/settings.ts'
import { EXACT_KV } from '../../../src/core/graph/ir.ts'
import { openEngine } from '../../../src/tools/cli/command-engine.ts'
import { SUMS, verdictOf } from './sums.ts'

const command = new Command('sums')
  .option('--seeds <value>', 'seeds, with commas', '1')
  .option('--model <value>', 'model', 'demo/models/halfbyte-stories.hbm')
  .parse()
const values = command.opts<{
  readonly seeds: string
  readonly model: string
}>()

const never = new AbortController().signal
const engine = await openEngine(
  values.model,
  { threads: 1, build: 'auto', weights: 'auto', kv: EXACT_KV },
  never,
)
const counts = { right: 0, wrong: 0, refused: 0 }
for (const seed of values.seeds.split(',').map(Number)) {
  for (const { turns, result } of SUMS) {
    const speaker = new Speaker(engine, { usesTools: true, isStoryteller: false, processors: [] })
    let messages: readonly StoredMessage[] = []
    for (const question of turns) {
      messages = [...messages, { role: 'user', content: question }]
      const said = await speakAnswer(
        speaker,
        { ...newConversation(), messages },
        undefined,
        { ...DEFAULT_SETTINGS, seed },
        never,
        {
          grow: () => undefined,
          room: () => undefined,
          measured: () => undefined,
          failed: (error) => console.error(error),
        },
      )
      messages = [...messages, { role: 'assistant', ...said }]
    }
    const { content = '', used = [] } = messages.at(-1) ?? {}
    const verdict = verdictOf(content, result)
    counts[verdict] += 1
    const calls = used.map(({ arguments: given, result: made }) => `${JSON.stringify(given)} -> ${made}`)
    console.log(`${verdict.padEnd(7)} ${turns.join(' / ')} | ${calls.join('; ')} | ${content.trim()}`)
  }
}
console.log(JSON.stringify(counts))
await engine[Symbol.asyncDispose]()
