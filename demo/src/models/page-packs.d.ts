// The packs that demo/packs.ts lists at build time.
declare module 'virtual:page-packs' {
  export const PAGE_PACKS: readonly import('./page-pack.ts').PageModel[]
}
