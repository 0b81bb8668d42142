// What is used of protobufjs: type checks must not need the peers' workspace to be installed.
declare module 'protobufjs/minimal.js' {
  export interface Writer {
    uint32(value: number): Writer
    int32(value: number): Writer
    int64(value: number): Writer
    float(value: number): Writer
    string(value: string): Writer
    bytes(value: Uint8Array): Writer
    fork(): Writer
    ldelim(): Writer
    finish(): Uint8Array
  }
  const protobuf: { readonly Writer: { create(): Writer } }
  export default protobuf
}
