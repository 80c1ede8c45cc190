// A small identity provider of OpenID Connect. On its page, users type the group
// that they want to be in. Its only client is "gate".
import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const secret = "e2e client secret";
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts the provider; url is its issuer, and secret that of its client. */
export async function startProvider() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map();
  let url;

  const token = ({ nonce, group }) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: "gate", sub: "grace", name: "Grace", nonce, iat: now, exp: now + 300, auth_time: now, groups: [group] };
    const signed = `${encoded({ alg: "RS256", kid: "1" })}.${encoded(claims)}`;
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(privateKey, "base64url")}`;
  };
  const answers = {
    "/.well-known/openid-configuration": () => ({
      issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token`, jwks_uri: `${url}/keys`,
      id_token_signing_alg_values_supported: ["RS256"],
    }),
    "/keys": () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" }] }),
    "/token": (form) => {
      const asked = codes.get(form.get("code"));
      codes.delete(form.get("code"));
      const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
      return asked?.challenge === challenge ? { access_token: "none", token_type: "Bearer", id_token: token(asked) } : null;
    },
  };
  const server = createServer(async (req, res) => {
    const asked = new URL(req.url, url);
    let body = "";
    for await (const chunk of req) body += chunk;
    if (asked.pathname === "/authorize") {
      const group = asked.searchParams.get("group");
      if (!group) {
        const kept = [...asked.searchParams].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`).join("");
        res.setHeader("Content-Type", "text/html");
        return res.end(`<!doctype html><html lang="en"><title>Provider</title><form>${kept}<input name="group" aria-label="Group"><button>Go on</button></form></html>`);
      }
      const code = randomUUID();
      codes.set(code, { challenge: asked.searchParams.get("code_challenge"), nonce: asked.searchParams.get("nonce"), group });
      const back = new URL(asked.searchParams.get("redirect_uri"));
      back.search = new URLSearchParams({ code, state: asked.searchParams.get("state") }).toString();
      return res.writeHead(303, { Location: back.href }).end();
    }
    const answer = answers[asked.pathname]?.(new URLSearchParams(body));
    const refused = asked.pathname in answers ? 400 : 404;
    return res.writeHead(answer ? 200 : refused, { "Content-Type": "application/json" }).end(JSON.stringify(answer ?? { error: "invalid_grant" }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}`;
  return { url, secret, stop: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}
