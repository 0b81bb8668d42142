// Misuse of every entry. In: the installed package. Out: a program in which each marked line does not
// compile.
import { Engine, HalfbyteError, type LoadProgress, type Session } from 'halfbyte'
import { createHalfbyte } from 'halfbyte/ai-sdk'
import { openai, openaiFetch } from 'halfbyte/openai'
import { promptApi } from 'halfbyte/prompt-api'
import { loadForTabs } from 'halfbyte/tabs'
import type { HalfbyteChat } from 'halfbyte/widget'

export async function misuse(engine: Engine, session: Session, widget: HalfbyteChat): Promise<void> {
  // @ts-expect-error a model is needed
  await Engine.load()
  // @ts-expect-error there is no such option
  await Engine.load('x', { colour: 1 })
  // @ts-expect-error threads are a number or auto
  await Engine.load('x', { threads: 'many' })
  // @ts-expect-error there is no such pool
  await Engine.load('x', { pool: 'swimming' })
  // @ts-expect-error engines are loaded
  new Engine()
  // @ts-expect-error a message is text or messages
  session.send(5)
  // @ts-expect-error a temperature is a number
  session.send('x', { temperature: 'hot' })
  // @ts-expect-error there is no such option
  session.send('x', { max_tokens: 5 })
  // @ts-expect-error a role is one of four
  session.setMessages([{ role: 'wizard', content: 'x' }])
  // @ts-expect-error the reply is not text before it has ended
  session.send('x').text().length
  // @ts-expect-error an overflow is shift or error
  engine.createSession({ overflow: 'drop' })
  // @ts-expect-error codes are a closed list
  new HalfbyteError('oops', 'x')
  // @ts-expect-error a request needs messages
  await openai(engine).chat.completions.create({ stream: true })
  // @ts-expect-error a stream has no choices of its own
  ;(await openai(engine).chat.completions.create({ messages: [], stream: true })).choices
  // @ts-expect-error a complete reply is not a stream
  for await (const _ of await openai(engine).chat.completions.create({ messages: [] })) break
  // @ts-expect-error an engine is needed
  openaiFetch()
  // @ts-expect-error a model is needed
  createHalfbyte({})
  // @ts-expect-error the SDK's versions are 5, 6 and 7
  createHalfbyte({ engine, sdk: 4 })
  // @ts-expect-error a load function is needed
  promptApi(engine)
  // @ts-expect-error there is no such mode
  await promptApi(async () => engine).create({ samplingMode: 'wild' })
  // @ts-expect-error a model is needed
  await loadForTabs()
  // @ts-expect-error a tool has a function
  widget.tools = [{ name: 'now' }]
  // @ts-expect-error an error has a code and a message
  widget.addEventListener('halfbyte-error', ({ detail }) => detail.reason)
}

export function narrowed(event: LoadProgress): number {
  // @ts-expect-error only a download has bytes
  return event.loaded
}
