// Template runs. In: a parsed template and its variables. Out: its text as Jinja writes it, for a bounded
// cost.
import { Environment, Interpreter } from '@huggingface/jinja'
import type { Budget } from '../../base/budget.ts'
import {
  areEqual,
  PART_UNITS,
  partsOf,
  sizeOf,
  spendWhole,
  stripped,
  textOf,
  type Value,
} from './template-values.ts'

/** The fields of a parsed template's node that are used here. */
interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

/** A node whose value is already known. */
interface Held extends Node {
  readonly type: 'Held'
  readonly held: Value
}

/** The interpreter's methods that its types declare private. */
interface Steps {
  run(program: object): Value
  evaluate(node: Node | undefined, scope: Environment): Value
  evaluateBlock(nodes: readonly Node[], scope: Environment): Value
  evaluateBinaryExpression(node: Node, scope: Environment): Value
  evaluateTestExpression(node: Node, scope: Environment): Value
  evaluateMemberExpression(node: Node, scope: Environment): Value
  evaluateSliceExpression(object: Value, node: Node, scope: Environment): Value
  evaluateFor(node: Node, scope: Environment): Value
  evaluateMacro(node: Node, scope: Environment): Value
  evaluateCallStatement(node: Node, scope: Environment): Value
  applyFilter(operand: Value, filter: Node, scope: Environment): Value
}

type Call = (args: readonly Value[], scope: Environment) => Value

const Base = Interpreter as unknown as new (environment: Environment) => Steps

/** Cost of a step, in units of about a nanosecond. */
const STEP_UNITS = 32
/** Cost of one iteration of a loop, which creates a scope. */
const TURN_UNITS = 256

/** Statements that have a value but write nothing. */
const SILENT: readonly string[] = ['Set', 'Macro', 'Comment']
/** Filters that read the elements of lists. */
const WHOLE: readonly string[] = [
  'tojson',
  'string',
  'join',
  'sort',
  'dictsort',
  'unique',
  'selectattr',
  'rejectattr',
]
const STRIPS = {
  strip: [true, true],
  trim: [true, true],
  lstrip: [true, false],
  rstrip: [false, true],
} as const

/**
 * The library's interpreter, corrected to give Python's results: texts of values, equality, `strip`. It spends
 * its budget before any work whose time or memory depends on the size of its input.
 */
export class TemplateRun extends Base {
  readonly #budget: Budget
  readonly #make: (value: unknown) => Value
  readonly #functionOf: (call: Call) => Value
  /** Cost of a scan of the whole template. */
  readonly #scanUnits: number

