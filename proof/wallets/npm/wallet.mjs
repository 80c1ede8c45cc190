// A wallet of packages that others wrote, unmodified: it reads and checks
// requests, finds the document that answers, and presents it. What is written
// here only passes values from one package to the next.
import { createHash, generateKeyPairSync, X509Certificate } from "node:crypto";
import { CipherSuite, DhkemP256HkdfSha256, HkdfSha256, Aes128Gcm } from "@hpke/core";
import { setGlobalConfig } from "@openid4vc/oauth2";
import { Openid4vpClient } from "@openid4vc/openid4vp";
import { CoseKey, DeviceKey, DeviceRequest, DocRequest, Holder, Issuer, ItemsRequest, SessionTranscript, cborDecode, cborEncode } from "@owf/mdoc";
import { DcqlQuery } from "dcql";
import { CompactEncrypt, calculateJwkThumbprint, importJWK, importX509, jwtVerify } from "jose";
import jsQR from "jsqr";
import { PNG } from "pngjs";
import { browserTranscript, checkChain, context } from "./mdoc.mjs";
import { issuePID, presentPID, typePID } from "./pid.mjs";

const ES256 = -7;
const noDocument = "the wallet has no such document";
const usageReader = "1.0.18013.5.1.6";

/** The error of a wallet that does not answer a request. */
class Refusal extends Error {}

/** The refusal that caused an error, if one did: the packages wrap it. */
export const refusalOf = (error) => [error, error.cause].find((e) => e instanceof Refusal);

const refuse = (why) => {
  throw new Refusal(why);
};

/** Lets wallets answer verifiers without TLS, such as those on this machine. */
export const allowInsecure = () => setGlobalConfig({ allowInsecureUrls: true });

/** Issues a document with every statement of age of a holder to a new wallet. */
export async function issue({ docType, namespace, age = 30, signer, key }) {
  const device = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
  const authority = authorityOf(Buffer.from(signer, "base64"));
  if (docType === typePID) return { docType, device, authority, ...(await issuePID({ age, signer, key, device })) };
  const statements = { family_name: "Mustermann" };
  for (let n = 10; n < 100; n++) statements[`age_over_${n}`] = age >= n;
  const signed = new Date(Date.now() - 60_000);
  const certificate = Buffer.from(signer, "base64");
  const issuerSigned = await new Issuer(docType, context).addIssuerNamespace(namespace, statements).sign({
    signingKey: CoseKey.fromJwk({ ...key, alg: "ES256" }),
    algorithm: ES256,
    digestAlgorithm: "SHA-256",
    validityInfo: { signed, validFrom: signed, validUntil: new Date(Date.now() + 3_600_000) },
    deviceKeyInfo: { deviceKey: DeviceKey.fromJwk({ kty: device.kty, crv: device.crv, x: device.x, y: device.y }) },
    certificates: [new Uint8Array(certificate)],
  });
  return { docType, namespace, statements, issuerSigned, key: CoseKey.fromJwk({ ...device, alg: "ES256" }), authority };
}

/** The key identifier of the certificate's issuer, in base64url, as requests name trusted issuers. */
function authorityOf(certificate) {
  const der = Buffer.from(certificate);
  const at = der.indexOf(Buffer.from("0603551d23", "hex")); // the extension authorityKeyIdentifier
  const length = der[at + 10];
  return der.subarray(at + 11, at + 11 + length).toString("base64url");
}

/**
 * A wallet with one document. roots are certificates (DER, base64) of those who
 * register verifiers; strict says that only registered verifiers are answered.
 * hosts maps origins to the addresses that stand for them in a test.
 */
