// redirect.d.ts

/**
 * Whether a redirect to your Success URL proves the pass of the session that you created for this
 * shopper. `queryString` is what follows the "?" of the address, as received. While a secret is
 * being replaced, give the old and the new one. An empty or damaged secret is a TypeError.
 */
export declare function verifyRedirect(queryString: string, session: string, ...secrets: string[]): Promise<boolean>;
