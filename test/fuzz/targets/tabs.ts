// Target: messages between tabs. In: changed messages of the tabs' protocol, sent by an unknown tab or by
// the tabs themselves. Out: whether two tabs still answer, and typed errors.
import { givenPlace } from '../../../src/core/formats/names/named-files.ts'
import { Engine } from '../../../src/engine/api/engine.ts'
import { localHost } from '../../../src/engine/api/tabs/local-host.ts'
import { TABS_VERSION, type TabMessage } from '../../../src/engine/api/tabs/tab-messages.ts'
import { endingWith, TabService } from '../../../src/engine/api/tabs/tab-service.ts'
import { createService } from '../../../src/engine/service.ts'
import { toyModel } from '../../../src/engine/testing/toy-model.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import type { LoadRequest, WireFailure } from '../../../src/engine/wire/protocol.ts'
import { fromFailure } from '../../../src/engine/wire/wire-failure.ts'
import { textOf } from '../input.ts'
import { textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Target } from '../target.ts'

/** Inputs per pair of tabs. Limited, because requests from an unknown tab never end. */
const SITE_INPUTS = 200
const STRANGER = 'stranger'

export async function openTarget(): Promise<Target> {
  let inputs = 0
  let site = await openSite(inputs)
  return {
    draw(random) {
      const messages = Array.from({ length: random.few(4) }, () => {
        const good = random.pick(MESSAGES)
        return random.chance(0.1) ? good : mutateJson(random, good, MESSAGES)
      })
      return { messages: textOfTree(messages) }
    },
    async run(input) {
      if (++inputs % SITE_INPUTS === 0) {
        site.close()
        site = await openSite(inputs)
      }
      // Leaves out these characters, which make the toy model fail for its own tests.
      return site.hear(textOf(input, 'messages').replace(/\\u000[0-8]/g, ' '))
    },
  }
}

interface Site {
  hear(messages: string): Promise<string>
  close(): void
}

/** Two tabs that share an engine, and a third that only sends given messages. */
async function openSite(number: number): Promise<Site> {
  const name = `fuzz ${process.pid} ${number}`
  const channelName = `halfbyte tabs ${TABS_VERSION} ${name}`
  const channel = new BroadcastChannel(channelName)
  const ids = new Map<string, string>()
  let failures: WireFailure[] = []
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    const { type, from } = data
    if (type === 'leader') ids.set('$leader', from)
    if (type === 'call') ids.set('$follower', from)
    if (type === 'refused') failures.push(data.failure)
    if (type === 'report' && data.report.type === 'failed') failures.push(data.report.failure)
  }
  const open = async () => {
    const tab = new TabService(name, (onProgress, onDeath) =>
      localHost(localConnection(createService(async () => toyModel())), REQUEST, {
        onProgress,
        onDeath,
        onNeed: () => undefined,
      }),
    )
    return { tab, engine: await Engine.open(endingWith(localConnection(tab.service), tab), 'toy') }
  }
  const tabs = [await open(), await open()]
  const left = new AbortController()
  // A tab whose lock is free has ended, so its requests are dropped.
  void navigator.locks.request(
    `${channelName} ${STRANGER}`,
    () => new Promise((resolve) => left.signal.addEventListener('abort', resolve)),
  )
  const named = (id: unknown) => ids.get(id as string) ?? id
  return {
    async hear(messages) {
      failures = []
      for (const message of parsed(messages)) {
        const { from, to, type } = (message ?? {}) as Partial<TabMessage>
        // Tabs believe a tab that claims to lead, and send it requests until it has been silent for 10 s.
        if (type === 'leader' && from !== '$leader') continue
        const isNamed = typeof message === 'object' && message !== null && !Array.isArray(message)
        try {
          channel.postMessage(isNamed ? { ...message, from: named(from), to: named(to) } : message)
        } catch {
          // Nested too deeply for any tab to send.
        }
      }
      for (const { engine } of tabs) await engine.countTokens('hello')
      for (const failure of failures) {
        const error = fromFailure(failure)
        if ((error as { code?: string }).code === 'internal') throw error
      }
      return failures.length > 0 ? 'refused' : 'heard'
    },
    close() {
      left.abort()
      channel.close()
      for (const { tab } of tabs) tab.leave()
    },
  }
}

