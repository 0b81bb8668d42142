// A consumer of every entry. In: the installed package. Out: a program that compiles under `strict`.
import {
  Engine,
  HalfbyteError,
  isHalfbyteError,
  type LoadProgress,
  SAMPLER_DEFAULTS,
  type Session,
} from 'halfbyte'
import { createHalfbyte } from 'halfbyte/ai-sdk'
import { openai, openaiFetch } from 'halfbyte/openai'
import { promptApi } from 'halfbyte/prompt-api'
import { loadForTabs } from 'halfbyte/tabs'
import { defined, ENGLISH, type HalfbyteChat, type WidgetTool } from 'halfbyte/widget'

export async function run(signal: AbortSignal): Promise<string> {
  const onProgress = (event: LoadProgress) => {
    if (event.phase === 'download') console.log(event.loaded, event.cached)
  }
  await using engine = await Engine.load({ repo: 'someone/model' }, { signal, onProgress, threads: 'auto' })
  const session: Session = engine.createSession({ system: 'Be brief.' })
  const reply = session.send('Hello', { temperature: 0, maxTokens: SAMPLER_DEFAULTS.topK })
  for await (const { text } of reply) console.log(text)
  const { usage } = await reply.result
  const messages = [{ role: 'user', content: 'Hello' }]
  const chunks = await openai(engine).chat.completions.create({ messages, stream: true }, { signal })
  for await (const { choices } of chunks) console.log(choices[0]?.delta.content ?? '')
  const listed: Response = await openaiFetch(engine)('http://page/v1/models', { signal })
  console.log(listed.status)
  const { content } = await createHalfbyte({ engine }).languageModel().doGenerate({ prompt: messages })
  const model = await promptApi(async () => engine).create({ samplingMode: 'creative' })
  const [part] = content
  console.log(part?.type === 'tool-call' ? part.toolName : part?.text, await model.prompt('Hello'))
  if (usage.promptTokens > 9) throw new HalfbyteError('internal', 'many')
  return engine
    .complete('x')
    .text()
    .catch((error: unknown) => (isHalfbyteError(error) ? error.code : ''))
}
export async function chat(engine: Engine): Promise<string> {
  await defined
  const widget: HalfbyteChat = document.createElement('halfbyte-chat')
  const tool: WidgetTool = {
    name: 'now',
    execute: (args, { signal }) => (signal.aborted ? args : Date.now()),
  }
  Object.assign(widget, { messages: { ...ENGLISH, send: 'Senden' } })
  widget.tools = [tool]
  const { steps = [] } = await engine.createSession().send('What time is it?', { tools: [tool], maxSteps: 2 })
    .result
  console.log(steps.flatMap(({ toolRuns }) => toolRuns.map(({ value, error }) => value ?? error)))
  widget.engine = engine
  widget.addEventListener('halfbyte-error', ({ detail }) => {
    const failure: HalfbyteError = detail
    console.log(failure.code)
  })
  widget.addEventListener('halfbyte-message', ({ detail }) => console.log(detail.content))
  return (await loadForTabs('model.gguf')).model.id
}
