// Runs the syntax tree of a template: writes the same text as Jinja, at a bounded cost.
import { filtered, isFilter } from './filters.ts'
import type { Tools } from './list-filters.ts'
import { methodOf } from './methods.ts'
import { binary, bound, compareBy, itemAt, negated, signed, slice } from './operators.ts'
import type { Arguments, Expression, FilterCall, Statement, Target } from './parser.ts'
import { satisfies } from './predicates.ts'
import { writtenText } from './to-json.ts'
import {
  areEqual,
  Callable,
  float,
  isTrue,
  iterate,
  type Keywords,
  keyOf,
  keyOrNone,
  Loop,
  Namespace,
  numberOf,
  PART_UNITS,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  textOf,
  typeError,
  typeName,
  type Value,
} from './values.ts'

/** Cost of a step. */
const STEP_UNITS = 32
/** Cost of one iteration of a loop, because it creates a scope. */
const TURN_UNITS = 256

/** The attributes of `dict` itself. No template calls them on the type. */
const DICT_METHODS = new Set([
  'clear',
  'copy',
  'fromkeys',
  'get',
  'items',
  'keys',
  'pop',
  'popitem',
  'setdefault',
  'update',
  'values',
])

/** Variables, including those of the enclosing scopes. */
export class Scope {
  readonly variables = new Map<string, Value>()
  readonly parent: Scope | undefined
  constructor(parent?: Scope) {
    this.parent = parent
  }

  find(name: string): Value {
    for (let at: Scope | undefined = this; at !== undefined; at = at.parent) {
      const value = at.variables.get(name)
      if (value !== undefined || at.variables.has(name)) return value
    }
    return undefined
  }
}

/** The ways to leave a body before its end. */
type Leave = 'break' | 'continue' | undefined

/** One rendering. It calls `spend` before any work whose time or memory depends on the size of its input. */
export class TemplateRun {
  readonly #spend: Spend
  readonly #tools: Tools
  #text = ''

  constructor(spend: Spend) {
    this.#spend = spend
    this.#tools = {
      spend,
      attribute: (value, name) => this.#attribute(value, name),
      item: (value, key) => this.#item(value, key),
      filter: (name, value, args, keywords) => filtered(name, value, args, keywords, this.#tools),
      isFilter,
      test: (name, value, args) => satisfies(name, value, args, this.#tools),
    }
  }

  render(body: readonly Statement[], variables: Scope): string {
    return this.#captured(body, variables)
  }

  /** The text that a body writes. */
  #captured(body: readonly Statement[], scope: Scope): string {
    const before = this.#text
    this.#text = ''
    this.#run(body, scope)
    const text = this.#text
    this.#text = before
    return text
  }

