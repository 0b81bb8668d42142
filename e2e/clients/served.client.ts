// Unmodified Python clients. In: `halfbyte serve` from the packed package, with the embedded model; the
// programs in python/. Out: whether each client returns the same as a plain request.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@playwright/test'
import { packedTest } from '../packed/test.ts'

const runFile = promisify(execFile)

interface Served {
  readonly address: string
  readonly model: string
  /** The model's answer to the question that all clients ask. */
  readonly own: string
}

const PROMPT = 'Tell me a story about a cat.'

async function addressOf(server: ChildProcess): Promise<Pick<Served, 'address' | 'model'>> {
  for await (const line of createInterface({ input: server.stdout! })) {
    const [, model, address] = /^(.*) answers at (\S+)$/.exec(line) ?? []
    if (model !== undefined && address !== undefined) return { model, address }
  }
  throw new Error('halfbyte serve ended before it answered')
}

async function ownText(address: string): Promise<string> {
  const body = { messages: [{ role: 'user', content: PROMPT }], temperature: 0, max_tokens: 24 }
  const response = await fetch(`${address}/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] }
  return choices[0].message.content
}

const test = packedTest.extend<object, { served: Served }>({
  served: [
    async ({ packed }, use) => {
      const command = join(packed.installed, 'dist/cli.js')
      const server = spawn(process.execPath, [command, 'serve', 'embedded', '--port', '0', '--quiet'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      try {
        const found = await addressOf(server)
        await use({ ...found, own: await ownText(found.address) })
      } finally {
        server.kill('SIGINT')
        await once(server, 'close')
      }
    },
    { scope: 'worker' },
  ],
})

const CAT = { name: expect.stringMatching(/^(?:Tom|Mia)$/), lives: 9 }
const CALLS = [['add', { a: 2, b: 3 }]]
const unsupported = (param: string) => [400, 'unsupported', param]

interface Client {
  readonly name: string
  readonly program: string
  /** The values that the client should return. */
  returns(served: Served): Readonly<Record<string, unknown>>
}

const CLIENTS: readonly Client[] = [
  {
    name: "OpenAI's Python library",
    program: 'openai_client.py',
    returns: ({ own, model }) => ({
      text: own,
      streamed: own,
      finish: 'length',
      isSameUsage: true,
      scored: [4, 3],
      object: CAT,
      call: CALLS[0],
      callFinish: 'tool_calls',
      kept: CAT,
      hasArgumentEvents: true,
      areCallsApart: true,
      read: ['Once upon a time', 'length', null],
      areRead: true,
      batch: [
        [4, 0],
        [3, 1],
      ],
      isContinued: true,
      vectors: [2, true, true],
      response: own,
      responseStatus: ['incomplete', 'response.created', 'response.incomplete'],
      responseObject: CAT,
      responseCall: CALLS[0],
      models: [model],
      errors: [
        unsupported('messages'),
        unsupported('temperature'),
        unsupported('prompt'),
        [400, 'context_length_exceeded', 'prompt'],
        [404, 'not_found', null],
      ],
    }),
  },
  {
    name: 'LangChain in Python',
    program: 'langchain_client.py',
    returns: ({ own }) => ({
      text: own,
      streamed: own,
      batch: [own, own],
      usage: 24,
      objects: [CAT, CAT],
      calls: CALLS,
      streamedCalls: CALLS,
      singleCalls: CALLS,
      response: own,
      completed: true,
      vectors: [2, true],
    }),
  },
  {
    name: 'LlamaIndex',
    program: 'llama_index_client.py',
    returns: ({ own }) => ({
      text: own,
      streamed: own,
      asked: own,
      isContinued: true,
      object: CAT,
      calls: CALLS,
      streamedCalls: CALLS,
      result: '5',
      vectors: [2, true],
    }),
  },
  {
    name: 'LiteLLM',
    program: 'litellm_client.py',
    returns: ({ own }) => ({
      text: own,
      streamed: own,
      awaited: own,
      usage: 24,
      calls: CALLS,
      streamedCalls: CALLS,
      hasUsage: true,
      object: CAT,
      scored: [null, true, true],
      vectors: [2, true],
      response: own,
      errors: ['ContextWindowExceededError', 'BadRequestError'],
    }),
  },
]

const { HALFBYTE_CLIENTS_PYTHON: python = '', HALFBYTE_CLIENTS_MISSING: missing } = process.env
test.skip(python === '', `skipped: ${missing || 'npm run test:clients installs the clients'}`)

for (const { name, program, returns } of CLIENTS) {
  test(`halfbyte serve answers ${name}, unmodified`, async ({ served }) => {
    const path = fileURLToPath(new URL(`python/${program}`, import.meta.url))
    const { stdout } = await runFile(python, [path, served.address, served.model])
    expect(served.own.length).toBeGreaterThan(20)
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toEqual(returns(served))
  })
}
