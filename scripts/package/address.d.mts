export interface AddressFields {
  readonly homepage: string
  readonly bugs: { readonly url: string }
  readonly repository: { readonly type: string; readonly url: string }
}
export declare const PLACEHOLDER: string
export declare function addressFields(address: string | undefined): AddressFields
export declare function checkAddress(fields: Partial<AddressFields>): void
