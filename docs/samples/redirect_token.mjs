// redirect_token.mjs
import { createHmac, timingSafeEqual } from "node:crypto";

// Whether the redirect proves the pass of the session you created for this shopper.
// queryString is what follows the "?" of the redirect, secret is rdsec_... An empty or
// damaged secret confirms nothing: under it, anybody could sign.
export function isPass(queryString, expectedSession, secret) {
  if (!/^rdsec_(test|live)_[A-Za-z0-9+/]{43}=$/.test(secret)) return false; // 32 bytes
  const query = new URLSearchParams(queryString);
  const names = ["session", "status", "is_adult", "token"];
  if (names.some((name) => query.getAll(name).length !== 1)) return false;
  const [session, status, isAdult, token] = names.map((name) => query.get(name));
  const expiresTs = token.split(".")[0];
  const key = Buffer.from(secret.replace(/^rdsec_(test|live)_/, ""), "base64");
  const text = [session, status, isAdult, expiresTs].join("|");
  const mac = createHmac("sha256", key).update(text).digest("base64url");
  const wanted = Buffer.from(`${expiresTs}.${mac}`);
  const given = Buffer.from(token);
  return given.length === wanted.length && timingSafeEqual(given, wanted)
    && Date.now() / 1000 <= Number(expiresTs)
    && session === expectedSession && status === "VERIFIED" && isAdult === "true";
}
