// Types. In: nothing. Out: the types that JSON knows, and which keywords of a schema belong to each.

/** A type that JSON knows, and the keywords that speak of it only. */
export type Type = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
export const KEYWORDS_OF: Readonly<Record<Type, readonly string[]>> = {
  object: [
    ...['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
    ...['minProperties', 'maxProperties'],
  ],
  array: ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}
export const TYPES = Object.keys(KEYWORDS_OF) as readonly Type[]
