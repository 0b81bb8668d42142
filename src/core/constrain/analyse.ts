// Analyses a complete grammar: which nodes can be empty, which can match anything, and whether it must be
// rejected.
import { memo } from '../base/values.ts'
import { type GrammarNodes, NODE, type NodeId, UNBOUNDED } from './grammar-nodes.ts'
import { refused, tooLarge } from './refuse.ts'

/** An analysed grammar, ready for the automaton. */
export interface Analysed {
  readonly grammar: GrammarNodes
  readonly root: NodeId
  /** For each node: 1 if some text matches it. Branches that match nothing are never entered. */
  readonly productive: Uint8Array
  /**
   * For each node: 1 if it matches a single character, i.e. consists only of alternatives and sequences of a
   * few bytes.
   */
  readonly isCharacter: Uint8Array
}

/**
 * Makes the bodies of repetitions non-empty, so that the automaton never loops without a byte. Throws
 * `unsupported` for left recursion and for a grammar that no text matches.
 */
export function analyse(grammar: GrammarNodes, root: NodeId): Analysed {
  fillRepeats(grammar, flags(grammar, isNullable))
  const nullable = flags(grammar, isNullable)
  const productive = flags(grammar, isProductive)
  if (productive[root] === 0) {
    throw refused('matches no text that this model can generate', 'remove the contradiction in it')
  }
  refuseLeftRecursion(grammar, root, nullable, productive)
  return { grammar, root, productive, isCharacter: characters(grammar) }
}

type Test = (grammar: GrammarNodes, node: NodeId, flag: (child: NodeId) => boolean) => boolean

/**
 * A flag of leaves that propagates to their parents: a choice has it if any option has it, and other nodes
 * have it if all of their parts do.
 */
const rising =
  (isLeaf: (grammar: GrammarNodes, node: NodeId) => boolean): Test =>
  (grammar, node, flag) => {
    switch (grammar.kinds[node]) {
      case NODE.empty:
      case NODE.bytes:
      case NODE.token:
        return isLeaf(grammar, node)
      case NODE.alt:
        return grammar.children(node).some(flag)
      case NODE.repeat:
        return grammar.b[node] === 0 || flag(grammar.a[node]!)
      default:
        return grammar.children(node).every(flag)
    }
  }

const isNullable = rising((grammar, node) => grammar.kinds[node] === NODE.empty)

const isProductive = rising((grammar, node) => node !== grammar.never)

/**
 * The smallest set of flags that satisfies `test`. A node is tested again when the flag of a child is set.
 */
function flags(grammar: GrammarNodes, test: Test): Uint8Array {
  const result = new Uint8Array(grammar.size)
  const parents: NodeId[][] = Array.from({ length: grammar.size }, () => [])
  for (let node = 0; node < grammar.size; node++) {
    for (const child of grammar.children(node)) parents[child]!.push(node)
  }
  const flag = (child: NodeId) => result[child] === 1
  const open = Array.from({ length: grammar.size }, (_, index) => grammar.size - 1 - index)
  while (open.length > 0) {
    const node = open.pop()!
    if (result[node] === 1 || !test(grammar, node, flag)) continue
    result[node] = 1
    for (const parent of parents[node]!) open.push(parent)
  }
  return result
}

const MAX_DEPTH = 1000

/** If the body of a repetition can be empty, replaces it by one that cannot. The language stays the same. */
function fillRepeats(grammar: GrammarNodes, nullable: Uint8Array): void {
  const filled = new Map<NodeId, NodeId>()
  const isEmpty = (node: NodeId) => nullable[node] === 1
  // `fill` adds nodes only for bodies that have already been filled, so the list of initial nodes is
  // complete.
  let depth = 0
  const fill = (node: NodeId): NodeId => {
    if (!isEmpty(node)) return node
    return memo(filled, node, () => {
      if (++depth > MAX_DEPTH)
        throw tooLarge('nested repetitions of parts that may be empty', depth, MAX_DEPTH)
      const result = filledNode(node)
      depth -= 1
      return result
    })
  }
  const filledNode = (node: NodeId): NodeId => {
    const { a, b, c } = grammar
    switch (grammar.kinds[node]) {
      case NODE.empty:
        return grammar.never
      case NODE.seq:
        return grammar.alt(grammar.seq(fill(a[node]!), b[node]!), fill(b[node]!))
      case NODE.alt:
        return grammar.alt(...grammar.children(node).map(fill))
      case NODE.repeat:
        return grammar.repeat(fill(a[node]!), 1, c[node]!)
      case NODE.distinct:
        return grammar.distinct(fill(a[node]!))
      default: {
        const { name, framed, body } = grammar.rules[a[node]!]!
        const result = grammar.declare(`${name}, not empty`, framed)
        filled.set(node, result)
        grammar.define(result, fill(body!))
        return result
      }
    }
  }
  const known = grammar.size
  for (let node = 0; node < known; node++) {
    if (grammar.kinds[node] !== NODE.repeat || !isEmpty(grammar.a[node]!)) continue
    grammar.a[node] = fill(grammar.a[node]!)
    grammar.b[node] = 0
  }
}

