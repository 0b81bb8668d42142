// Forged attributes and properties. In: everything that a page can set on the widget, with values that the
// types do not allow. Out: a typed error or the default, no script execution, and a widget that still works.

import { blocked } from '../policy.ts'
import { answersOf, chat, expect, MODEL, send, test } from './widget-site.ts'

const PROPERTIES = [
  'model',
  'system',
  'heading',
  'placeholder',
  'mode',
  'open',
  'theme',
  'autoload',
  'downloadBytes',
  'keep',
  'name',
  'share',
  'suggestions',
  'tools',
  'documents',
  'loadOptions',
  'generateOptions',
  'templateArguments',
  'messages',
  'engine',
]
const ATTRIBUTES = [
  'model',
  'system',
  'heading',
  'placeholder',
  'mode',
  'open',
  'theme',
  'download-bytes',
  'keep',
  'name',
  'share',
  'suggestions',
  'template-arguments',
  'onclick2',
  'class',
  'lang',
  'dir',
  'part',
]
const TEXTS = [
  '',
  ' ',
  '-1',
  '1e999',
  'NaN',
  '-0',
  '9007199254740993',
  '__proto__',
  'constructor',
  'null',
  '[object Object]',
  '<img src=x onerror="pwned=1"><script>pwned=1</script>',
  '"><svg onload="pwned=1">',
  'javascript:pwned=1',
  'data:text/html,<script>pwned=1</script>',
  '//[',
  'http://127.0.0.1:9/x.gguf',
  '[1,{"toString":1},[[]]]',
  '[["__proto__"]]',
  '{"__proto__":{"polluted":1}}',
  '\ud800',
  '{size}{size}',
  'x'.repeat(1_000_000),
  '|'.repeat(100_000),
  '['.repeat(100_000),
]

