// Types. In: nothing. Out: the types of JSON, and the schema keywords that belong to each.

/** A JSON type, and the keywords that apply only to it. */
export type Type = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
export const KEYWORDS_OF: Readonly<Record<Type, readonly string[]>> = {
  object: [
    ...['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
    ...['minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas'],
  ],
  array: [
    ...['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
    ...['contains', 'minContains', 'maxContains'],
  ],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}
export const TYPES = Object.keys(KEYWORDS_OF) as readonly Type[]
