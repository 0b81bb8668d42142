// What TypeScript cannot know in blocks of JavaScript: the kind of an element, and of what a form has.
interface ParentNode {
  // biome-ignore lint/suspicious/noExplicitAny: blocks of JavaScript cannot say which element they look for
  querySelector(selectors: string): any
}
interface FormData {
  // biome-ignore lint/suspicious/noExplicitAny: blocks of JavaScript cannot say that a field is not a file
  get(name: string): any
}
/** Extensions of Chrome. */
// biome-ignore lint/suspicious/noExplicitAny: no package of this repository has its types
declare const chrome: any