/** Returns undefined for messages that no tab could send. */
function parsed(messages: string): readonly unknown[] {
  try {
    const list: unknown = structuredClone(JSON.parse(messages))
    return Array.isArray(list) ? list : [list]
  } catch {
    return []
  }
}

const REQUEST: LoadRequest = {
  source: givenPlace('toy'),
  threads: 1,
  build: 'auto',
  weights: 'auto',
  cache: 'none',
  assets: {},
}

const PROMPT = { type: 'messages', messages: [{ role: 'user', content: 'hello' }] }
const SAVED = { system: 'be kind', messages: PROMPT.messages, contextUsed: 3 }
const FAILURE = { type: 'halfbyte', error: { code: 'disposed', message: 'gone', detail: {} } }
const TOOLS = [{ name: 'add', description: 'adds', parameters: { type: 'object', properties: {} } }]
const to = '$leader'
const call = (name: string, ...args: readonly unknown[]) => ({
  type: 'call',
  from: STRANGER,
  to,
  id: 1,
  name,
  args,
})
const generate = (request: object, id = 2) => ({ type: 'generate', from: STRANGER, to, id, request })
const command = (what: object) => ({ type: 'command', from: STRANGER, to, id: 2, command: what })
const answered = (what: object) => ({ from: '$leader', to: '$follower', id: 1, ...what })

const MESSAGES = [
  { type: 'who', from: STRANGER },
  { type: 'leader', from: '$leader' },
  { type: 'ping', from: STRANGER, to },
  { type: 'pong', from: '$leader', to: '$follower' },
  { type: 'progress', from: '$leader', progress: { phase: 'download', loaded: 5, total: 10, cached: false } },
  { type: 'progress', from: '$leader', progress: { phase: 'convert', done: 1, total: 2 } },
  call('load'),
  call('countTokens', PROMPT),
  call('countTokens', { type: 'text', text: 'hello' }),
  call('tokenize', 'hello'),
  call('detokenize', [104, 105]),
  call('score', 'hello', [' world', ' sea']),
  call('scoreTokens', 'hello', 2),
  call('scoreTokens', [104, 105], 0),
  call('countTokens', { type: 'ids', ids: [104, 105] }),
  call('embed', ['hello'], { pooling: 'last', normalize: false }),
  call('memory'),
  call('fork', 1, 2),
  call('save', 1, SAVED),
  call('store', 1, 'name', SAVED),
  call('restore', 1, 'name'),
  call('close', 1),
  { type: 'abort', from: STRANGER, to, id: 1 },
  generate({ session: 1, prompt: PROMPT, options: { maxTokens: 4, temperature: 0, seed: 1 } }),
  generate({
    prompt: { ...PROMPT, tools: TOOLS, prefix: 'Oh' },
    options: { stop: ['x'], logprobs: 2 },
    overflow: 'shift',
    keep: 4,
  }),
  generate({
    prompt: { type: 'text', text: 'hello' },
    options: { cfgScale: 2, logitBias: { 7: 1 }, bannedTokens: [1] },
  }),
  command({ type: 'credit', count: 1 }),
  command({ type: 'cancel' }),
  answered({ type: 'answer', value: 3 }),
  answered({ type: 'refused', failure: FAILURE }),
  answered({ type: 'report', report: { type: 'chunk', chunk: { text: 'a', tokens: 1 } } }),
  answered({ type: 'report', report: { type: 'failed', failure: FAILURE } }),
  answered({
    type: 'report',
    report: {
      type: 'end',
      contextUsed: 1,
      outcome: { text: 'a', tokens: [1], finishReason: 'stop', usage: {}, timings: {} },
    },
  }),
].map(treeOf)
