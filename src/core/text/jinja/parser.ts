// Parses the tokens of a template into a syntax tree, by the rules of jinja2's parser.
import { syntaxError, type Token, tokenize } from './lexer.ts'

export interface Arguments {
  readonly positional: readonly Expression[]
  readonly keywords: readonly (readonly [string, Expression])[]
  readonly spread?: Expression | undefined
  readonly keywordSpread?: Expression | undefined
}

export type Expression =
  | { readonly type: 'constant'; readonly value: string | number | boolean | null }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'list' | 'tuple' | 'concat'; readonly items: readonly Expression[] }
  | { readonly type: 'dict'; readonly items: readonly (readonly [Expression, Expression])[] }
  | { readonly type: 'attribute'; readonly object: Expression; readonly name: string }
  | { readonly type: 'item'; readonly object: Expression; readonly key: Expression }
  | { readonly type: 'slice'; readonly parts: readonly (Expression | undefined)[] }
  | { readonly type: 'call'; readonly callee: Expression; readonly args: Arguments }
  | { readonly type: 'filter'; readonly object: Expression; readonly name: string; readonly args: Arguments }
  | { readonly type: 'test'; readonly object: Expression; readonly name: string; readonly args: Arguments }
  | { readonly type: 'not' | 'negative' | 'positive'; readonly object: Expression }
  | { readonly type: 'binary'; readonly sign: string; readonly left: Expression; readonly right: Expression }
  | {
      readonly type: 'compare'
      readonly first: Expression
      readonly rest: readonly (readonly [string, Expression])[]
    }
  | {
      readonly type: 'if'
      readonly test: Expression
      readonly then: Expression
      readonly otherwise: Expression | undefined
    }

/** A name, a tuple of names to unpack, or a field of a namespace. */
export type Target =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'field'; readonly object: string; readonly name: string }
  | { readonly type: 'tuple'; readonly items: readonly Target[] }

export interface Parameter {
  readonly name: string
  readonly fallback: Expression | undefined
}

export interface FilterCall {
  readonly name: string
  readonly args: Arguments
}

type Body = readonly Statement[]

export type Statement =
  | { readonly type: 'data'; readonly text: string }
  | { readonly type: 'print'; readonly value: Expression }
  | { readonly type: 'if'; readonly test: Expression; readonly body: Body; readonly otherwise: Body }
  | {
      readonly type: 'for'
      readonly target: Target
      readonly list: Expression
      readonly test: Expression | undefined
      readonly isRecursive: boolean
      readonly body: Body
      readonly otherwise: Body
    }
  | { readonly type: 'break' | 'continue' }
  | { readonly type: 'set'; readonly target: Target; readonly value: Expression }
  | {
      readonly type: 'setBlock'
      readonly target: Target
      readonly filters: readonly FilterCall[]
      readonly body: Body
    }
  | {
      readonly type: 'macro'
      readonly name: string
      /** Whether the body names `varargs` or `kwargs`, and so takes arguments beyond its parameters. */
      readonly takesMore: boolean
      readonly parameters: readonly Parameter[]
      readonly body: Body
    }
  | {
      readonly type: 'callBlock'
      readonly call: Expression
      readonly parameters: readonly Parameter[]
      readonly body: Body
    }
  | { readonly type: 'filterBlock'; readonly filters: readonly FilterCall[]; readonly body: Body }
  | {
      readonly type: 'with'
      readonly values: readonly (readonly [Target, Expression])[]
      readonly body: Body
    }

/** Throws TemplateError for syntax that Jinja rejects, and for tags that need other files. */
export function parse(template: string): Body {
  return new Parser(tokenize(template)).template()
}