export class Wallet {
  constructor({ document, roots = [], strict = false, hosts = {} }) {
    this.document = document;
    this.roots = roots.map((r) => Buffer.from(r, "base64"));
    this.strict = strict;
    this.hosts = hosts;
    this.client = new Openid4vpClient({ callbacks: this.#callbacks() });
  }

  #callbacks() {
    return {
      fetch: (url, options) => fetch(this.#address(url), options),
      hash: (data, algorithm) => new Uint8Array(createHash(algorithm.replace("-", "")).update(data).digest()),
      verifyJwt: async (signer, { compact }) => {
        if (signer.method !== "x5c") return { verified: false };
        this.#registered(signer.x5c.map((c) => Buffer.from(c, "base64")));
        const leaf = new X509Certificate(Buffer.from(signer.x5c[0], "base64"));
        await jwtVerify(compact, await importX509(leaf.toString(), signer.alg), { audience: "https://self-issued.me/v2" });
        return { verified: true, signerJwk: leaf.publicKey.export({ format: "jwk" }) };
      },
      encryptJwe: async ({ publicJwk, alg, enc, apu, apv }, data) => {
        const encrypter = new CompactEncrypt(new TextEncoder().encode(data)).setProtectedHeader({ alg, enc, kid: publicJwk.kid });
        encrypter.setKeyManagementParameters({ ...(apu && { apu: Buffer.from(apu, "base64url") }), ...(apv && { apv: Buffer.from(apv, "base64url") }) });
        return { encryptionJwk: publicJwk, jwe: await encrypter.encrypt(await importJWK(publicJwk, alg)) };
      },
      decryptJwe: () => ({ decrypted: false }),
      signJwt: () => refuse("the wallet signs no JWT"),
      getX509CertificateMetadata: (certificate) => {
        const names = new X509Certificate(Buffer.from(certificate, "base64")).subjectAltName?.split(", ") ?? [];
        const of = (kind) => names.flatMap((n) => (n.startsWith(kind) ? [n.slice(kind.length)] : []));
        return { sanDnsNames: of("DNS:"), sanUriNames: of("URI:") };
      },
    };
  }

  #address(url) {
    for (const [host, address] of Object.entries(this.hosts)) if (String(url).startsWith(host)) return address + String(url).slice(host.length);
    return url;
  }

  /** Refuses a verifier that nobody registered. */
  #registered(chain) {
    try {
      checkChain(chain, this.roots);
    } catch (error) {
      refuse(`verifier: ${error.message}`);
    }
  }

  /** Reads the link in a picture of a QR code. */
  static scan(png) {
    const { data, width, height } = PNG.sync.read(png);
    return jsQR(new Uint8ClampedArray(data), width, height)?.data ?? refuse("the QR code cannot be read");
  }

