// The AI SDK's hook. In: an agent that uses the engine's provider, in the page. Out: what a component shows.
import { useChat } from '@ai-sdk/react'
import { DirectChatTransport, ToolLoopAgent } from 'ai'
import { createHalfbyte } from 'halfbyte/ai-sdk'
import { createElement, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { engine, PROMPT, serve } from './engine.js'

const agent = new ToolLoopAgent({
  model: createHalfbyte({ engine })(),
  temperature: 0,
  maxOutputTokens: 24,
})
const transport = new DirectChatTransport({ agent })

function Chat({ onEnd }) {
  const { messages, sendMessage, status, error } = useChat({ transport })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the question is sent once
  useEffect(() => {
    void sendMessage({ text: PROMPT })
  }, [])
  useEffect(() => {
    if (status === 'error') onEnd({ problem: error.message })
    const answer = messages.at(-1)
    if (status === 'ready' && answer?.role === 'assistant') onEnd({ roles: messages.map(({ role }) => role) })
  }, [status, messages, error, onEnd])
  const textOf = ({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return messages.map((message) => createElement('p', { key: message.id }, textOf(message)))
}

serve(async () => {
  const place = document.body.appendChild(document.createElement('main'))
  const root = createRoot(place)
  const ended = await new Promise((onEnd) => root.render(createElement(Chat, { onEnd })))
  const shown = [...place.querySelectorAll('p')].map(({ textContent }) => textContent)
  return { question: shown[0], text: shown[1], ...ended }
})
