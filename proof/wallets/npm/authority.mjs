// An authority that certifies one document signer, for tests without Go.
import "reflect-metadata";
import { X509CertificateGenerator, BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, ExtendedKeyUsageExtension, SubjectKeyIdentifierExtension, AuthorityKeyIdentifierExtension } from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const usageSigner = "1.0.18013.5.1.2";

/** Returns the authority's certificate in PEM, and what issue() needs of its signer. */
export async function newAuthority() {
  const [root, own] = await Promise.all([0, 1].map(() => crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])));
  const validity = { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) };
  const authority = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "01", name: "CN=Utopia,C=UT", ...validity, signingAlgorithm: algorithm, keys: root,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await SubjectKeyIdentifierExtension.create(root.publicKey),
    ],
  });
  const signer = await X509CertificateGenerator.create({
    serialNumber: "02", subject: "CN=Utopia document signer,C=UT", issuer: authority.subject, ...validity, signingAlgorithm: algorithm,
    publicKey: own.publicKey, signingKey: root.privateKey,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([usageSigner]),
      await AuthorityKeyIdentifierExtension.create(root.publicKey),
    ],
  });
  return {
    certificate: authority.toString("pem"),
    signer: Buffer.from(signer.rawData).toString("base64"),
    key: await crypto.subtle.exportKey("jwk", own.privateKey),
  };
}