const NO_ARGUMENTS: Arguments = { positional: [], keywords: [] }
const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ...(['true', 'True'] as const).map((name) => [name, true] as const),
  ...(['false', 'False'] as const).map((name) => [name, false] as const),
  ...(['none', 'None'] as const).map((name) => [name, null] as const),
])
const COMPARISONS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=']
const OTHER_FILES: readonly string[] = ['include', 'import', 'from', 'extends']

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #loops = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  template(): Body {
    const body = this.#body()
    if (this.#token.type !== 'eof') throw syntaxError(`unexpected tag '${this.#peek(1).value}'`)
    return body
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token
  }

  #peek(by: number): Token {
    return this.#tokens[Math.min(this.#at + by, this.#tokens.length - 1)] as Token
  }

  #is(type: Token['type'], ...values: readonly string[]): boolean {
    return this.#token.type === type && (values.length === 0 || values.includes(this.#token.value))
  }

  #skip(type: Token['type'], ...values: readonly string[]): boolean {
    const is = this.#is(type, ...values)
    if (is) this.#at++
    return is
  }

  #expect(type: Token['type'], ...values: readonly string[]): string {
    const { value } = this.#token
    if (this.#skip(type, ...values)) return value
    const wanted = values.length > 0 ? values.join(' or ') : type
    throw syntaxError(`expected ${wanted}, got '${value || this.#token.type}'`)
  }

  /**
   * Reads statements up to and including the name of one of the tags `ends`, or up to the end of the
   * template.
   */
  #body(...ends: readonly string[]): Body {
    const body: Statement[] = []
    for (;;) {
      if (this.#is('data')) body.push({ type: 'data', text: this.#expect('data') })
      else if (this.#skip('begin', '{{')) {
        body.push({ type: 'print', value: this.#tuple() })
        this.#expect('end')
      } else if (this.#is('begin', '{%')) {
        if (ends.includes(this.#peek(1).value)) {
          this.#at++
          return body
        }
        if (ends.length === 0 && /^(?:end|el)/.test(this.#peek(1).value)) return body
        this.#at++
        body.push(...this.#statement())
      } else if (ends.length === 0) return body
      else throw syntaxError(`unexpected end of template, expected ${ends.join(' or ')}`)
    }
  }

  /** A body, including its closing tag. */
  #closed(...ends: readonly string[]): Body {
    const body = this.#body(...ends)
    this.#at++
    this.#expect('end')
    return body
  }

  #statement(): readonly Statement[] {
    const tag = this.#expect('name')
    switch (tag) {
      case 'if':
        return [this.#if()]
      case 'for':
        return [this.#for()]
      case 'set':
        return [this.#set()]
      case 'macro': {
        const name = this.#expect('name')
        const parameters = this.#parameters()
        this.#expect('end')
        const before = this.#at
        const body = this.#outsideLoops('endmacro')
        const isMore = ({ type, value }: Token) =>
          type === 'name' && (value === 'varargs' || value === 'kwargs')
        const takesMore = this.#tokens.slice(before, this.#at).some(isMore)
        return [{ type: 'macro', name, parameters, takesMore, body }]
      }
      case 'call':
        return [this.#callBlock()]
      case 'filter': {
        const filters = [this.#filter(), ...this.#filters()]
        this.#expect('end')
        return [{ type: 'filterBlock', filters, body: this.#closed('endfilter') }]
      }
      case 'with':
        return [this.#with()]
      case 'generation':
        this.#expect('end')
        return [{ type: 'with', values: [], body: this.#closed('endgeneration') }]
      case 'break':
      case 'continue':
        if (this.#loops === 0) throw syntaxError(`'${tag}' outside of a loop`)
        this.#expect('end')
        return [{ type: tag }]
    }
    if (OTHER_FILES.includes(tag))
      throw syntaxError(`'${tag}' needs other files, which a chat template does not have`)
    throw syntaxError(`unknown tag '${tag}'`)
  }

  #if(): Statement {
    const test = this.#tuple(false)
    this.#expect('end')
    const body = this.#body('elif', 'else', 'endif')
    const tag = this.#expect('name')
    if (tag === 'elif') return { type: 'if', test, body, otherwise: [this.#if()] }
    this.#expect('end')
    return { type: 'if', test, body, otherwise: tag === 'else' ? this.#closed('endif') : [] }
  }

  #for(): Statement {
    const target = this.#targets('in')
    this.#expect('name', 'in')
    const list = this.#tuple(false, 'recursive')
    const test = this.#skip('name', 'if') ? this.#expression() : undefined
    const isRecursive = this.#skip('name', 'recursive')
    this.#expect('end')
    this.#loops++
    const body = this.#body('endfor', 'else')
    this.#loops--
    const tag = this.#expect('name')
    this.#expect('end')
    const otherwise = tag === 'else' ? this.#closed('endfor') : []
    return { type: 'for', target, list, test, isRecursive, body, otherwise }
  }

  /** A body in which `break` has no loop to leave. */
  #outsideLoops(end: string): Body {
    const loops = this.#loops
    this.#loops = 0
    const body = this.#closed(end)
    this.#loops = loops
    return body
  }

  #set(): Statement {
    const target = this.#targets()
    if (this.#skip('operator', '=')) {
      const value = this.#tuple()
      this.#expect('end')
      return { type: 'set', target, value }
    }
    const filters = this.#filters()
    this.#expect('end')
    return { type: 'setBlock', target, filters, body: this.#closed('endset') }
  }

  #callBlock(): Statement {
    const parameters = this.#is('operator', '(') ? this.#parameters() : []
    const call = this.#expression()
    if (call.type !== 'call') throw syntaxError('expected a call')
    this.#expect('end')
    return { type: 'callBlock', call, parameters, body: this.#outsideLoops('endcall') }
  }

  #with(): Statement {
    const values: [Target, Expression][] = []
    while (!this.#is('end')) {
      if (values.length > 0) this.#expect('operator', ',')
      const target = this.#target()
      this.#expect('operator', '=')
      values.push([target, this.#expression()])
    }
    this.#expect('end')
    return { type: 'with', values, body: this.#closed('endwith') }
  }

  #parameters(): Parameter[] {
    const parameters: Parameter[] = []
    this.#expect('operator', '(')
    while (!this.#skip('operator', ')')) {
      if (parameters.length > 0) this.#expect('operator', ',')
      const name = this.#expect('name')
      const fallback = this.#skip('operator', '=') ? this.#expression() : undefined
      if (fallback === undefined && parameters.at(-1)?.fallback !== undefined) {
        throw syntaxError('non-default argument follows default argument')
      }
      parameters.push({ name, fallback })
    }
    return parameters
  }

  #target(): Target {
    if (this.#skip('operator', '(')) {
      const target = this.#targets()
      this.#expect('operator', ')')
      return target
    }
    const name = this.#expect('name')
    if (CONSTANTS.has(name)) throw syntaxError(`can't assign to '${name}'`)
    if (this.#skip('operator', '.')) return { type: 'field', object: name, name: this.#expect('name') }
    return { type: 'name', name }
  }

  #targets(end?: string): Target {
    const items = [this.#target()]
    let isTuple = false
    while (this.#skip('operator', ',')) {
      isTuple = true
      if (this.#is('end') || this.#is('operator', '=', ')') || (end && this.#is('name', end))) break
      items.push(this.#target())
    }
    return isTuple ? { type: 'tuple', items } : (items[0] as Target)
  }

  /** One expression, or several separated by commas. */
  #tuple(isConditional = true, end?: string, isEnclosed = false): Expression {
    const items: Expression[] = []
    let isTuple = false
    for (;;) {
      if (this.#is('end') || this.#is('operator', ')') || (end !== undefined && this.#is('name', end))) break
      items.push(isConditional ? this.#expression() : this.#or())
      if (!this.#skip('operator', ',')) break
      isTuple = true
    }
    if (isTuple || (items.length === 0 && isEnclosed)) return { type: 'tuple', items }
    const [only] = items
    if (only === undefined) throw syntaxError(`expected an expression, got '${this.#token.value}'`)
    return only
  }

  #expression(): Expression {
    let then = this.#or()
    while (this.#skip('name', 'if')) {
      const test = this.#or()
      const otherwise = this.#skip('name', 'else') ? this.#expression() : undefined
      then = { type: 'if', test, then, otherwise }
    }
    return then
  }

  #or = (): Expression => this.#chain('name', ['or'], this.#and)
  #and = (): Expression => this.#chain('name', ['and'], this.#not)

  #not = (): Expression =>
    this.#skip('name', 'not') ? { type: 'not', object: this.#not() } : this.#comparison()

  #comparison(): Expression {
    const first = this.#sum()
    const rest: [string, Expression][] = []
    for (;;) {
      const { value } = this.#token
      if (this.#skip('operator', ...COMPARISONS) || this.#skip('name', 'in')) rest.push([value, this.#sum()])
      else if (this.#is('name', 'not') && this.#peek(1).value === 'in' && this.#peek(1).type === 'name') {
        this.#at += 2
        rest.push(['not in', this.#sum()])
      } else break
    }
    return rest.length > 0 ? { type: 'compare', first, rest } : first
  }

  #chain(type: 'name' | 'operator', signs: readonly string[], part: () => Expression): Expression {
    let left = part()
    while (this.#is(type, ...signs)) {
      const sign = this.#expect(type)
      left = { type: 'binary', sign, left, right: part() }
    }
    return left
  }

  #sum = (): Expression => this.#chain('operator', ['+', '-'], this.#concat)

  #concat = (): Expression => {
    const items = [this.#product()]
    while (this.#skip('operator', '~')) items.push(this.#product())
    return items.length > 1 ? { type: 'concat', items } : (items[0] as Expression)
  }

  #product = (): Expression => this.#chain('operator', ['*', '/', '//', '%'], this.#power)
  #power = (): Expression => this.#chain('operator', ['**'], () => this.#unary(true))

  #unary(isFiltered: boolean): Expression {
    const sign = this.#is('operator', '-', '+') ? this.#expect('operator') : undefined
    const inner: Expression =
      sign === undefined
        ? this.#primary()
        : { type: sign === '-' ? 'negative' : 'positive', object: this.#unary(false) }
    const node = this.#postfix(inner)
    return isFiltered ? this.#filtered(node) : node
  }

  #postfix(object: Expression): Expression {
    let node = object
    for (;;) {
      if (this.#skip('operator', '.')) {
        const isIndex = this.#is('int')
        const name = this.#expect(isIndex ? 'int' : 'name')
        node = isIndex
          ? { type: 'item', object: node, key: { type: 'constant', value: Number(name) } }
          : { type: 'attribute', object: node, name }
      } else if (this.#skip('operator', '[')) node = { type: 'item', object: node, key: this.#subscript() }
      else if (this.#is('operator', '(')) node = { type: 'call', callee: node, args: this.#arguments() }
      else return node
    }
  }

  #filtered(object: Expression): Expression {
    let node = object
    for (;;) {
      if (this.#is('operator', '|')) {
        this.#at++
        node = { type: 'filter', object: node, ...this.#filter() }
      } else if (this.#skip('name', 'is')) node = this.#test(node)
      else if (this.#is('operator', '(')) node = { type: 'call', callee: node, args: this.#arguments() }
      else return node
    }
  }

  #filters(): FilterCall[] {
    const filters: FilterCall[] = []
    while (this.#skip('operator', '|')) filters.push(this.#filter())
    return filters
  }

  #filter(): FilterCall {
    const name = this.#expect('name')
    return { name, args: this.#is('operator', '(') ? this.#arguments() : NO_ARGUMENTS }
  }

  #test(object: Expression): Expression {
    const isNegated = this.#skip('name', 'not')
    const name = this.#expect('name')
    let args = NO_ARGUMENTS
    const { type, value } = this.#token
    if (this.#is('operator', '(')) args = this.#arguments()
    else if (
      ['string', 'int', 'float'].includes(type) ||
      this.#is('operator', '[', '{') ||
      (type === 'name' && !['else', 'or', 'and'].includes(value))
    ) {
      if (this.#is('name', 'is')) throw syntaxError("tests cannot be chained with 'is'")
      args = { positional: [this.#postfix(this.#primary())], keywords: [] }
    }
    const test: Expression = { type: 'test', object, name, args }
    return isNegated ? { type: 'not', object: test } : test
  }

  #subscript(): Expression {
    const items: Expression[] = []
    let isTuple = false
    while (!this.#skip('operator', ']')) {
      if (items.length > 0) {
        this.#expect('operator', ',')
        isTuple = true
        if (this.#skip('operator', ']')) break
      }
      items.push(this.#subscribed())
    }
    const [only] = items
    if (only === undefined) throw syntaxError('expected a subscript')
    return isTuple ? { type: 'tuple', items } : only
  }

  #subscribed(): Expression {
    const parts: (Expression | undefined)[] = []
    const isOver = () => this.#is('operator', ':', ']', ',')
    const first = isOver() ? undefined : this.#expression()
    if (!this.#is('operator', ':')) {
      if (first === undefined) throw syntaxError('expected a subscript')
      return first
    }
    parts.push(first)
    while (parts.length < 3 && this.#skip('operator', ':'))
      parts.push(isOver() ? undefined : this.#expression())
    return { type: 'slice', parts }
  }

  #arguments(): Arguments {
    const positional: Expression[] = []
    const keywords: [string, Expression][] = []
    let spread: Expression | undefined
    let keywordSpread: Expression | undefined
    let isFirst = true
    this.#expect('operator', '(')
    while (!this.#skip('operator', ')')) {
      if (!isFirst) {
        this.#expect('operator', ',')
        if (this.#skip('operator', ')')) break
      }
      isFirst = false
      if (this.#skip('operator', '**')) keywordSpread = this.#expression()
      else if (this.#skip('operator', '*')) spread = this.#expression()
      else if (this.#is('name') && this.#peek(1).type === 'operator' && this.#peek(1).value === '=') {
        const name = this.#expect('name')
        this.#at++
        keywords.push([name, this.#expression()])
      } else if (keywords.length > 0 || spread || keywordSpread) {
        throw syntaxError('invalid syntax for function call expression')
      } else positional.push(this.#expression())
    }
    return { positional, keywords, spread, keywordSpread }
  }

  #primary(): Expression {
    const { type, value } = this.#token
    this.#at++
    switch (type) {
      case 'name': {
        const constant = CONSTANTS.get(value)
        return constant === undefined ? { type: 'name', name: value } : { type: 'constant', value: constant }
      }
      case 'string': {
        let text = value
        while (this.#is('string')) text += this.#expect('string')
        return { type: 'constant', value: text }
      }
      case 'int':
        return { type: 'constant', value: Number(value) }
      case 'float':
        return { type: 'float', value: Number(value) }
      case 'operator':
        if (value === '(') {
          const inner = this.#tuple(true, undefined, true)
          this.#expect('operator', ')')
          return inner
        }
        if (value === '[') return { type: 'list', items: this.#parts(']', () => this.#expression()) }
        if (value === '{') {
          const pair = (): readonly [Expression, Expression] => {
            const key = this.#expression()
            this.#expect('operator', ':')
            return [key, this.#expression()]
          }
          return { type: 'dict', items: this.#parts('}', pair) }
        }
    }
    throw syntaxError(`unexpected '${value || type}'`)
  }

  #parts<T>(end: string, part: () => T): T[] {
    const parts: T[] = []
    while (!this.#skip('operator', end)) {
      if (parts.length > 0) {
        this.#expect('operator', ',')
        if (this.#skip('operator', end)) break
      }
      parts.push(part())
    }
    return parts
  }
}
