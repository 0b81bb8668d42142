// Rich text. In: an element that renders Markdown. Out: its rendering of code and formulas, whose libraries
// load on first use.
import type { ReactiveController, ReactiveControllerHost } from 'lit'
import type { RichForms } from '../../../../src/ui/chat/markdown/render-markdown.ts'

const libraries = {
  code: async (): Promise<RichForms> => {
    const { highlight } = await import('./highlight.ts')
    return { code: highlight }
  },
  formula: async (): Promise<RichForms> => {
    const { formula } = await import('./formulas.ts')
    return { formula }
  },
}

/** What has been loaded so far, for all messages of the page. */
let loaded: RichForms = {}
const asked = new Set<keyof RichForms>()
const hosts = new Set<ReactiveControllerHost>()

/** Without a network, the texts stay plain, and the next one retries. */
async function load(name: keyof RichForms): Promise<void> {
  if (asked.has(name)) return
  asked.add(name)
  try {
    const more = await libraries[name]()
    loaded = { ...loaded, ...more }
  } catch {
    asked.delete(name)
    return
  }
  forms = withLoading()
  for (const host of hosts) host.requestUpdate()
}

const withLoading = (): RichForms => ({
  code(text, language) {
    if (language !== '') void load('code')
    return loaded.code?.(text, language)
  },
  formula(tex, isDisplay) {
    void load('formula')
    return loaded.formula?.(tex, isDisplay)
  },
})

/** A new object once a library has loaded, so that everything is rendered again. */
let forms = withLoading()

/** Re-renders its host when a library has loaded. */
export class RichText implements ReactiveController {
  readonly #host: ReactiveControllerHost

  constructor(host: ReactiveControllerHost) {
    this.#host = host
    host.addController(this)
  }

  get forms(): RichForms {
    return forms
  }

  hostConnected(): void {
    hosts.add(this.#host)
  }

  hostDisconnected(): void {
    hosts.delete(this.#host)
  }
}
