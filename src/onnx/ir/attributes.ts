// Attributes. In: a node and an attribute's name. Out: its value, or the default that the operator states.
import { HalfbyteError } from '../../base/errors.ts'
import type { Attribute, AttributeKind, Node } from './graph.ts'

type ValueOf<K extends AttributeKind> = Extract<Attribute, { kind: K }>['value']

function found<K extends AttributeKind>(node: Node, name: string, kind: K): ValueOf<K> | undefined {
  const attribute = node.attributes.get(name)
  if (attribute === undefined) return undefined
  if (attribute.kind === kind) return attribute.value as never
  throw new HalfbyteError(
    'format',
    `node ${node.name} (${node.op}): its attribute ${name} is of kind ${attribute.kind} where ${kind} is due; ` +
      'export the model again',
    { node: node.name, attribute: name },
  )
}

function or<K extends AttributeKind, F>(node: Node, name: string, kind: K, fallback: F): ValueOf<K> | F {
  return found(node, name, kind) ?? fallback
}

/** Each throws `format` when the attribute has another kind. */
export const intOf = <F extends number | undefined>(node: Node, name: string, fallback: F): number | F =>
  or(node, name, 'int', fallback)
export const flagOf = (node: Node, name: string, fallback = false): boolean =>
  or(node, name, 'int', fallback ? 1 : 0) !== 0
export const intsOf = <F extends readonly number[] | undefined>(
  node: Node,
  name: string,
  fallback: F,
): readonly number[] | F => or(node, name, 'ints', fallback)
export const floatOf = <F extends number | undefined>(node: Node, name: string, fallback: F): number | F =>
  or(node, name, 'float', fallback)
export const stringOf = <F extends string | undefined>(node: Node, name: string, fallback: F): string | F =>
  or(node, name, 'string', fallback)
export const graphOf = (node: Node, name: string): ValueOf<'graph'> | undefined => found(node, name, 'graph')