  #write(text: string): void {
    this.#spend(text.length)
    this.#text += text
  }

  #run(body: readonly Statement[], scope: Scope): Leave {
    for (const statement of body) {
      this.#spend(STEP_UNITS)
      const leave = this.#step(statement, scope)
      if (leave !== undefined) return leave
    }
    return undefined
  }

  #step(statement: Statement, scope: Scope): Leave {
    switch (statement.type) {
      case 'data':
        this.#write(statement.text)
        return undefined
      case 'print':
        this.#write(writtenText(this.#value(statement.value, scope), this.#spend))
        return undefined
      case 'if': {
        const isTaken = isTrue(this.#value(statement.test, scope))
        return this.#run(isTaken ? statement.body : statement.otherwise, scope)
      }
      case 'for':
        return this.#for(statement, this.#value(statement.list, scope), scope, 0)
      case 'break':
      case 'continue':
        return statement.type
      case 'set':
        this.#assign(statement.target, this.#value(statement.value, scope), scope)
        return undefined
      case 'setBlock': {
        const text = this.#captured(statement.body, new Scope(scope))
        this.#assign(statement.target, this.#filter(text, statement.filters, scope), scope)
        return undefined
      }
      case 'macro':
        scope.variables.set(statement.name, this.#macro(statement.name, statement, scope))
        return undefined
      case 'callBlock': {
        const { call } = statement
        const caller = this.#macro('caller', { ...statement, takesMore: false }, scope)
        if (call.type === 'call')
          this.#write(textOf(this.#call(call.callee, call.args, scope, caller), this.#spend))
        return undefined
      }
      case 'filterBlock': {
        const text = this.#captured(statement.body, new Scope(scope))
        this.#write(textOf(this.#filter(text, statement.filters, scope), this.#spend))
        return undefined
      }
      case 'with': {
        const inner = new Scope(scope)
        for (const [target, value] of statement.values) this.#assign(target, this.#value(value, scope), inner)
        return this.#run(statement.body, inner)
      }
    }
  }

  #for(statement: Statement & { type: 'for' }, list: Value, scope: Scope, depth0: number): Leave {
    const { target, test, body } = statement
    let items = iterate(list, this.#spend)
    this.#spend(items.length * TURN_UNITS)
    const bind = (item: Value) => {
      const inner = new Scope(scope)
      this.#assign(target, item, inner)
      return inner
    }
    if (test !== undefined) items = items.filter((item) => isTrue(this.#value(test, bind(item))))
    const again = (inner: Value) => {
      const before = this.#text
      this.#text = ''
      this.#for(statement, inner, scope, depth0 + 1)
      const text = this.#text
      this.#text = before
      return text
    }
    const loop = new Loop(items, depth0, statement.isRecursive ? again : undefined)
    for (const item of items) {
      const inner = bind(item)
      inner.variables.set('loop', loop)
      if (this.#run(body, inner) === 'break') break
      loop.at++
    }
    return items.length === 0 ? this.#run(statement.otherwise, new Scope(scope)) : undefined
  }

  #assign(target: Target, value: Value, scope: Scope): void {
    if (target.type === 'name') {
      scope.variables.set(target.name, value)
      return
    }
    if (target.type === 'field') {
      const object = scope.find(target.object)
      if (!(object instanceof Namespace)) {
        throw new TemplateError('TemplateRuntimeError', 'cannot assign attribute on non-namespace object')
      }
      object.fields.set(target.name, value)
      return
    }
    const parts = iterate(value, this.#spend)
    if (parts.length !== target.items.length) {
      throw new TemplateError(
        'ValueError',
        `expected ${target.items.length} values to unpack, got ${parts.length}`,
      )
    }
    for (const [at, part] of target.items.entries()) this.#assign(part, parts[at], scope)
  }

  #macro(
    name: string,
    { parameters, body, takesMore }: Pick<Statement & { type: 'macro' }, 'parameters' | 'body' | 'takesMore'>,
    scope: Scope,
  ): Callable {
    const names = parameters.map((parameter) => parameter.name)
    const call: Callable['call'] = (args, keywords) => {
      const inner = new Scope(scope)
      const rest = new Map(keywords)
      const caller = rest.get('caller')
      rest.delete('caller')
      inner.variables.set('caller', caller)
      const isNamed = ([each]: readonly [string, Value]) => names.includes(each)
      if (takesMore) {
        inner.variables.set('varargs', new Tuple(args.slice(names.length)))
        inner.variables.set('kwargs', new Map([...rest].filter((pair) => !isNamed(pair))))
      }
      const own = takesMore ? new Map([...rest].filter(isNamed)) : rest
      const optional = names.map((each) => `${each}?`)
      const given = bound(name, optional, takesMore ? args.slice(0, names.length) : args, own)
      const missing = parameters.filter((_, at) => at >= args.length && !rest.has(names[at]!))
      for (const [at, each] of names.entries()) inner.variables.set(each, given[at])
      for (const { name: each, fallback } of missing) {
        inner.variables.set(each, fallback === undefined ? undefined : this.#value(fallback, inner))
      }
      return this.#captured(body, inner)
    }
    const fields = new Map<string, Value>([
      ['name', name],
      ['arguments', new Tuple(names)],
    ])
    return new Callable(name, call, fields)
  }

  #filter(value: Value, filters: readonly FilterCall[], scope: Scope): Value {
    return filters.reduce<Value>((at, { name, args }) => {
      const [positional, keywords] = this.#arguments(args, scope)
      return filtered(name, at, positional, keywords, this.#tools)
    }, value)
  }

  #value(node: Expression, scope: Scope): Value {
    this.#spend(STEP_UNITS)
    switch (node.type) {
      case 'constant':
        return node.value
      case 'float':
        return float(node.value)
      case 'name':
        return scope.find(node.name)
      case 'list':
        return this.#values(node.items, scope)
      case 'tuple':
        return new Tuple(this.#values(node.items, scope))
      case 'dict':
        this.#spend(node.items.length * PART_UNITS)
        return new Map(
          node.items.map(
            ([key, value]) => [keyOf(this.#value(key, scope)), this.#value(value, scope)] as const,
          ),
        )
      case 'concat': {
        const text = this.#values(node.items, scope).map((value) => writtenText(value, this.#spend))
        this.#spend(text.reduce((sum, part) => sum + part.length, 0))
        return text.join('')
      }
      case 'attribute':
        return this.#attribute(this.#value(node.object, scope), node.name)
      case 'item':
        return this.#subscript(node, scope)
      case 'slice':
        throw new TemplateError('TemplateSyntaxError', 'a slice must be in brackets')
      case 'call':
        return this.#call(node.callee, node.args, scope)
      case 'filter': {
        const value = this.#value(node.object, scope)
        return this.#filter(value, [node], scope)
      }
      case 'test': {
        const value = this.#value(node.object, scope)
        const [args, keywords] = this.#arguments(node.args, scope)
        return satisfies(node.name, value, [...args, ...keywords.values()], this.#tools)
      }
      case 'not':
        return !isTrue(this.#value(node.object, scope))
      case 'negative':
        return negated(this.#value(node.object, scope))
      case 'positive':
        return signed(this.#value(node.object, scope))
      case 'binary':
        return this.#binary(node, scope)
      case 'compare':
        return this.#compare(node, scope)
      case 'if':
        if (isTrue(this.#value(node.test, scope))) return this.#value(node.then, scope)
        return node.otherwise && this.#value(node.otherwise, scope)
    }
  }

  #values(nodes: readonly Expression[], scope: Scope): Value[] {
    this.#spend(nodes.length * PART_UNITS)
    return nodes.map((node) => this.#value(node, scope))
  }

  #binary({ sign, left, right }: Expression & { type: 'binary' }, scope: Scope): Value {
    const first = this.#value(left, scope)
    if (sign === 'and') return isTrue(first) ? this.#value(right, scope) : first
    if (sign === 'or') return isTrue(first) ? first : this.#value(right, scope)
    return binary(sign, first, this.#value(right, scope), this.#spend)
  }

  #compare({ first, rest }: Expression & { type: 'compare' }, scope: Scope): boolean {
    let left = this.#value(first, scope)
    for (const [sign, node] of rest) {
      const right = this.#value(node, scope)
      if (!compareBy(sign, left, right, this.#spend)) return false
      left = right
    }
    return true
  }

  #subscript({ object, key }: Expression & { type: 'item' }, scope: Scope): Value {
    const value = this.#value(object, scope)
    if (key.type !== 'slice') return this.#item(value, this.#value(key, scope))
    const parts = key.parts.map((part) => part && this.#value(part, scope))
    return slice(value, parts, this.#spend)
  }

  /** `value.name`: the attribute of that name, or else the item. */
  #attribute(value: Value, name: string): Value {
    const own = this.#own(value, name)
    return own === undefined && value instanceof Map ? value.get(name) : own
  }

  /** `value[key]`: the item, or else the attribute of that name. */
  #item(value: Value, key: Value): Value {
    const index = numberOf(key)
    if (value instanceof Map) {
      // Jinja treats an unhashable key as a missing key.
      const at = keyOrNone(key)
      if (at !== undefined && value.has(at)) return value.get(at)
    } else if (index !== undefined && Number.isInteger(index)) {
      if (value !== undefined) return itemAt(value, index, this.#spend)
    }
    const name = stringOf(key)
    return this.#own(value, name ?? '')
  }

  #own(value: Value, name: string): Value {
    if (value === undefined) throw new TemplateError('UndefinedError', `an undefined value has no '${name}'`)
    if (value instanceof Namespace) return value.fields.get(name)
    if (value instanceof Callable) return value.fields.get(name) ?? subscripted(value, name)
    if (value instanceof Loop) return this.#loopField(value, name)
    if (value instanceof Tuple && value.names.includes(name)) return value.items[value.names.indexOf(name)]
    const attribute = (of: Value, field: string, isItem: boolean) =>
      isItem ? this.#item(of, /^\d+$/.test(field) ? Number(field) : field) : this.#attribute(of, field)
    return methodOf(value, name, attribute, this.#spend)
  }

  #loopField(loop: Loop, name: string): Value {
    const { at, items, depth0 } = loop
    switch (name) {
      case 'index':
        return at + 1
      case 'index0':
        return at
      case 'revindex':
        return items.length - at
      case 'revindex0':
        return items.length - at - 1
      case 'first':
        return at === 0
      case 'last':
        return at === items.length - 1
      case 'length':
        return items.length
      case 'previtem':
        return at > 0 ? items[at - 1] : undefined
      case 'nextitem':
        return items[at + 1]
      case 'depth':
        return depth0 + 1
      case 'depth0':
        return depth0
      case 'cycle':
        return new Callable('cycle', (args) => {
          if (args.length === 0) throw typeError('cycle() needs at least one item')
          return args[at % args.length]
        })
      case 'changed':
        return new Callable('changed', (args) => {
          const isSame = loop.seen !== undefined && areEqual([...loop.seen], [...args], this.#spend)
          loop.seen = args
          return !isSame
        })
    }
    return undefined
  }

  #call(callee: Expression, args: Arguments, scope: Scope, caller?: Callable): Value {
    const called = this.#value(callee, scope)
    const [positional, given] = this.#arguments(args, scope)
    const keywords = caller === undefined ? given : new Map([...given, ['caller', caller] as const])
    if (called instanceof Callable) return called.call(positional, keywords)
    if (called instanceof Loop && called.again !== undefined) return called.again(positional[0])
    const name = callee.type === 'name' || callee.type === 'attribute' ? callee.name : 'the value'
    if (called === undefined)
      throw new TemplateError('UndefinedError', `'${name}' is undefined and cannot be called`)
    throw typeError(`'${typeName(called)}' object is not callable`)
  }

  #arguments(args: Arguments, scope: Scope): [Value[], Keywords] {
    const positional = this.#values(args.positional, scope)
    if (args.spread !== undefined) positional.push(...iterate(this.#value(args.spread, scope), this.#spend))
    const keywords = new Map(args.keywords.map(([name, node]) => [name, this.#value(node, scope)] as const))
    if (args.keywordSpread !== undefined) {
      const more = this.#value(args.keywordSpread, scope)
      if (!(more instanceof Map)) throw typeError('argument after ** must be a mapping')
      for (const [key, value] of more) keywords.set(`${key}`, value)
    }
    return [positional, keywords]
  }
}

/** In Python, `dict[name]` is also a type. Jinja returns it where `dict` has no attribute `name`. */
const subscripted = (type: Callable, name: string): Value =>
  type.name === 'dict' && !DICT_METHODS.has(name) ? type : undefined