test('whatever a page sets, the widget uses only values that its types allow, runs no script and continues to work', async ({
  page,
  sites,
}) => {
  await sites.open(page, {
    markup: '<div id="place"></div>',
    script: `
      globalThis.failures = []
      addEventListener('error', ({ message, error }) => failures.push(String(error?.name) + ' ' + message))
      addEventListener('unhandledrejection', ({ reason }) => failures.push(String(reason?.name) + ' ' + reason))`,
  })
  const found = await page.evaluate(
    async ({ properties, attributes, texts }) => {
      const trap = () => {
        throw new RangeError('a trap of the page')
      }
      const trapped = (target: object) =>
        new Proxy(target, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap })
      const circular: Record<string, unknown> = {}
      circular['self'] = [circular]
      const values: unknown[] = [
        null,
        undefined,
        true,
        0,
        -1,
        0.5,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        2 ** 53,
        10n,
        Symbol('s'),
        () => 'called',
        /x/,
        new Date(Number.NaN),
        [],
        {},
        Object.create(null),
        [null],
        { length: 2 ** 32 },
        new Array(2 ** 32 - 1),
        [{ name: 'f' }],
        [{ name: 'f', execute: 1 }],
        ['x', 3],
        { toString: 1, valueOf: 2 },
        { [Symbol.toPrimitive]: trap, toJSON: trap },
        circular,
        trapped({}),
        trapped([]),
        JSON.parse('{"__proto__": {"polluted": true}}'),
        { temperature: 'hot' },
        { heading: 5 },
        { consentSize: null },
        { send: {} },
        { _$litType$: 1, strings: ['<b>'], values: [] },
        { text: 'x', url: 'javascript:pwned=1' },
        [{ text: 'x', url: 'javascript:pwned=1', title: 5 }],
        document.createElement('img'),
        globalThis,
        'x'.repeat(1_000_000),
        '__proto__',
        '{size}',
      ]
      const place = document.querySelector('#place') as HTMLElement
      const untyped: string[] = []
      const events: string[] = []
      place.addEventListener('halfbyte-error', (event) => {
        const { name, code, message } = (event as CustomEvent<Error & { code: string }>).detail
        events.push(`${name} ${code}`)
        if (code === 'internal') untyped.push(message)
      })
      const mayThrow = (what: string, act: () => unknown) => {
        try {
          return Promise.resolve(act()).catch((error) => {
            if (error?.name !== 'HalfbyteError' && error?.name !== 'AbortError')
              untyped.push(`${what}: ${error?.name} ${error?.message}`)
          })
        } catch (error) {
          if ((error as Error)?.name !== 'HalfbyteError') untyped.push(`${what}: ${error}`)
          return undefined
        }
      }
      type Widget = HTMLElement & {
        updateComplete: Promise<unknown>
        send(text: unknown): void
        load(): Promise<unknown>
        [name: string]: unknown
      }
      const markup: string[] = []
      const opened = (): Widget => {
        const widget = document.createElement('halfbyte-chat') as unknown as Widget
        widget['model'] = 'http://127.0.0.1:9/none.gguf'
        place.replaceChildren(widget)
        return widget
      }
      const observe = async (what: string, widget: Widget, change: (widget: Widget) => void) => {
        mayThrow(what, () => change(widget))
        await mayThrow(what, () => widget.updateComplete)
        const root = widget.shadowRoot as ShadowRoot
        if (root.querySelector('textarea') === null) markup.push(`${what}: it is not rendered`)
        if (root.querySelector('img, script, iframe, [onload], [onerror], a[href^="javascript"]') !== null)
          markup.push(`${what}: ${root.innerHTML.slice(0, 200)}`)
        // A question is shown in full, however long it is.
        if (root.textContent.length > 40_000 && !what.startsWith('send'))
          markup.push(`${what}: ${root.textContent.length} characters`)
      }
      for (const name of properties) {
        // The load's properties are read when the user asks something.
        const isAsked = ['model', 'loadOptions', 'downloadBytes'].includes(name)
        let widget = opened()
        for (const [at, value] of values.entries()) {
          if (isAsked) widget = opened()
          await observe(`${name}, value ${at}`, widget, () => {
            widget[name] = value
            if (isAsked) widget.send('hello')
          })
        }
      }
      for (const name of attributes) {
        const widget = opened()
        for (const [at, text] of texts.entries())
          await observe(`${name}="${at}"`, widget, () => widget.setAttribute(name, text))
      }
      for (const [at, value] of values.entries())
        await observe(`send, value ${at}`, opened(), (widget) => widget.send(value))
      const shared = globalThis as unknown as { failures: string[]; pwned?: unknown }
      return {
        untyped,
        markup,
        failures: shared.failures,
        pwned: 'pwned' in shared,
        polluted: 'polluted' in {},
        events: [...new Set(events)].sort(),
        stored: Object.keys(localStorage).concat(Object.keys(sessionStorage)),
      }
    },
    { properties: PROPERTIES, attributes: ATTRIBUTES, texts: TEXTS },
  )
  expect(found).toMatchObject({
    untyped: [],
    markup: [],
    failures: [],
    pwned: false,
    polluted: false,
    stored: [],
    events: expect.arrayContaining(['HalfbyteError unsupported']),
  })
  expect(found.events.filter((event) => !/^HalfbyteError (unsupported|network)$/.test(event))).toEqual([])
  expect(await blocked(page)).toEqual([])

  // An impossible number of bytes does not count as a model that is already stored.
  await page.evaluate((model) => {
    const place = document.querySelector('#place') as HTMLElement
    place.replaceChildren()
    const widget = document.createElement('halfbyte-chat')
    Object.assign(widget, { model, downloadBytes: -5, keep: 'for ever', generateOptions: { maxTokens: 5 } })
    place.append(widget)
  }, MODEL)
  await send(page, 'Hello')
  await chat(page).getByRole('button', { name: 'Download' }).click()
  await expect(answersOf(chat(page))).toHaveCount(1)
  // The mark of the load stays until the model is ready, possibly after the element for the answer has
  // appeared.
  await expect.poll(() => page.evaluate(() => Object.keys(localStorage))).toEqual([])
})
