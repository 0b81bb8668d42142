import { useEffect, useRef, useState } from 'react'
import { loadEngine } from './engine.js'

/** A conversation that belongs to a component and ends with it. */
export function useChat() {
  const session = useRef()
  const controller = useRef()
  const [reply, setReply] = useState('')
  const [status, setStatus] = useState('')
  const [error, setError] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  useEffect(
    () => () => {
      controller.current?.abort()
      session.current?.dispose()
      session.current = undefined
    },
    [],
  )

  async function send(question) {
    controller.current = new AbortController()
    const { signal } = controller.current
    setReply('')
    setError('')
    setIsBusy(true)
    try {
      const engine = await loadEngine(({ phase, loaded, total }) => {
        setStatus(phase === 'download' ? `Downloading: ${Math.round((100 * loaded) / total)} %` : 'Starting')
      })
      signal.throwIfAborted()
      session.current ??= engine.createSession()
      for await (const { text } of session.current.send(question, { signal, maxTokens: 200 })) {
        setStatus('')
        setReply((reply) => reply + text)
      }
    } catch (error) {
      if (!signal.aborted) setError(error.message)
    } finally {
      setStatus('')
      setIsBusy(false)
    }
  }

  return { reply, status, error, isBusy, send, stop: () => controller.current?.abort() }
}
