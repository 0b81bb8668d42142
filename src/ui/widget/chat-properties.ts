// Properties of the widget. In: attributes and properties set by a page. Out: a Lit element that holds them,
// with their defaults.
import { LitElement, type PropertyDeclaration } from 'lit'
import { wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { choice, type OptionKind, SWITCH, TEXT } from '../../core/base/options/option-kinds.ts'
import { isCount, isObject } from '../../core/base/values.ts'
import { ENGLISH, type Words } from '../words/english.ts'
import type { Settings } from './conversation/entries.ts'
import type { HalfbyteChatProps } from './element.ts'
import type { ModelPlan } from './loading/loader.ts'

/** Throws `unsupported` without a model. */
export function planOf({
  model,
  loadOptions,
  downloadBytes,
}: Pick<HalfbyteChatProps, 'model' | 'loadOptions' | 'downloadBytes'>): ModelPlan {
  if (model === undefined || model === null || model === '')
    throw new HalfbyteError(
      'unsupported',
      'no model is given; set the attribute model or the property engine',
      { model: 'none' },
    )
  return { source: model, options: loadOptions, bytes: downloadBytes }
}

export const settingsOf = (
  { system, tools, documents, generateOptions, templateArguments }: Omit<HalfbyteChatProps, 'engine'>,
  words: Words,
  encoder?: Settings['encoder'],
  language = 'en',
): Settings => ({
  system: system === '' ? undefined : system,
  tools,
  documents,
  encoder,
  generateOptions: {
    ...generateOptions,
    ...(Object.keys(templateArguments).length > 0 && {
      templateArguments: { ...generateOptions.templateArguments, ...templateArguments },
    }),
  },
  toolLabels: toolLabels(words),
  words,
  language,
  documentsUnread: words.documentsUnread,
  passagesPrompt: words.passages,
})

const toolLabels = (words: Words): Settings['toolLabels'] => ({
  calculate: words.toolCalculate,
  current_date: words.toolDate,
  convert_units: words.toolUnits,
  time_in: words.toolTime,
  days_between: words.toolDays,
})

/** The typed error of the event `halfbyte-error`. */
export const reported = (error: unknown): HalfbyteError =>
  isHalfbyteError(error)
    ? error
    : new HalfbyteError('internal', `the chat failed: ${reasonOf(error)}`, {}, { cause: error })

/**
 * Maximum UTF-16 units of a text that the widget shows, and of the name under which a conversation is
 * stored.
 */
const LONGEST = 10_000
const MAX_SUGGESTIONS = 100
const MAX_OPTIONS = 1000
const MAX_TOOLS = 1000
const MAX_DOCUMENTS = 100_000

/** A JSON list of texts, or texts separated by `|`. */
export function listOf(value: string | null): readonly string[] {
  if (value === null) return []
  try {
    const parsed: unknown = JSON.parse(value)
    if (Array.isArray(parsed)) return parsed.map(String)
  } catch {
    // Not JSON, so plain text.
  }
  return value
    .split('|')
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

/** Parsed JSON; other text is returned unchanged, and then rejected. */
export function jsonOf(value: string | null): unknown {
  if (value === null) return undefined
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

const list = (most: number, of: string, isRight: (value: unknown) => boolean): OptionKind => ({
  fits: (value) => Array.isArray(value) && value.length <= most && value.every(isRight),
  wanted: `a list of up to ${most} ${of}`,
})
const isText = (value: unknown): boolean => typeof value === 'string'
const isShort = (value: unknown): boolean => typeof value === 'string' && value.length <= LONGEST
const maybe = (isRight: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isRight(value)

const SHORT_TEXT: OptionKind = { fits: isShort, wanted: `a text of up to ${LONGEST} characters` }
const TOOLS = list(
  MAX_TOOLS,
  'objects with a name and a function execute',
  (tool) => isObject(tool) && isText(tool['name']) && typeof tool['execute'] === 'function',
)
/** An object whose options can all be read. */
const OPTIONS: OptionKind = {
  fits: (value) => isObject(value) && Object.values(value).length <= MAX_OPTIONS,
  wanted: 'an object of options',
}

/** The load and the reply check the model, the encoder and their options. */
type Checked = Exclude<keyof HalfbyteChatProps, 'model' | 'engine' | 'embedder'>
const KINDS: { readonly [Name in Checked]: OptionKind } = {
  system: TEXT,
  heading: SHORT_TEXT,
  placeholder: SHORT_TEXT,
  name: SHORT_TEXT,
  mode: choice(['inline', 'bubble']),
  theme: choice(['inherit', 'auto', 'light', 'dark']),
  keep: choice(['none', 'tab', 'device']),
  share: choice(['page', 'tabs']),
  assist: choice(['care', 'all', 'none']),
  open: SWITCH,
  autoload: SWITCH,
  allowFiles: SWITCH,
  downloadBytes: { fits: isCount, wanted: 'a whole number of bytes' },
  suggestions: list(MAX_SUGGESTIONS, `texts of up to ${LONGEST} characters`, isShort),
  tools: {
    fits: (value) => value === 'assist' || TOOLS.fits(value),
    wanted: `assist, or ${TOOLS.wanted}`,
  },
  documents: list(
    MAX_DOCUMENTS,
    'texts, or objects with a text, a title and a url',
    (it) =>
      isText(it) ||
      (isObject(it) && isText(it['text']) && maybe(isText)(it['title']) && maybe(isText)(it['url'])),
  ),
  loadOptions: OPTIONS,
  generateOptions: OPTIONS,
  templateArguments: {
    fits: OPTIONS.fits,
    wanted: 'an object of variables, as JSON where it is an attribute',
  },
  messages: {
    fits: (value) => isObject(value) && Object.keys(ENGLISH).every((name) => maybe(isShort)(value[name])),
    wanted: `an object of texts of up to ${LONGEST} characters`,
  },
}

/** Throws `unsupported` if the property `name` cannot have this value. */
export function checkProperty(name: PropertyKey, value: unknown): void {
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name as keyof typeof KINDS] : undefined
  if (kind === undefined) return
  let isRight = false
  try {
    isRight = kind.fits(value)
  } catch {
    // A proxy or a getter of the page throws.
  }
  if (!isRight) throw wrongOption(String(name), value, kind.wanted)
}

/** The value of a property that the page has not set, has removed, or has set to something invalid. */
const DEFAULTS: { readonly [name: string]: unknown } = {
  mode: 'inline',
  open: false,
  theme: 'inherit',
  autoload: false,
  allowFiles: false,
  keep: 'none',
  name: 'default',
  share: 'page',
  assist: 'care',
  suggestions: [],
  tools: [],
  documents: [],
  loadOptions: {},
  generateOptions: {},
  templateArguments: {},
  messages: {},
}

/** element.ts documents each. The engine is a property of the element itself. */
export abstract class ChatProperties extends LitElement implements Omit<HalfbyteChatProps, 'engine'> {
  static override properties = {
    model: {},
    system: {},
    heading: {},
    placeholder: {},
    mode: { reflect: true },
    open: { type: Boolean, reflect: true },
    theme: { reflect: true },
    autoload: { type: Boolean },
    allowFiles: { type: Boolean, attribute: 'allow-files' },
    downloadBytes: { type: Number, attribute: 'download-bytes' },
    keep: {},
    name: {},
    share: {},
    assist: {},
    suggestions: { converter: listOf },
    tools: {},
    documents: { attribute: false },
    embedder: {},
    loadOptions: { attribute: false },
    generateOptions: { attribute: false },
    templateArguments: { attribute: 'template-arguments', converter: jsonOf },
    messages: { attribute: false },
    engine: { attribute: false, noAccessor: true },
  }
  declare model: HalfbyteChatProps['model']
  declare system: HalfbyteChatProps['system']
  declare heading: HalfbyteChatProps['heading']
  declare placeholder: HalfbyteChatProps['placeholder']
  declare mode: HalfbyteChatProps['mode']
  declare open: HalfbyteChatProps['open']
  declare theme: HalfbyteChatProps['theme']
  declare autoload: HalfbyteChatProps['autoload']
  declare allowFiles: HalfbyteChatProps['allowFiles']
  declare downloadBytes: HalfbyteChatProps['downloadBytes']
  declare keep: HalfbyteChatProps['keep']
  declare name: HalfbyteChatProps['name']
  declare share: HalfbyteChatProps['share']
  declare assist: HalfbyteChatProps['assist']
  declare suggestions: HalfbyteChatProps['suggestions']
  declare tools: HalfbyteChatProps['tools']
  declare documents: HalfbyteChatProps['documents']
  declare embedder: HalfbyteChatProps['embedder']
  declare loadOptions: HalfbyteChatProps['loadOptions']
  declare generateOptions: HalfbyteChatProps['generateOptions']
  declare templateArguments: HalfbyteChatProps['templateArguments']
  declare messages: HalfbyteChatProps['messages']

  constructor() {
    super()
    Object.assign(this, DEFAULTS)
  }

  /** Untyped pages may set anything. For an invalid value, the default is used, and an error is reported. */
  static override getPropertyDescriptor(
    name: PropertyKey,
    key: string | symbol,
    options: PropertyDeclaration,
  ): PropertyDescriptor | undefined {
    const found = LitElement.getPropertyDescriptor(name, key, options)
    return (
      found && {
        ...found,
        set(this: ChatProperties, value: unknown) {
          found.set?.call(this, this.admitted(name, value))
        },
      }
    )
  }

  protected admitted(name: PropertyKey, value: unknown): unknown {
    if (value === undefined || value === null) return DEFAULTS[String(name)]
    try {
      checkProperty(name, value)
      return value
    } catch (error) {
      this.report(error)
      return DEFAULTS[String(name)]
    }
  }

  /** Reports an error to the page. */
  protected abstract report(error: unknown): void
}
