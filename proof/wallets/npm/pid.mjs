// The EU's person identification data (PID) as SD-JWT, issued and presented by
// @sd-jwt/core; the keys and hashes are Node.js's.
import { createHash, createPrivateKey, randomBytes, sign } from "node:crypto";
import { SDJwtInstance } from "@sd-jwt/core";

export const typePID = "urn:eudi:pid:1";

/** An instance that signs with a JWK for the issuer, the holder, or both. */
function instance(issuer, holder) {
  const signer = (jwk) => (text) =>
    sign("sha256", Buffer.from(text), { key: createPrivateKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" }).toString("base64url");
  return new SDJwtInstance({
    omitTyp: true,
    hashAlg: "sha-256",
    hasher: (data, algorithm) => new Uint8Array(createHash(algorithm.replace("-", "")).update(Buffer.from(data)).digest()),
    saltGenerator: (length) => randomBytes(length).toString("base64url"),
    ...(issuer && { signer: signer(issuer), signAlg: "ES256" }),
    ...(holder && { kbSigner: signer(holder), kbSignAlg: "ES256" }),
  });
}

/** Issues a PID whose statements of age and birth date are disclosed one by one. */
export async function issuePID({ age, signer, key, device }) {
  const now = Math.floor(Date.now() / 1000);
  const { kty, crv, x, y } = device;
  const over = Object.fromEntries([16, 18, 21].map((n) => [n, age >= n]));
  const claims = { birthdate: `${new Date().getFullYear() - age - 1}-01-01`, age_equal_or_over: over };
  const issued = await instance(key).issue(
    { vct: typePID, iss: "https://issuer.example", iat: now - 60, exp: now + 3600, cnf: { jwk: { kty, crv, x, y } }, ...claims },
    { _sd: ["birthdate"], age_equal_or_over: { _sd: Object.keys(over) } },
    { header: { typ: "dc+sd-jwt", x5c: [signer] } },
  );
  return { claims, issued };
}

/** Presents what output names of a PID, bound to a verifier and a nonce. */
export function presentPID({ issued, device }, output, aud, nonce) {
  const frame = (value) => (value !== null && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, frame(v)])) : true);
  return instance(null, device).present(issued, frame(output), { kb: { payload: { iat: Math.floor(Date.now() / 1000), aud, nonce } } });
}
