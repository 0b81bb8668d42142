// The chat page's entry. In: nothing. Out: <chat-app> comes alive.
import './app.ts'
import { followVisualViewport } from './viewport.ts'

followVisualViewport()

// Where it is refused, the page works as it did before there were service workers.
if (import.meta.env.PROD) navigator.serviceWorker?.register('./sw.js').catch(() => undefined)
