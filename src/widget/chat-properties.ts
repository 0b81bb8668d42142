// Properties of the widget. In: attributes and properties of a page. Out: a Lit element that holds them, with
// their defaults.
import { LitElement, type PropertyDeclaration } from 'lit'
import { checkProperty, listOf } from './attributes.ts'
import type { HalfbyteChatProps } from './element.ts'

/** What a property is that the page has not set, has removed or has set to what it cannot be. */
const DEFAULTS: { readonly [name: string]: unknown } = {
  mode: 'inline',
  open: false,
  theme: 'inherit',
  autoload: false,
  keep: 'none',
  name: 'default',
  share: 'page',
  suggestions: [],
  tools: [],
  documents: [],
  loadOptions: {},
  generateOptions: {},
  messages: {},
}

/** element.ts says what each is for. The engine is a property of the element itself. */
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
    downloadBytes: { type: Number, attribute: 'download-bytes' },
    keep: {},
    name: {},
    share: {},
    suggestions: { converter: listOf },
    tools: { attribute: false },
    documents: { attribute: false },
    loadOptions: { attribute: false },
    generateOptions: { attribute: false },
    messages: { attribute: false },
    engine: { attribute: false, noAccessor: true },
    following: { state: true },
  }
  declare model: HalfbyteChatProps['model']
  declare system: HalfbyteChatProps['system']
  declare heading: HalfbyteChatProps['heading']
  declare placeholder: HalfbyteChatProps['placeholder']
  declare mode: HalfbyteChatProps['mode']
  declare open: HalfbyteChatProps['open']
  declare theme: HalfbyteChatProps['theme']
  declare autoload: HalfbyteChatProps['autoload']
  declare downloadBytes: HalfbyteChatProps['downloadBytes']
  declare keep: HalfbyteChatProps['keep']
  declare name: HalfbyteChatProps['name']
  declare share: HalfbyteChatProps['share']
  declare suggestions: HalfbyteChatProps['suggestions']
  declare tools: HalfbyteChatProps['tools']
  declare documents: HalfbyteChatProps['documents']
  declare loadOptions: HalfbyteChatProps['loadOptions']
  declare generateOptions: HalfbyteChatProps['generateOptions']
  declare messages: HalfbyteChatProps['messages']
  declare protected following: boolean

  constructor() {
    super()
    Object.assign(this, DEFAULTS)
    this.following = true
  }

  /** Pages without types set anything. What a property cannot be leaves its default, and is reported. */
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

  /** Tells the page. */
  protected abstract report(error: unknown): void
}