  /** Answers a link. Returns the status and the body of the verifier's answer. */
  async answer(link) {
    const { params } = this.client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link });
    const { request, response } = await this.#respond(params, {});
    const { response: posted } = await this.client.submitOpenid4vpAuthorizationResponse({ authorizationRequestPayload: request, ...response });
    return { status: posted.status, body: await posted.text(), contentType: posted.headers.get("content-type") };
  }

  /** Answers a link by declining, as OpenID4VP 1.0, 8.5 says. */
  async decline(link) {
    const { params } = this.client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link });
    const resolved = await this.client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: params });
    const { response_uri: to, state } = resolved.authorizationRequestPayload;
    const posted = await fetch(this.#address(to), { method: "POST", body: new URLSearchParams({ error: "access_denied", ...(state && { state }) }) });
    return { status: posted.status, body: await posted.text() };
  }

  /** Answers the requests of a page like the Digital Credentials API: the first one of the given protocols that the wallet can answer. */
  async present(requests, origin, protocols) {
    let refused = null; // by the request for the wallet's document, if there is one
    for (const { protocol, data } of requests.filter((r) => protocols.includes(r.protocol))) {
      try {
        return { protocol, data: protocol === "org-iso-mdoc" ? await this.#mdoc(data, origin) : await this.#openid(data, origin) };
      } catch (error) {
        if (!refusalOf(error)) throw error;
        if (error.message !== noDocument) refused = error;
      }
    }
    throw refused ?? new Refusal(noDocument);
  }

  async #openid(data, origin) {
    const { response } = await this.#respond(data, { origin });
    return { response: response.jarm.responseJwt };
  }

  /** Checks a request and makes the response. */
  async #respond(payload, { origin }) {
    const resolved = await this.client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: payload, origin });
    const { authorizationRequestPayload: request, client, dcql } = resolved;
    if (this.strict && !resolved.jar) refuse(`client identifier ${client.prefix} is not accepted`);
    const token = await this.#token(dcql.query, request, client.effective, origin);
    const encrypted = request.response_mode.endsWith(".jwt");
    const response = await this.client.createOpenid4vpAuthorizationResponse({
      authorizationRequestPayload: request,
      origin,
      authorizationResponsePayload: { vp_token: token },
      ...(encrypted && {
        jarm: {
          encryption: { nonce: "" },
          serverMetadata: {
            authorization_signing_alg_values_supported: [],
            authorization_encryption_alg_values_supported: ["ECDH-ES"],
            authorization_encryption_enc_values_supported: ["A256GCM", "A128GCM"],
          },
        },
      }),
    });
    return { request, response };
  }

  /** The vp_token for a query. */
  async #token(asked, request, clientId, origin) {
    const { docType, namespace, statements, claims, authority } = this.document;
    const query = DcqlQuery.parse(asked);
    DcqlQuery.validate(query);
    const common = { cryptographic_holder_binding: true, authority: { type: "aki", values: [authority] } };
    const result = DcqlQuery.query(query, [
      claims ? { credential_format: "dc+sd-jwt", vct: docType, claims, ...common } : { credential_format: "mso_mdoc", doctype: docType, namespaces: { [namespace]: statements }, ...common },
    ]);
    if (!result.can_be_satisfied) refuse(noDocument);
    const [id, match] = Object.entries(result.credential_matches).find(([, m]) => m.success);
    const { output } = match.valid_credentials[0].claims.valid_claim_sets[0];
    if (claims) return { [id]: [await presentPID(this.document, output, origin ? `origin:${origin}` : clientId, request.nonce)] };
    const jwk = request.response_mode.endsWith(".jwt") ? request.client_metadata.jwks.keys[0] : undefined;
    const bound = { nonce: request.nonce, ...(jwk && { jwkThumbprint: new Uint8Array(Buffer.from(await calculateJwkThumbprint(jwk), "base64url")) }) };
    const transcript = origin
      ? await SessionTranscript.forOid4VpDcApi({ origin, ...bound }, context)
      : await SessionTranscript.forOid4Vp({ clientId, responseUri: request.response_uri, ...bound }, context);
    const elements = Object.fromEntries(Object.keys(output[namespace]).map((name) => [name, false]));
    const deviceRequest = DeviceRequest.create({ docRequests: [DocRequest.create({ itemsRequest: ItemsRequest.create({ docType, namespaces: { [namespace]: elements } }) })] });
    return { [id]: [Buffer.from((await this.#device(deviceRequest, transcript)).encode()).toString("base64url")] };
  }

  #device(deviceRequest, sessionTranscript) {
    const { issuerSigned, key } = this.document;
    return Holder.createDeviceResponseForDeviceRequest({ deviceRequest, sessionTranscript, issuerSigned: [issuerSigned], signature: { signingKey: key } }, context);
  }

  /** Answers a request of ISO/IEC 18013-7, Annex C. */
  async #mdoc({ deviceRequest: encoded, encryptionInfo }, origin) {
    const deviceRequest = DeviceRequest.decode(new Uint8Array(Buffer.from(encoded, "base64url")));
    if (!deviceRequest.docRequests.some((r) => r.itemsRequest.docType === this.document.docType)) refuse(noDocument);
    const transcript = browserTranscript(encryptionInfo, origin);
    await Holder.verifyDeviceRequest({ deviceRequest, sessionTranscript: transcript }, context);
    if (this.strict) {
      for (const { readerAuth } of deviceRequest.docRequests) {
        if (!readerAuth) refuse("the reader is not authenticated");
        this.#registered(readerAuth.certificateChain.map((c) => Buffer.from(c)));
        if (!new X509Certificate(readerAuth.certificate).keyUsage?.includes(usageReader)) refuse("the certificate is not a reader's");
      }
    }
    const [, parameters] = cborDecode(new Uint8Array(Buffer.from(encryptionInfo, "base64url")));
    const recipient = parameters.get("recipientPublicKey");
    const suite = new CipherSuite({ kem: new DhkemP256HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() });
    const point = Buffer.concat([Buffer.from([4]), recipient.get(-2), recipient.get(-3)]);
    const sender = await suite.createSenderContext({ recipientPublicKey: await suite.kem.deserializePublicKey(point), info: transcript.encode() });
    const cipherText = new Uint8Array(await sender.seal((await this.#device(deviceRequest, transcript)).encode()));
    const response = cborEncode(["dcapi", new Map([["enc", new Uint8Array(sender.enc)], ["cipherText", cipherText]])]);
    return { response: Buffer.from(response).toString("base64url") };
  }
}
