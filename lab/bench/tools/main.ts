// npm run bench:tools sends a model ordinary messages and ones that need a tool: without tools, with tools
// offered, and with a forced call before the answer. It prints counts and writes answers to a JSON file.
import { openAsBlob } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Command } from 'commander'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { GenerateOptions } from '../../../src/engine/api/types.ts'
import { exactAnswer } from '../../../src/ui/assist/exact/exact-answer.ts'
import { assistTools } from '../../../src/ui/assist/tools/assist-tools.ts'
import { chooseCall, withResult } from '../../../src/ui/assist/tools/choose-call.ts'
import { needsTool } from '../../../src/ui/assist/tools/needs-tool.ts'
import { openEngine } from '../../../test/conformance/testing/node-engine.ts'
import { HELD_OUT, NEEDING, NOW, ORDINARY } from './messages.ts'

process.env['TZ'] = 'UTC'
const options = new Command('bench:tools')
  .requiredOption('--model <path>', 'a GGUF file, or a folder of safetensors')
  .option('--ways <list>', 'of none, offered, forced', 'none,offered,forced')
  .option('--held', 'send only the messages written after the rules')
  .option('--tokens <n>', 'longest answer', Number, 120)
  .option('--threads <n>', 'threads', Number, 2)
  .option('--json <file>', 'where the answers go', 'build/bench/tools.json')
  .parse()
  .opts<{ model: string; ways: string; held?: true; tokens: number; threads: number; json: string }>()

type Way = 'none' | 'offered' | 'forced'
interface Said {
  readonly way: Way
  readonly message: string
  readonly calls: readonly string[]
  readonly answer: string
  readonly seconds: number
  readonly isRight?: boolean
}

const TOOLS = assistTools({ now: () => NOW })
const GREEDY: GenerateOptions = { temperature: 0, maxTokens: options.tokens }

async function offered(engine: Engine, message: string, withTools: boolean) {
  const session = engine.createSession()
  const { steps = [], text } = await session.send(message, { ...GREEDY, ...(withTools && { tools: TOOLS }) })
    .result
  await session.dispose()
  const runs = steps.flatMap(({ toolRuns }) => toolRuns)
  return {
    calls: runs.map(({ name, arguments: given, result }) => `${name} ${JSON.stringify(given)} -> ${result}`),
    answer: withTools ? (steps.at(-1)?.text ?? text) : text,
  }
}

async function forced(engine: Engine, message: string) {
  const call = needsTool(message) ? await chooseCall(engine, message, { tools: TOOLS }) : undefined
  const tool = TOOLS.find(({ name }) => name === call?.name)
  if (call === undefined || tool === undefined)
    return { ...(await offered(engine, message, false)), calls: [] }
  const said = `${call.name} ${JSON.stringify(call.arguments)}`
  try {
    const result = tool.execute(call.arguments)
    const told = withResult(message, call, result)
    return { ...(await offered(engine, told, false)), calls: [`${said} -> ${result}`] }
  } catch (error) {
    return { ...(await offered(engine, message, false)), calls: [`${said} -> error: ${error}`] }
  }
}

async function filesOf(path: string): Promise<readonly File[]> {
  if (path.endsWith('.gguf')) return [new File([await openAsBlob(path)], basename(path))]
  const names = await readdir(path)
  return Promise.all(names.map(async (name) => new File([await openAsBlob(join(path, name))], name)))
}

for (const [message] of [...NEEDING, ...HELD_OUT])
  if (exactAnswer(message, { now: NOW }) !== undefined)
    throw new Error(`the page itself answers "${message}"`)
const gate = (messages: readonly string[]) => messages.filter(needsTool).length
console.log(
  `needsTool: ${gate(NEEDING.map(([message]) => message))} of ${NEEDING.length} that need one, ${gate(ORDINARY)} of ${ORDINARY.length} ordinary`,
)

const engine = await openEngine(await filesOf(options.model), {
  threads: options.threads,
  contextLength: 2048,
})
const said: Said[] = []
for (const way of options.ways.split(',') as Way[]) {
  const all = options.held ? HELD_OUT : [...ORDINARY.map((message) => [message] as const), ...NEEDING]
  for (const [message, right] of all) {
    const begin = performance.now()
    const { calls, answer } =
      way === 'forced' ? await forced(engine, message) : await offered(engine, message, way === 'offered')
    const seconds = (performance.now() - begin) / 1000
    said.push({ way, message, calls, answer, seconds, ...(right && { isRight: right.test(answer) }) })
    console.error(
      `${way} ${seconds.toFixed(1)} s ${right?.test(answer) ?? ''} ${message} | ${calls.join('; ')} | ${JSON.stringify(answer.slice(0, 160))}`,
    )
    await mkdir(dirname(options.json), { recursive: true })
    await writeFile(options.json, `${JSON.stringify(said, undefined, 1)}\n`)
  }
  const needing = said.filter((each) => each.way === way && each.isRight !== undefined)
  const ordinary = said.filter((each) => each.way === way && each.isRight === undefined)
  const seconds = (list: readonly Said[]) =>
    (list.reduce((sum, each) => sum + each.seconds, 0) / list.length).toFixed(1)
  console.log(
    `${way}: ${needing.filter(({ isRight }) => isRight).length} of ${needing.length} right, ${needing.filter(({ calls }) => calls.length > 0).length} with calls, ${seconds(needing)} s; ordinary: ${ordinary.filter(({ calls }) => calls.length > 0).length} of ${ordinary.length} with calls, ${seconds(ordinary)} s`,
  )
}
await engine.dispose()