/** Throws if a rule can begin with itself, because then the automaton would never reach a first byte. */
function refuseLeftRecursion(
  grammar: GrammarNodes,
  root: NodeId,
  nullable: Uint8Array,
  productive: Uint8Array,
): void {
  const UNSEEN = 0
  const OPEN = 1
  const DONE = 2
  const state = new Uint8Array(grammar.size)
  const path: { node: NodeId; next: readonly NodeId[]; at: number }[] = []
  const firsts = (node: NodeId): readonly NodeId[] => {
    const children = grammar.children(node)
    const first = grammar.kinds[node] === NODE.seq && nullable[children[0]!] === 0 ? [children[0]!] : children
    return first.filter((child) => productive[child] === 1)
  }
  const enter = (node: NodeId) => {
    state[node] = OPEN
    path.push({ node, next: firsts(node), at: 0 })
  }
  // A rule that is reachable, but never at the beginning of another, is a separate root.
  const roots = [root, ...grammar.kinds.keys()].filter(
    (node) => node === root || (grammar.kinds[node] === NODE.rule && productive[node] === 1),
  )
  for (const start of roots) {
    if (state[start] !== UNSEEN) continue
    enter(start)
    while (path.length > 0) {
      const top = path.at(-1)!
      const child = top.next[top.at++]
      if (child === undefined) {
        state[top.node] = DONE
        path.pop()
      } else if (state[child] === UNSEEN) enter(child)
      else if (state[child] === OPEN) {
        const names = path.filter(({ node }) => grammar.kinds[node] === NODE.rule)
        const name = grammar.rules[grammar.a[names.at(-1)!.node]!]!.name
        throw refused(
          `has the left-recursive rule ${name}`,
          'write the recursion at the end, or as a repetition',
          { rule: name },
        )
      }
    }
  }
}

/** Maximum number of nodes and levels below a node that counts as one character. */
const MAX_CHARACTER_NODES = 2000
const MAX_CHARACTER_DEPTH = 64

const NOT_CHARACTERS: ReadonlySet<number> = new Set([NODE.empty, NODE.token, NODE.distinct, NODE.check])

/** Marks the nodes that consist of a few bytes in sequences, alternatives and bounded repetitions. */
function characters(grammar: GrammarNodes): Uint8Array {
  /** Number of nodes below; infinite if the node is not a character; NaN until computed. */
  const sizes = new Float64Array(grammar.size).fill(Number.NaN)
  const sizeOf = (node: NodeId, depth: number): number => {
    const known = sizes[node]!
    if (!Number.isNaN(known)) return known
    // Initial value: a rule that refers to itself is not a character.
    sizes[node] = UNBOUNDED
    const kind = grammar.kinds[node]
    if (NOT_CHARACTERS.has(kind!) || depth > MAX_CHARACTER_DEPTH) return UNBOUNDED
    const times = kind === NODE.repeat ? grammar.c[node]! : 1
    const size = grammar.children(node).reduce((sum, child) => sum + sizeOf(child, depth + 1) * times, 1)
    sizes[node] = size <= MAX_CHARACTER_NODES ? size : UNBOUNDED
    return sizes[node]
  }
  // In ascending order, because the parts of a node mostly have lower numbers than the node itself.
  for (let node = 0; node < grammar.size; node++) sizeOf(node, 0)
  return Uint8Array.from(sizes, (size) => Number(size < UNBOUNDED))
}
