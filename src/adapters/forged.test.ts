// Forged arguments of adapters. In: calls of other APIs, with invalid values anywhere in them. Out: a result
// or the API's own kind of error, and an engine that keeps working.
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../core/base/errors.ts'
import type { Engine } from '../engine/api/engine.ts'
import { holds, methodOf } from '../engine/api/testing/forged.ts'
import { errorOf, GREEDY, openToy } from '../engine/api/testing/toy-engine.ts'
import { createHalfbyte } from './ai-sdk.ts'
import { openai, openaiFetch } from './openai.ts'
import { type LocalLanguageModel, promptApi } from './prompt-api.ts'

const signal = new AbortController().signal
const tool = { name: 'f', description: 'does', parameters: { type: 'object', properties: {} } }
const silent = { onWarning: () => undefined }
const goesOn = async (engine: Engine) =>
  expect(await engine.createSession().send('still here', GREEDY).text()).toBe('You said still here')

const sampling = {
  temperature: 0,
  stop: ['x'],
  seed: 1,
  n: 1,
  logit_bias: { 3: 1 },
  top_p: 0.9,
  top_k: 3,
  min_p: 0.1,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  halfbyte: { minP: 0.1, compact: true },
}
const chat = {
  messages: [{ role: 'user', content: 'a' }],
  model: 'toy',
  max_tokens: 2,
  ...sampling,
  response_format: { type: 'text' },
  logprobs: true,
  top_logprobs: 1,
  parallel_tool_calls: false,
  tools: [{ type: 'function', function: tool }],
  tool_choice: 'auto',
  chat_template_kwargs: { a: 1 },
  reasoning_effort: 'low',
  stream_options: { include_usage: true },
}
const called = {
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', content: '2', tool_call_id: 'a' },
  ],
  max_completion_tokens: 2,
  temperature: 0,
  tools: [{ type: 'function', function: tool }],
}

const responses = {
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'a', output: '2' },
  ],
  instructions: 's',
  max_output_tokens: 2,
  temperature: 0,
  top_logprobs: 1,
  tool_choice: 'auto',
  include: ['message.output_text.logprobs'],
  metadata: { a: 'b' },
  reasoning: { effort: 'low' },
  text: { format: { type: 'json_schema', name: 'n', schema: { type: 'string', maxLength: 2 } } },
  tools: [{ type: 'function', ...tool }],
}

/** A bug of ours has status 500, or rejects with something other than a fetch error. */
async function fetchEnd(act: () => unknown): Promise<string> {
  try {
    const response = (await act()) as Response
    const text = await response.text()
    if (response.status === 200) return /"code":"internal"/.test(text) ? text : 'result'
    const { error } = JSON.parse(text)
    return response.status >= 400 && response.status < 500 && error.message !== '' ? 'refused' : text
  } catch (error) {
    return error instanceof TypeError || error instanceof DOMException ? 'no request' : `untyped: ${error}`
  }
}

describe('of OpenAI’s client', () => {
  test.each([
    ['a question', chat],
    ['a conversation', called],
  ])('%s, whole and as a stream', async (_, params) => {
    const engine = await openToy()
    const create = methodOf(openai(engine, silent).chat.completions, 'create')
    await holds([params, { signal }], create)
    await holds([{ ...params, stream: true }], async (...args) => {
      const answer = (await create(...args)) as AsyncIterable<unknown>
      if (Symbol.asyncIterator in answer) for await (const _ of answer);
    })
    await goesOn(engine)
  })

  test('more replies than OpenAI allows are rejected at once', async () => {
    const { completions } = openai(await openToy()).chat
    expect(await errorOf(completions.create({ ...chat, n: 1e9 } as never))).toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('from 1 to 128'),
    })
  })
})

describe('of openaiFetch', () => {
  const address = (route: string) => `http://page/v1/${route}`

  test.each<[string, object]>([
    ['chat/completions', chat],
    ['chat/completions', { ...chat, stream: true }],
    ['chat/completions', called],
    ['completions', { prompt: ['a', 'b'], max_tokens: 2, echo: true, logprobs: 1, ...sampling }],
    ['completions', { prompt: 'a', max_tokens: 2, stream: true, stream_options: { include_usage: true } }],
    ['responses', responses],
    ['responses', { ...responses, stream: true, input: 'a' }],
    ['embeddings', { input: ['a', 'b'], encoding_format: 'base64', dimensions: 3 }],
  ])('a body for %s', async (route, params) => {
    const engine = await openToy()
    const post = openaiFetch(engine, silent)
    const act = (body: unknown) => {
      let text: string | undefined
      try {
        text = JSON.stringify(body)
      } catch {
        // What JSON cannot express never reaches a server.
      }
      return post(address(route), {
        method: 'POST',
        body: text ?? '{"__proto__": {"a": 1}, "prompt": 1e999}',
      })
    }
    await holds([params], act, { end: fetchEnd, allowed: /^(result|refused)$/ })
    await goesOn(engine)
  })

  test('a request', async () => {
    const engine = await openToy()
    const init = { method: 'POST', body: JSON.stringify(chat), headers: { a: 'b' }, signal }
    await holds(
      [address('chat/completions'), init],
      methodOf({ post: openaiFetch(engine, silent) }, 'post'),
      {
        end: fetchEnd,
        allowed: /^(result|refused|no request)$/,
      },
    )
    await goesOn(engine)
  })
})

