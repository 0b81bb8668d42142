'use client'
import { useState } from 'react'
import { useChat } from '../use-chat.js'

export function Chat() {
  const { reply, status, error, isBusy, send, stop } = useChat()
  const [question, setQuestion] = useState('Tell me a story about a cat.')

  function submit(event) {
    event.preventDefault()
    send(question)
  }

  return (
    <form onSubmit={submit}>
      <label>
        Question <input value={question} onChange={({ target }) => setQuestion(target.value)} required />
      </label>
      {isBusy ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit">Send</button>
      )}
      <p role="status">{status}</p>
      {error !== '' && <p role="alert">{error}</p>}
      <p id="out" aria-live="polite" aria-busy={isBusy}>
        {reply}
      </p>
    </form>
  )
}
