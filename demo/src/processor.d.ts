// The address of a logit processor's script: demo/processors.ts.
declare module '*?processor' {
  const address: string
  export default address
}