describe('of the AI SDK', () => {
  const call = {
    prompt: [
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'b' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: { a: 1 } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'f', output: { type: 'json', value: [1] } },
        ],
      },
    ],
    maxOutputTokens: 2,
    temperature: 0,
    stopSequences: ['x'],
    topK: 3,
    seed: 1,
    abortSignal: signal,
    topP: 0.9,
    presencePenalty: 0.1,
    frequencyPenalty: 0.1,
    responseFormat: { type: 'text' },
    tools: [{ type: 'function', name: 'f', inputSchema: tool.parameters }],
    toolChoice: { type: 'auto' },
    providerOptions: { halfbyte: { minP: 0.1, templateArguments: { a: 1 } } },
  }
  const values = { values: ['a', 'b'], dimensions: 3, abortSignal: signal }
  const embedding = { ...values, providerOptions: { halfbyte: { pooling: 'last' } } }

  test.each([5, 6, 7] as const)('version %d', async (sdk) => {
    const engine = await openToy()
    const provider = createHalfbyte({ engine, sdk: sdk as 7 })
    const model = provider.languageModel()
    await holds([call], methodOf(model, 'doGenerate'))
    await holds([call], async (...args) => {
      const { stream } = (await methodOf(model, 'doStream')(...args)) as { stream: ReadableStream }
      for await (const part of stream) if (part.type === 'error') throw part.error
    })
    const name = sdk === 5 ? 'textEmbeddingModel' : 'embeddingModel'
    await holds([embedding], methodOf(methodOf(provider, name)(), 'doEmbed'))
    await goesOn(engine)
  })

  test('a provider', async () => {
    const engine = await openToy()
    const act = async (...args: unknown[]) => {
      const model = methodOf({ createHalfbyte }, 'createHalfbyte')(...args)
      const asked = { prompt: call.prompt.slice(0, 2), maxOutputTokens: 1 }
      await methodOf(methodOf(model, 'languageModel')(), 'doGenerate')(asked)
    }
    // A page's function may throw anything.
    await holds([{ engine: async () => engine, sdk: 7 }], act, {
      allowed: /^(result|[a-z-]+|untyped: TypeError: Class con.*)$/s,
    })
  })
})

describe('of the Prompt API', () => {
  const said = [
    { role: 'system', content: 's' },
    { role: 'user', content: [{ type: 'text', value: 'a' }] },
    { role: 'assistant', content: 'b' },
  ]
  const tools = [{ name: 'f', description: 'does', inputSchema: tool.parameters, execute: async () => 'x' }]
  const created = {
    initialPrompts: said,
    temperature: 0,
    topK: 1,
    signal,
    tools,
    monitor: () => undefined,
    expectedInputs: [{ type: 'text', languages: ['en'] }],
    expectedOutputs: [{ type: 'text' }],
  }
  const prefixed = [...said.slice(1), { role: 'assistant', content: 'Y', prefix: true }]
  const asked = [prefixed, { signal, responseConstraint: { type: 'string', maxLength: 2 } }]

  /** The errors that browsers throw for a page's mistakes; `unsupported` would be our own. */
  async function promptEnd(act: () => unknown): Promise<string> {
    try {
      await act()
      return 'result'
    } catch (error) {
      if (error instanceof DOMException || error instanceof TypeError || error instanceof RangeError)
        return error.message.startsWith('a trap') ? 'untyped trap' : 'refused'
      return isHalfbyteError(error) ? `ours: ${error.code} ${error.message}` : `untyped: ${String(error)}`
    }
  }
  const browsers = { end: promptEnd, allowed: /^(result|refused)$/ }

  test('create and availability', async () => {
    const engine = await openToy()
    const model = promptApi(async () => engine)
    await holds([created], methodOf(model, 'availability'), browsers)
    await holds(
      [created],
      async (...args) => {
        const session = (await methodOf(model, 'create')(...args)) as LocalLanguageModel
        try {
          await session.prompt('a')
        } finally {
          session.destroy()
        }
      },
      browsers,
    )
    await goesOn(engine)
  })

  test.each<[string, readonly unknown[]]>([
    ['prompt', asked],
    ['prompt', ['a', { responseConstraint: /[ab]/ }]],
    ['promptStreaming', asked],
    ['append', [said.slice(1), { signal }]],
    ['measureContextUsage', [said, { signal }]],
    ['measureInputUsage', [prefixed, { signal }]],
    ['clone', [{ signal }]],
  ])('%s', async (name, valid) => {
    const engine = await openToy()
    const model = promptApi(async () => engine)
    await holds(
      valid,
      async (...args) => {
        const session = await model.create({ samplingMode: 'most-predictable' })
        try {
          const answer = methodOf(session, name)(...args)
          if (answer instanceof ReadableStream) for await (const _ of answer);
          else await answer
        } finally {
          session.destroy()
        }
      },
      browsers,
    )
    await goesOn(engine)
  })
})
