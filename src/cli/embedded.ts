// Embedded models. In: nothing. Out: the models that lie beside this program, by the names under which they
// are typed.

export interface EmbeddedModel {
  /** What is typed in place of a path. */
  readonly id: string
  /** File in the folder of embedded models. */
  readonly file: string
  /** One sentence that helps a person choose. */
  readonly about: string
}

/** The chat page's own model first. */
export const EMBEDDED: readonly EmbeddedModel[] = [
  {
    id: 'embedded',
    file: 'halfbyte-stories.hbm',
    about: 'A small Llama that tells stories, makes small talk and uses tools. It knows no facts.',
  },
  {
    id: 'embedded-mamba',
    file: 'halfbyte-mamba.hbm',
    about: 'Halfbyte Stories without attention: long conversations take no more memory than short ones.',
  },
]

export const embeddedModel = (id: string): EmbeddedModel | undefined =>
  EMBEDDED.find((model) => model.id === id)

/** For help and messages: `"a", "b" or "c"`. */
export const EMBEDDED_NAMES = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
  EMBEDDED.map(({ id }) => `"${id}"`),
)
