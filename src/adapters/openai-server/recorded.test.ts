// Requests of applications that use no client library, as in their sources (test/fixtures/clients). In: each
// request, on a toy model. Out: the answer as the application reads it, and no warnings.
import { expect, test } from 'vitest'
import { fixtureText } from '../../../test/helpers/fixture.ts'
import { openToy } from '../../engine/api/testing/toy-engine.ts'
import { openaiFetch } from '../openai.ts'
import type { EmbeddingList } from '../openai-types.ts'

interface Recorded {
  readonly client: string
  readonly requests: readonly {
    readonly name: string
    readonly path: string
    readonly headers?: Record<string, string>
    readonly body?: { readonly stream?: boolean }
    /** What the application reads from the answer. */
    readonly answer: object
  }[]
}

interface Said {
  readonly content?: string
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

/** A chat completion, a text completion, or a chunk of one. */
interface Part {
  readonly choices?: readonly { readonly message?: Said; readonly delta?: Said; readonly text?: string }[]
  readonly usage?: object
}

/** The events of a stream, which ends as OpenAI's does. */
async function eventsOf(response: Response): Promise<Part[]> {
  const events = (await response.text()).split('\n\n').filter((event) => event !== '')
  expect(events.pop()).toBe('data: [DONE]')
  return events.map((event) => JSON.parse(/^data: (.*)$/.exec(event)![1]!))
}

async function read(response: Response, isStream: boolean) {
  const parts: readonly Part[] = isStream ? await eventsOf(response) : [(await response.json()) as Part]
  const seen = { text: '', calls: [] as object[], hasUsage: false }
  for (const { choices = [], usage } of parts) {
    seen.hasUsage ||= usage !== undefined
    for (const { delta, message = delta, text } of choices) {
      seen.text += text ?? message?.content ?? ''
      for (const { function: call } of message?.tool_calls ?? [])
        seen.calls.push({ name: call.name, arguments: JSON.parse(call.arguments) })
    }
  }
  return {
    text: seen.text,
    ...(seen.calls.length > 0 && { calls: seen.calls }),
    ...(seen.hasUsage && { hasUsage: true }),
  }
}

async function readAnswer(response: Response, path: string, isStream: boolean): Promise<object> {
  if (path === '/v1/models')
    return { models: (await response.json()).data.map(({ id }: { id: string }) => id) }
  if (path !== '/v1/embeddings') return read(response, isStream)
  const { data } = (await response.json()) as EmbeddingList
  expect(data.every(({ embedding }) => Array.isArray(embedding) && embedding.length > 0)).toBe(true)
  return { vectors: data.length }
}

for (const file of ['continue', 'open-webui']) {
  const { client, requests }: Recorded = JSON.parse(fixtureText(`clients/${file}.json`))
  test.each(requests)(`${client}: $name`, async ({ path, headers, body, answer }) => {
    const warnings: string[] = []
    const post = openaiFetch(await openToy(), { onWarning: (sentence) => warnings.push(sentence) })
    const response = await post(`http://page${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    expect(response.status, await response.clone().text()).toBe(200)
    expect(await readAnswer(response, path, body?.stream === true)).toEqual(answer)
    expect(warnings).toEqual([])
  })
}
