export declare const ERROR_PAGE: string
export declare function errorPage(): string
