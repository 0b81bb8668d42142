// Deep Chat. In: the engine behind its handler, as in the guide. Out: what its element shows.
import 'deep-chat'
import { openai } from 'halfbyte/openai'
import { engine, PROMPT, serve } from './engine.js'

serve(async () => {
  const client = openai(engine)
  const chat = document.createElement('deep-chat')
  chat.stream = true
  chat.connect = {
    stream: true,
    async handler({ messages }, signals) {
      try {
        signals.onOpen()
        const stream = await client.chat.completions.create({
          messages: messages.map(({ role, text }) => ({
            role: role === 'ai' ? 'assistant' : role,
            content: text,
          })),
          temperature: 0,
          max_completion_tokens: 24,
          stream: true,
        })
        for await (const { choices } of stream) {
          const text = choices[0]?.delta.content
          if (text) signals.onResponse({ text })
        }
        signals.onClose()
      } catch (error) {
        signals.onResponse({ error: error.message })
      }
    },
  }
  document.body.append(chat)
  await new Promise((resolve) => {
    chat.onComponentRender = resolve
  })
  chat.submitUserMessage({ text: PROMPT })
  const shown = () =>
    chat
      .getMessages()
      .filter(({ role }) => role === 'ai')
      .map(({ text }) => text)
      .join('')
  let text = ''
  for (let still = 0; still < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    still = shown() === text && text !== '' ? still + 1 : 0
    text = shown()
  }
  return { text }
})
