// redirect.js

// Whether a redirect to your Success URL proves the pass of the session that you created for this
// shopper. queryString is what follows the "?" of the address, as received. While a secret is being
// replaced, give the old and the new one. An empty or damaged secret is a TypeError: under it,
// anybody could sign.
export async function verifyRedirect(queryString, session, ...secrets) {
  if (secrets.length === 0 || !secrets.every((secret) => /^rdsec_(test|live)_[A-Za-z0-9+/]{43}=$/.test(secret))) { // 32 bytes
    throw new TypeError("A redirect secret must be rdsec_test_ or rdsec_live_ and 32 bytes in base64.");
  }
  const query = new URLSearchParams(queryString);
  const names = ["session", "status", "is_adult", "token"];
  if (names.some((name) => query.getAll(name).length !== 1)) return false;
  const [given = "", status = "", isAdult = "", token = ""] = names.map((name) => query.get(name) ?? "");
  const [, expiresTs, encoded] = /^(\d{1,15})\.([\w-]{42}[AEIMQUYcgkosw048])$/.exec(token) ?? []; // 32 bytes
  if (!expiresTs || !encoded) return false;
  const text = new TextEncoder().encode([given, status, isAdult, expiresTs].join("|"));
  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const mac = bytes(encoded.replaceAll("-", "+").replaceAll("_", "/") + "=");
  let signed = false;
  for (const secret of secrets) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", bytes(secret.slice("rdsec_test_".length)), algorithm, false, ["verify"]);
    if (await crypto.subtle.verify("HMAC", key, mac, text)) signed = true; // compares in constant time
  }
  return signed && Date.now() / 1000 <= Number(expiresTs)
    && given === session && status === "VERIFIED" && isAdult === "true";
}
