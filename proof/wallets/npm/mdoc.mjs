// What the mobile documents' library leaves to its user: cryptography by Node.js,
// and the session transcript of ISO/IEC 18013-7, Annex C.
import { createHash, createPublicKey, createPrivateKey, diffieHellman, hkdfSync, createHmac, randomBytes, sign, verify, X509Certificate } from "node:crypto";
import { CoseKey, QrHandover, SessionTranscript, cborEncode } from "@owf/mdoc";
import { z } from "zod";

const hashes = { "-7": "sha256", "-35": "sha384", "-36": "sha512" };
const hashOf = (algorithm) => hashes[algorithm] ?? fail(`algorithm ${algorithm}`);
const fail = (what) => {
  throw new Error(`the wallet does not support ${what}`);
};

const publicKeyOf = ({ jwk: { kty, crv, x, y } }) => createPublicKey({ key: { kty, crv, x, y }, format: "jwk" });

/** Checks that the first certificate leads to one of the trusted ones and that all are valid now. */
export function checkChain(x5chain, trusted, now = new Date()) {
  const chain = x5chain.map((der) => new X509Certificate(der));
  const roots = trusted.map((der) => new X509Certificate(der));
  for (const [n, certificate] of chain.entries()) {
    if (now < new Date(certificate.validFrom) || now > new Date(certificate.validTo)) throw new Error("a certificate is not valid now");
    const next = chain[n + 1];
    const issuers = next ? [next] : roots;
    const issued = issuers.some((i) => i.ca && certificate.checkIssued(i) && certificate.verify(i.publicKey));
    if (!issued) throw new Error("a certificate has no trusted issuer");
    if (roots.some((r) => r.fingerprint256 === certificate.fingerprint256)) throw new Error("the chain includes the trust anchor");
  }
}

export const context = {
  crypto: {
    random: (length) => new Uint8Array(randomBytes(length)),
    digest: ({ digestAlgorithm, bytes }) => new Uint8Array(createHash(digestAlgorithm.replace("-", "").toLowerCase()).update(bytes).digest()),
    calculateEphemeralMacKey: ({ privateKey, publicKey, sessionTranscriptBytes, info }) => {
      const point = Buffer.from(publicKey);
      const jwk = { kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") };
      const own = createPrivateKey({ key: sec1(Buffer.from(privateKey)), format: "der", type: "sec1" });
      const shared = diffieHellman({ privateKey: own, publicKey: createPublicKey({ key: jwk, format: "jwk" }) });
      const salt = createHash("sha256").update(sessionTranscriptBytes).digest();
      const k = Buffer.from(hkdfSync("sha256", shared, salt, info, 32));
      return CoseKey.fromJwk({ kty: "oct", k: k.toString("base64url"), alg: "HS256" });
    },
  },
  cose: {
    sign1: {
      sign: ({ toBeSigned, key, algorithm }) => {
        const { kty, crv, x, y, d } = key.jwk;
        const own = createPrivateKey({ key: { kty, crv, x, y, d }, format: "jwk" });
        return new Uint8Array(sign(hashOf(algorithm ?? key.algorithm ?? -7), toBeSigned, { key: own, dsaEncoding: "ieee-p1363" }));
      },
      verify: ({ key, sign1 }) => {
        const hash = hashOf(sign1.protectedHeaders.headers.get(1));
        return verify(hash, sign1.toBeSigned, { key: publicKeyOf(key), dsaEncoding: "ieee-p1363" }, sign1.signature);
      },
    },
    mac0: {
      sign: ({ key, toBeAuthenticated }) => new Uint8Array(createHmac("sha256", key.k).update(toBeAuthenticated).digest()),
      verify: () => fail("MACs of others"),
    },
  },
  x509: {
    getIssuerNameField: ({ certificate, field }) =>
      new X509Certificate(certificate).issuer.split("\n").flatMap((line) => (line.startsWith(`${field}=`) ? [line.slice(field.length + 1)] : [])),
    getPublicKey: ({ certificate }) => CoseKey.fromJwk(new X509Certificate(certificate).publicKey.export({ format: "jwk" })),
    verifyCertificateChain: ({ trustedCertificates, x5chain, now }) => checkChain(x5chain, trustedCertificates, now),
    getCertificateData: ({ certificate }) => {
      const c = new X509Certificate(certificate);
      return {
        issuerName: c.issuer, subjectName: c.subject, serialNumber: c.serialNumber, thumbprint: c.fingerprint256,
        notBefore: new Date(c.validFrom), notAfter: new Date(c.validTo), pem: c.toString(),
      };
    },
  },
};

/** A P-256 private key in SEC 1's form, without its public key. */
const sec1 = (d) => Buffer.concat([Buffer.from("30310201010420", "hex"), d, Buffer.from("a00a06082a8648ce3d030107", "hex")]);

class BrowserHandover extends QrHandover {
  static get encodingSchema() {
    return z.any();
  }
  get requiresReaderKey() {
    return false;
  }
  get requiresDeviceEngagement() {
    return false;
  }
}

/** The session transcript of ISO/IEC 18013-7, C.5. */
export function browserTranscript(encryptionInfo, origin) {
  const hash = new Uint8Array(createHash("sha256").update(cborEncode([encryptionInfo, origin])).digest());
  return SessionTranscript.create({ handover: BrowserHandover.fromDecodedStructure(["dcapi", hash]) });
}