  constructor(environment: Environment, budget: Budget, sourceLength: number) {
    super(environment)
    this.#budget = budget
    this.#scanUnits = sourceLength
    const scratch = new Environment()
    this.#make = (value) => {
      scratch.variables.delete('value')
      return scratch.set('value', value)
    }
    const { constructor: made } = this.#make(() => {})
    this.#functionOf = (call) => Reflect.construct(made, [call])
  }

  override evaluate(node: Node | undefined, scope: Environment): Value {
    if (node?.type === 'Held') return (node as Held).held
    this.#budget.spend(STEP_UNITS)
    const value = super.evaluate(node, scope)
    const isSeen = node?.type === 'Identifier' || node?.type === 'MemberExpression'
    this.#budget.spend(sizeOf(value) * (isSeen || typeof value.value === 'string' ? 1 : PART_UNITS))
    return value
  }

  override evaluateBlock(nodes: readonly Node[], scope: Environment): Value {
    let text = ''
    for (const node of nodes) {
      const value = this.evaluate(node, scope)
      if (!SILENT.includes(node.type)) text += textOf(value, this.#budget)
    }
    return this.#make(text)
  }

  evaluateIdentifier(node: Node, scope: Environment): Value {
    for (let at: Environment | undefined = scope; at !== undefined; at = at.parent) {
      this.#budget.spend(1)
      const value = at.variables.get(node['value'] as string)
      if (value !== undefined) return value
    }
    return this.#make(undefined)
  }

  override evaluateBinaryExpression(node: Node, scope: Environment): Value {
    const operator = (node['operator'] as { value: string }).value
    if (operator === 'and' || operator === 'or') return super.evaluateBinaryExpression(node, scope)
    const left = this.evaluate(node['left'] as Node, scope)
    const right = this.evaluate(node['right'] as Node, scope)
    switch (operator) {
      case '==':
        return this.#make(areEqual(left, right, this.#budget))
      case '!=':
        return this.#make(!areEqual(left, right, this.#budget))
      case '~':
        return this.#make(textOf(left, this.#budget) + textOf(right, this.#budget))
      case 'in':
      case 'not in':
        if (Array.isArray(right.value)) {
          const isIn = right.value.some((part) => areEqual(left, part, this.#budget))
          return this.#make(isIn === (operator === 'in'))
        }
        this.#budget.spend((sizeOf(left) * sizeOf(right)) / 16)
        break
      case '+':
        // The library appends a list to a text as text.
        if (left.type !== right.type) for (const each of [left, right]) spendWhole(each, this.#budget)
    }
    return super.evaluateBinaryExpression({ ...node, left: held(left), right: held(right) }, scope)
  }

  override evaluateTestExpression(node: Node, scope: Environment): Value {
    const operand = this.evaluate(node['operand'] as Node, scope)
    const test = (node['test'] as Node)['value']
    const { value } = operand
    if (test === 'iterable' ? value instanceof Map : test === 'number' && typeof value === 'boolean') {
      return this.#make(node['negate'] !== true)
    }
    return super.evaluateTestExpression({ ...node, operand: held(operand) }, scope)
  }

  override evaluateMemberExpression(node: Node, scope: Environment): Value {
    const property = node['property'] as Node
    const isSlice = node['computed'] === true && property.type === 'SliceExpression'
    const object = this.#look(node['object'] as Node, scope, isSlice)
    const found = super.evaluateMemberExpression({ ...node, object: held(object) }, scope)
    if (typeof object.value !== 'string' || found.type !== 'FunctionValue') return found
    const text = object.value
    const name = property['value'] as string
    return this.#functionOf((args, from) => {
      this.#budget.spend(text.length * (PART_UNITS + argumentUnits(args)))
      return this.#strip(text, name, args) ?? (found.value as Call)(args, from)
    })
  }

  override evaluateSliceExpression(object: Value, node: Node, scope: Environment): Value {
    this.#budget.spend(sizeOf(object) * PART_UNITS)
    return super.evaluateSliceExpression(object, node, scope)
  }

  override evaluateFor(node: Node, scope: Environment): Value {
    const given = node['iterable'] as Node
    const isFiltered = given.type === 'SelectExpression'
    const list = this.evaluate(isFiltered ? (given['lhs'] as Node) : given, scope)
    this.#budget.spend(sizeOf(list) * TURN_UNITS)
    const iterable = isFiltered ? { ...given, lhs: held(list) } : held(list)
    return super.evaluateFor({ ...node, iterable }, scope)
  }

  override evaluateMacro(node: Node, scope: Environment): Value {
    this.#budget.spend(this.#scanUnits)
    return super.evaluateMacro(node, scope)
  }

  override evaluateCallStatement(node: Node, scope: Environment): Value {
    this.#budget.spend(this.#scanUnits)
    return super.evaluateCallStatement(node, scope)
  }

  override applyFilter(operand: Value, filter: Node, scope: Environment): Value {
    const isCall = filter.type === 'CallExpression'
    const name = (isCall ? (filter['callee'] as Node) : filter)['value'] as string
    const values: Value[] = []
    const hold = (node: Node): Node => {
      if (node.type === 'KeywordArgumentExpression') return { ...node, value: hold(node['value'] as Node) }
      if (node.type.endsWith('SpreadExpression')) return { ...node, argument: hold(node['argument'] as Node) }
      const value = this.evaluate(node, scope)
      values.push(value)
      // Some filters need their string arguments as written.
      return node.type === 'StringLiteral' ? node : held(value)
    }
    const asked = isCall ? { ...filter, args: (filter['args'] as readonly Node[]).map(hold) } : filter
    const units = PART_UNITS + argumentUnits(values)
    if (WHOLE.includes(name)) spendWhole(operand, this.#budget, units)
    else if (typeof operand.value === 'string') this.#budget.spend(operand.value.length * units)
    if (name === 'string') return this.#make(textOf(operand, this.#budget))
    if (name === 'join' && Array.isArray(operand.value)) {
      const between = values[0]?.value ?? ''
      if (typeof between === 'string') {
        return this.#make(operand.value.map((part) => textOf(part, this.#budget)).join(between))
      }
    }
    const bare =
      name === 'trim' && typeof operand.value === 'string'
        ? this.#strip(operand.value, name, values)
        : undefined
    // The first item of an empty list is undefined.
    return bare ?? super.applyFilter(operand, asked, scope) ?? this.#make(undefined)
  }

  /** The value of a node of which only a part is needed. Costs one step when the value need not be made. */
  #look(node: Node, scope: Environment, isWhole: boolean): Value {
    if (isWhole || (node.type !== 'Identifier' && node.type !== 'MemberExpression'))
      return this.evaluate(node, scope)
    this.#budget.spend(STEP_UNITS)
    return super.evaluate(node, scope)
  }

  #strip(text: string, name: string, [characters]: readonly Value[]): Value | undefined {
    const ends = Object.hasOwn(STRIPS, name) ? STRIPS[name as keyof typeof STRIPS] : undefined
    if (ends === undefined) return undefined
    const given = characters?.value
    return this.#make(stripped(text, typeof given === 'string' ? given : undefined, ends[0], ends[1]))
  }
}

const held = (value: Value): Held => ({ type: 'Held', held: value })

/** By how much arguments can lengthen a result: their characters, or their value when they are numbers. */
function argumentUnits(values: readonly Value[]): number {
  return values.reduce((sum, value) => {
    if (value.value instanceof Map || Array.isArray(value.value))
      return sum + argumentUnits([...(partsOf(value) ?? [])])
    return sum + (typeof value.value === 'number' ? Math.abs(value.value) : sizeOf(value))
  }, 0)
}
