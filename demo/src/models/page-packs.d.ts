// What demo/packs.ts lists at the time of the build.
declare module 'virtual:page-packs' {
  export const PAGE_PACKS: readonly import('./page-pack.ts').PageModel[]
}
