// Types that TypeScript cannot infer in JavaScript blocks: those of elements and form fields.
interface ParentNode {
  // biome-ignore lint/suspicious/noExplicitAny: JavaScript blocks cannot state which element they look up
  querySelector(selectors: string): any
}
interface FormData {
  // biome-ignore lint/suspicious/noExplicitAny: JavaScript blocks cannot state that a field is not a file
  get(name: string): any
}
/** Chrome's extension API. */
// biome-ignore lint/suspicious/noExplicitAny: no package of this repository has its types
declare const chrome: any
