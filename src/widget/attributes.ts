// Attributes. In: the text of an attribute. Out: the property's value.

/** A JSON list of texts, or texts with `|` between them. */
export function listOf(value: string | null): readonly string[] {
  if (value === null) return []
  try {
    const parsed: unknown = JSON.parse(value)
    if (Array.isArray(parsed)) return parsed.map(String)
  } catch {
    // It is no JSON, so it is plain text.
  }
  return value
    .split('|')
    .map((text) => text.trim())
    .filter((text) => text !== '')
}
