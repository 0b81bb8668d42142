import { onScopeDispose, ref } from 'vue'
import { loadEngine } from './engine.js'

/** A conversation that belongs to a component and ends with it. */
export function useChat() {
  const reply = ref('')
  const status = ref('')
  const error = ref('')
  const isBusy = ref(false)
  let session
  let controller

  onScopeDispose(() => {
    controller?.abort()
    session?.dispose()
  })

  async function send(question) {
    controller = new AbortController()
    const { signal } = controller
    reply.value = ''
    error.value = ''
    isBusy.value = true
    try {
      const engine = await loadEngine(({ phase, loaded, total }) => {
        status.value =
          phase === 'download' ? `Downloading: ${Math.round((100 * loaded) / total)} %` : 'Starting'
      })
      signal.throwIfAborted()
      session ??= engine.createSession()
      for await (const { text } of session.send(question, { signal, maxTokens: 200 })) {
        status.value = ''
        reply.value += text
      }
    } catch (reason) {
      if (!signal.aborted) error.value = reason.message
    } finally {
      status.value = ''
      isBusy.value = false
    }
  }

  return { reply, status, error, isBusy, send, stop: () => controller?.abort() }
}
