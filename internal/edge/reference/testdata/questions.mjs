// What people ask the search of the documentation, over the script that it runs in the
// browser and the index that the gateway serves, whose file is the argument.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = readFileSync(new URL("../../../../templates/reference/static/search.js", import.meta.url), "utf8");
const { Index, entriesOf, fillers, shown, synonyms, translated } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const entries = entriesOf(JSON.parse(readFileSync(process.env.INDEX, "utf8")));
const index = new Index(entries);
const asSupport = new Index(entries, "en", "/docs/support"); // as on the page of support's guide
const inGerman = new Index(translated(entries, "/docs/support.de", readFileSync(`${process.env.INDEX}.de`, "utf8")), "de"); // as on a page in German

const found = {
  status_at: "/docs/reference#getSessionStatus-200",
  "Status_At": "/docs/reference#getSessionStatus-200",
  statsu_at: "/docs/reference#getSessionStatus-200",
  status_t: "/docs/reference#getSessionStatus-200",
  "FALLBACK": "/docs/test-outcomes#test-every-outcome",
  insufficient_credit: "/docs/errors#insufficient_credit",
  insuficient_credit: "/docs/errors#insufficient_credit",
  "webhook timeout": "/docs/verify-webhook#what-else-to-do",
  "create a session": "/docs/reference#createSession",
  tobacco: "/docs/laws#what-counts-where",
  uninstall: "/docs/install#remove-agegate",
  "remove agegate": "/docs/install#remove-agegate",
  AgegateBackupOld: "/docs/trouble#alerts",
  is_adult: "/docs/test-outcomes#the-names-of-an-outcome",
  ROUTED_TO_FALLBACK: "/docs/test-outcomes#the-names-of-an-outcome",
  "status_at nosuchwordanywhere": "/docs/reference#getSessionStatus-200",
  ["status_at" + " a".repeat(1000)]: "/docs/reference#getSessionStatus-200",
};

test("fields, values and errors are found, also with one typo", () => {
  for (const [query, want] of Object.entries(found)) {
    const urls = index.search(query).slice(0, 8).map(({ url }) => url);
    assert.ok(urls.includes(want), `${query.slice(0, 40)} leads to ${urls}, want ${want}`);
  }
});

test("what is not there is not found", () => {
  for (const query of ["", " ", "/", "xqzvw", "\ufffd\ufffe", "x".repeat(5000)]) {
    assert.deepEqual(index.search(query), [], query.slice(0, 20));
  }
});

test("one letter of a short word makes another word, unless it is missing", () => {
  const matches = (query) => index.search(query).map(({ match }) => match.toLowerCase());
  const words = ["cart", "wire", "spain"].flatMap(matches);
  assert.deepEqual(words.filter((word) => ["part", "card", "wine", "were", "span"].includes(word)), []);
  assert.ok(matches("camra").includes("camera"));
});

test("a short word finds no middles of others, and a beginning comes before a middle", () => {
  const matches = (query) => index.search(query).filter(({ match }) => match).map(({ match }) => match.toLowerCase());
  assert.deepEqual(matches("vin").filter((word) => word.includes("vin")), []);
  for (const asked of ["cove", "port"]) {
    const begins = matches(asked).map((word) => word.startsWith(asked)).join();
    assert.match(begins, /^(true,?)*(false,?)*$/, `${asked}: ${begins}`);
  }
});

const answers = {
  remboursement: "/docs/go-live#when-an-order-is-refunded",
  itsme: "/docs/laws#which-proofs-the-gateway-reads",
  eID: "/docs/support#which-document-a-driving-licence-eid-or-digid",
  vin: "/docs/integrate#which-minimum-age",
  iframe: "/docs/integrate#not-in-an-iframe",
  price: "/docs/go-live#what-a-check-costs",
  cost: "/docs/go-live#what-a-check-costs",
  refund: "/docs/go-live#when-an-order-is-refunded",
  "WordPress": "/docs/door#wordpress",
  shopify: "/docs/door#shopify-woocommerce-and-other-shop-software",
  shopware: "/docs/door#shopify-woocommerce-and-other-shop-software",
  "document check": "/docs/document#the-document-check",
  privacy: "/docs/privacy#privacy-for-merchants",
  "privacy policy": "/docs/privacy#privacy-for-merchants",
  gdpr: "/docs/privacy#who-is-responsible",
  cookie: "/docs/privacy#cookies",
  fairness: "/docs/expect#who-passes-by-group-and-sex",
  postgresql: "/docs/grow#sqlite-to-postgresql",
  "webhook signature": "/docs/verify-webhook#verify-a-webhook-signature",
  "webhook signature fails": "/docs/verify-webhook#when-the-signature-fails",
  nextjs: "/docs/frameworks#nextjs",
  "next.js": "/docs/frameworks#nextjs",
  nodejs: "/docs/clients#typescript-and-javascript",
  "verify webhook": "/docs/verify-webhook#verify-a-webhook-signature",
  "test mode": "/docs/test-outcomes#test-every-outcome",
  sandbox: "/docs/test-outcomes#test-every-outcome",
  "redirect token": "/docs/verify-token#verify-a-redirect-token",
  "minimum age 16": "/docs/integrate#which-minimum-age",
  cors: "/docs/integrate#keep-the-api-key-on-your-server",
  "rate limit": "/docs/reference#limits",
  idempotency: "/docs/reference#idempotency",
  bearer: "/docs/errors#missing-or-malformed-api-key",
  "api key": "/docs/integrate#keep-the-api-key-on-your-server",
  python: "/docs/clients#python",
  "go live": "/docs/go-live#go-live",
  "rotate secret": "/docs/go-live#rotate-a-key-or-a-secret",
  polling: "/docs/reference#polling",
  language: "/docs/integrate#the-language-of-the-page",
  webview: "/docs/integrate#not-in-an-iframe",
  error: "/docs/errors#errors-by-detail",
  payment: "/docs/integrate#before-or-after-the-payment",
  status: "/docs/reference#getSessionStatus",
  status_at: "/docs/reference#getSessionStatus-200",
  livemode: "/docs/reference#sessionCompleted-body",
  "Session not found": "/docs/errors#session-not-found",
  insuficient_credit: "/docs/errors#insufficient_credit",
  "402": "/docs/errors#402",
  // In the words of shop owners, support, legal, operators and developers:
  "refused wrongly": "/docs/support#a-shopper-was-refused-wrongly",
  "wrong result": "/docs/support#a-shopper-was-refused-wrongly",
  "safari camera": "/docs/support#the-camera-does-not-open",
  "camera not working": "/docs/support#the-camera-does-not-open",
  iphone: "/docs/support#the-camera-does-not-open",
  "shopper has no camera": "/docs/support#the-camera-does-not-open",
  forgot: "/docs/support#a-colleague-cannot-log-in",
  "forgot password": "/docs/support#a-colleague-cannot-log-in",
  "reset password": "/docs/support#a-colleague-cannot-log-in",
  "log in": "/docs/support#a-colleague-cannot-log-in",
  login: "/docs/support#a-colleague-cannot-log-in",
  "2fa": "/docs/support#a-colleague-cannot-log-in",
  "invite colleague": "/docs/support#a-colleague-cannot-log-in",
  "session expired": "/docs/support#the-link-has-expired",
  "webhook not arriving": "/docs/verify-webhook#when-no-webhook-arrives",
  "webhook disabled": "/docs/verify-webhook#when-no-webhook-arrives",
  "timestamp too old": "/docs/verify-webhook#when-the-signature-fails",
  "replay attack": "/docs/verify-token#what-else-to-do",
  "get api key": "/docs/integrate#integrate-in-five-minutes",
  "success url wrong": "/docs/integrate#success-url-and-cancel-url",
  "callback host not registered": "/docs/integrate#success-url-and-cancel-url",
  "session stuck pending": "/docs/integrate#3-confirm-the-pass",
  "how do I install the plugin": "/docs/wordpress#ten-minutes",
  "cost per check": "/docs/go-live#what-a-check-costs",
  "how accurate is the age estimation": "/docs/expect#who-passes",
  "false positive minors": "/docs/expect#who-passes",
  "health check": "/docs/watch#uptime-the-health-check",
  prometheus: "/docs/watch#what-the-prometheus-metrics-count",
  "how many checks per hour": "/docs/install#which-server-is-enough",
  "hardware requirements": "/docs/install#which-server-is-enough",
  "how much memory": "/docs/install#which-server-is-enough",
  "hosting cost": "/docs/install#which-server-is-enough",
  "rename tenant": "/docs/tenants#run-it-for-several-shops",
  "sizing a server": "/docs/install#which-server-is-enough",
  "high availability": "/docs/grow#add-replicas",
  pgbouncer: "/docs/grow#use-pgbouncer-or-another-pooler",
  failover: "/docs/grow#survive-the-loss-of-a-database",
  "let's encrypt": "/docs/certificates#tls-without-a-proxy",
  "audit log export": "/docs/staff#read-the-audit-log",
  "delete a session": "/docs/stored#delete-a-session-at-once",
  Datenschutzerklärung: "/docs/privacy#privacy-for-merchants",
  "environment variables": "/docs/configure#configuration",
  "encryption at rest": "/docs/back-up#keep-and-change-the-secret-key",
  subprocessors: "/docs/privacy#the-contract-with-your-operator",
  "data location": "/docs/privacy#the-contract-with-your-operator",
  "webhook ip address": "/docs/verify-webhook#when-no-webhook-arrives",
  "two shops one account": "/docs/staging#staging-and-production",
  "report a vulnerability": "/docs/configure#set-the-imprint-and-contacts",
  "E-Zigaretten": "/docs/laws#what-counts-where",
  GPU: "/docs/install#which-server-is-enough",
  firewall: "/docs/configure#set-the-addresses-and-the-port",
  "outgoing connections": "/docs/configure#set-the-addresses-and-the-port",
  opentelemetry: "/docs/watch#traces",
  "data processing agreement": "/docs/privacy#the-contract-with-your-operator",
  Auftragsverarbeitung: "/docs/privacy#the-contract-with-your-operator",
  "right to erasure": "/docs/privacy#the-contract-with-your-operator",
  "black women": "/docs/expect#what-to-expect",
  "false negatives": "/docs/expect#who-passes",
  "switch to live": "/docs/go-live#go-live",
  "buy credit": "/docs/go-live#what-a-check-costs",
  "change button colour": "/docs/integrate#your-logo-and-colours",
  "delete customer data": "/docs/support#a-shopper-wants-their-data-deleted-or-shown",
  support: "/docs/support#support-help-your-shoppers",
  "how long is data kept": "/docs/privacy#what-data-is-stored-and-for-how-long",
  dpa: "/docs/privacy#the-contract-with-your-operator",
  "legal basis": "/docs/privacy#what-to-tell-your-shoppers",
  pricing: "/docs/go-live#what-a-check-costs",
  "how much": "/docs/go-live#what-a-check-costs",
  "free tier": "/docs/go-live#what-a-check-costs",
  "leaked key": "/docs/go-live#rotate-a-key-or-a-secret",
  "how long does it take": "/docs/expect#how-long-a-check-takes",
  "how fast is a check": "/docs/expect#how-long-a-check-takes",
  "do minors pass": "/docs/expect#who-passes",
  "skin colour": "/docs/expect#who-passes-by-group-and-sex",
  translate: "/docs/integrate#the-language-of-the-page",
  "returning customer": "/docs/integrate#customers-who-were-checked-already",
  "repeat customer": "/docs/integrate#customers-who-were-checked-already",
  subscription: "/docs/integrate#customers-who-were-checked-already",
  laravel: "/docs/clients#php",
  django: "/docs/frameworks#django",
  "next.js": "/docs/frameworks#nextjs",
  fastapi: "/docs/frameworks#fastapi",
  "cloudflare workers": "/docs/frameworks#hono-on-cloudflare-workers",
  rails: "/docs/clients#ruby-java-and-other-languages",
  ngrok: "/docs/localhost#develop-on-localhost",
  "webhook retries": "/docs/reference#webhooks",
  passport: "/docs/document#by-a-photograph",
  "driver license": "/docs/support#which-document-a-driving-licence-eid-or-digid",
  monitoring: "/docs/watch#metrics-and-logs",
  backups: "/docs/back-up#backup",
  upgrading: "/docs/upgrade#upgrade",
  update: "/docs/upgrade#upgrade",
  https: "/docs/certificates#tls-and-the-reverse-proxy",
  "order number": "/docs/integrate#find-the-session-of-an-order",
  "order id": "/docs/integrate#find-the-session-of-an-order",
  metadata: "/docs/integrate#find-the-session-of-an-order",
  "unknown field": "/docs/errors#extra_forbidden",
  "rotate key": "/docs/go-live#rotate-a-key-or-a-secret",
  "api key rotate": "/docs/go-live#rotate-a-key-or-a-secret",
  "revoke key": "/docs/go-live#rotate-a-key-or-a-secret",
  "change language": "/docs/integrate#the-language-of-the-page",
  german: "/docs/laws#germany",
  "german language": "/docs/integrate#the-language-of-the-page",
  logo: "/docs/integrate#your-logo-and-colours",
  branding: "/docs/integrate#your-logo-and-colours",
  "custom domain": "/docs/integrate#your-logo-and-colours",
  accessibility: "/docs/integrate#accessibility",
  "screen reader": "/docs/integrate#accessibility",
  cancel: "/docs/integrate#success-url-and-cancel-url",
  "success url": "/docs/integrate#success-url-and-cancel-url",
  "mobile app": "/docs/integrate#not-in-an-iframe",
  embed: "/docs/integrate#not-in-an-iframe",
  alcohol: "/docs/integrate#which-minimum-age",
  wine: "/docs/integrate#which-minimum-age",
  "test card": "/docs/test-outcomes#test-every-outcome",
  minor: "/docs/expect#who-passes",
  deepfake: "/docs/expect#spoofs-pictures-screens-and-deepfakes",
  liveness: "/docs/expect#spoofs-pictures-screens-and-deepfakes",
  "wrong age": "/docs/support#a-shopper-was-refused-wrongly",
  "too young": "/docs/support#too-young-or-old-enough-soon",
  android: "/docs/support#the-camera-does-not-open",
  ios: "/docs/support#the-camera-does-not-open",
  desktop: "/docs/support#the-camera-does-not-open",
  expired: "/docs/support#the-link-has-expired",
  "delete data": "/docs/support#a-shopper-wants-their-data-deleted-or-shown",
  "delete my data": "/docs/support#a-shopper-wants-their-data-deleted-or-shown",
  "after a fallback": "/docs/support#what-comes-after-a-fallback",
  "create a tenant": "/docs/tenants#create-a-tenant",
  "add credit": "/docs/tenants#add-credit",
  "disable a tenant": "/docs/tenants#disable-a-tenant",
  "tenant limits": "/docs/tenants#limit-a-tenant",
  "data retention": "/docs/privacy#what-data-is-stored-and-for-how-long",
  "signature invalid": "/docs/verify-webhook#when-the-signature-fails",
  timeout: "/docs/verify-webhook#what-else-to-do",
  duplicate: "/docs/verify-webhook#what-else-to-do",
  woocommerce: "/docs/door#shopify-woocommerce-and-other-shop-software",
  java: "/docs/clients#ruby-java-and-other-languages",
  "c#": "/docs/clients#ruby-java-and-other-languages",
  "node example": "/docs/clients#typescript-and-javascript",
  chargeback: "/docs/go-live#when-an-order-is-refunded",
  "php example": "/docs/clients#php",
  "invite team member": "/docs/staff#invite-members",
  "adult rejected": "/docs/support#a-shopper-was-refused-wrongly",
  "over 18 but rejected": "/docs/support#a-shopper-was-refused-wrongly",
  "25 but rejected": "/docs/support#a-shopper-was-refused-wrongly",
  "C# client": "/docs/clients#ruby-java-and-other-languages",
  "url not registered": "/docs/integrate#success-url-and-cancel-url",
  "already verified": "/docs/integrate#customers-who-were-checked-already",
  "audit log": "/docs/staff#read-the-audit-log",
  "upgrade backup restore": "/docs/upgrade#upgrade",
  rollback: "/docs/upgrade#roll-back",
  "roll back": "/docs/upgrade#roll-back",
  "new release": "/docs/upgrade#learn-of-a-release",
  "retry camera": "/docs/integrate#another-try-after-a-refusal",
  "back of card": "/docs/document#what-it-does-not-show",
  Jugendschutz: "/docs/laws#what-counts-where",
  "lost second factor": "/docs/staff#recover-or-disable-a-user",
  "webhooks fail": "/docs/trouble#a-tenants-webhooks-fail",
  "Wein Deutschland": "/docs/laws#germany",
  "Alkohol Schweiz": "/docs/laws#what-counts-where",
  Personalausweis: "/docs/laws#the-settings-that-follow",
  "customer says passed but order pending": "/docs/support#passed-but-the-shop-says-not-verified-or-the-order-stays-open",
  "camera on a phone": "/docs/localhost#try-the-camera-on-a-phone",
  "second operator": "/docs/staff#add-a-second-operator",
  "mail server": "/docs/configure#set-a-mail-server",
  vape: "/docs/laws#what-counts-where",
  vaping: "/docs/laws#what-counts-where",
  "e-cigarettes": "/docs/laws#what-counts-where",
  docker: "/docs/compose#one-server-with-compose",
  "docker compose": "/docs/compose#one-server-with-compose",
  retention: "/docs/stored#retention-how-long-it-is-kept-and-what-deletes-it",
  "owner locked out": "/docs/staff#an-owner-is-locked-out-or-left",
  invoice: "/docs/tenants#invoice-a-tenant",
  "what to invoice": "/docs/tenants#invoice-a-tenant",
  imprint: "/docs/configure#set-the-imprint-and-contacts",
  Impressum: "/docs/configure#set-the-imprint-and-contacts",
  commercial: "/docs/go-live#commercial-use-and-the-licence-of-the-estimate",
  "commercial use": "/docs/go-live#commercial-use-and-the-licence-of-the-estimate",
  licence: "/docs/go-live#commercial-use-and-the-licence-of-the-estimate",
  license: "/docs/go-live#commercial-use-and-the-licence-of-the-estimate",
  Lizenz: "/docs/go-live#commercial-use-and-the-licence-of-the-estimate",
  free: "/docs/go-live#what-a-check-costs",
  Kosten: "/docs/go-live#what-a-check-costs",
  Rechnung: "/docs/tenants#invoice-a-tenant",
  facture: "/docs/tenants#invoice-a-tenant",
  DSGVO: "/docs/privacy#who-is-responsible",
  RGPD: "/docs/privacy#who-is-responsible",
  Datenschutz: "/docs/privacy#privacy-for-merchants",
  "cookie banner": "/docs/privacy#cookies",
  DNI: "/docs/document#by-a-photograph",
  knife: "/docs/laws#what-counts-where",
  Altersprüfung: "/docs/laws#what-counts-where",
  email: "/docs/configure#set-a-mail-server",
  smtp: "/docs/configure#set-a-mail-server",
  password: "/docs/support#a-colleague-cannot-log-in",
  accuracy: "/docs/expect#who-passes",
  install: "/docs/install#install-and-start",
  hosting: "/docs/install#as-a-debian-package",
  AVV: "/docs/privacy#who-is-responsible",
  "nightly backup": "/docs/one-shop#5-back-up-every-night",
  "one shop": "/docs/one-shop#one-small-shop-on-one-server",
  "small shop": "/docs/one-shop#one-small-shop-on-one-server",
  "first operator": "/docs/staff#make-the-first-account",
  "which server": "/docs/install#which-server-is-enough",
  "several shops": "/docs/tenants#run-it-for-several-shops",
  uptime: "/docs/watch#uptime-the-health-check",
  spain: "/docs/laws#spain",
  "sex toys": "/docs/laws#what-counts-where",
  lingerie: "/docs/laws#what-counts-where",
  discreet: "/docs/privacy#a-shop-for-adults",
  "browser history": "/docs/privacy#a-shop-for-adults",
  "self host": "/docs/install#install-and-start",
  "over 18": "/docs/integrate#which-minimum-age",
  "disk full": "/docs/trouble#the-disk-is-full",
  "certificate expired": "/docs/trouble#the-certificate-has-expired",
  "address not allowed": "/docs/trouble#address-not-allowed",
  "webhook blocked": "/docs/trouble#a-tenants-webhooks-fail",
  "address already in use": "/docs/trouble#it-does-not-start",
  "another server is already running": "/docs/trouble#it-does-not-start",
  "operator left": "/docs/trouble#an-operator-left",
  "mail not sent": "/docs/trouble#a-mail-is-not-sent",
  "move to another server": "/docs/trouble#move-to-another-server",
  "lost secret key": "/docs/back-up#keep-and-change-the-secret-key",
  "which port": "/docs/configure#set-the-addresses-and-the-port",
  snus: "/docs/laws#sweden",
  BankID: "/docs/laws#which-proofs-the-gateway-reads",
  "order number search": "/docs/integrate#find-the-session-of-an-order",
  SPID: "/docs/laws#which-proofs-the-gateway-reads",
  DigiD: "/docs/support#which-document-a-driving-licence-eid-or-digid",
  iDIN: "/docs/laws#which-proofs-the-gateway-reads",
  CIE: "/docs/laws#which-proofs-the-gateway-reads",
  Altersnachweis: "/docs/laws#which-proofs-the-gateway-reads",
  Italien: "/docs/laws#italy",
  Niederlande: "/docs/laws#netherlands",
  Frankreich: "/docs/laws#france",
  Spanien: "/docs/laws#spain",
  "hold order until delivery": "/docs/integrate#before-or-after-the-payment",
  Zahlung: "/docs/integrate#before-or-after-the-payment",
  Schlüssel: "/docs/integrate#keep-the-api-key-on-your-server",
  "API-Schlüssel": "/docs/integrate#keep-the-api-key-on-your-server",
  Guthaben: "/docs/go-live#what-a-check-costs",
  Testmodus: "/docs/test-outcomes#test-every-outcome",
  Fehler: "/docs/errors#errors-by-detail",
  Sprache: "/docs/integrate#the-language-of-the-page",
  "Webhook einrichten": "/docs/verify-webhook#verify-a-webhook-signature",
  "restore backup": "/docs/back-up#backup",
  "add a language": "/docs/configure#add-a-new-language",
  "new language": "/docs/configure#add-a-new-language",
  // More words than a search takes:
  "Idempotency key reused with a different request": "/docs/errors#idempotency-key-reused-with-a-different-request",
};

test("what newcomers ask is answered by the first result", () => {
  const wrong = Object.entries(answers).map(([query, want]) => ({ query, want, first: index.search(query)[0]?.url })).filter(({ want, first }) => first !== want);
  assert.deepEqual(wrong, []);
});

// Words of a shopper's mail, which support staff search for: the guide for support is the first or second result.
const helped = {
  "camera black": "the-camera-does-not-open",
  "my camera stayed black": "the-camera-does-not-open",
  "I am 40": "a-shopper-was-refused-wrongly",
  "I am 40 and was refused": "a-shopper-was-refused-wrongly",
  "webhook not accepted": "passed-but-the-shop-says-not-verified-or-the-order-stays-open",
  "the shop says I am not verified": "passed-but-the-shop-says-not-verified-or-the-order-stays-open",
  charged: "charged-for-the-check-and-refunds",
  "I was charged": "charged-for-the-check-and-refunds",
  refund: "charged-for-the-check-and-refunds",
  blocked: "a-shopper-says-you-blocked-me",
  "you blocked me": "a-shopper-says-you-blocked-me",
  "may not try again": "a-shopper-says-you-blocked-me",
  "delete data": "a-shopper-wants-their-data-deleted-or-shown",
  "closed the page": "a-shopper-closed-the-page",
  "closed by accident": "a-shopper-closed-the-page",
  "shop says not verified": "passed-but-the-shop-says-not-verified-or-the-order-stays-open",
  "csv columns": "the-columns-of-the-sessions-csv",
  "black screen": "the-camera-does-not-open",
  "my face": "a-shopper-asks-about-their-face-or-data",
  "what do you do with my face": "a-shopper-asks-about-their-face-or-data",
  "how long do you keep it": "a-shopper-asks-about-their-face-or-data",
  "paid twice": "charged-for-the-check-and-refunds",
  "charged twice": "charged-for-the-check-and-refunds",
  "does not read my ID": "the-document-step-does-not-go-on",
  "driving licence not read": "which-document-a-driving-licence-eid-or-digid",
  "my wallet said ok": "the-wallet-does-not-go-on",
  "wallet does nothing": "the-wallet-does-not-go-on",
  "my wallet said OK but the shop says no": "the-wallet-does-not-go-on",
  "I am 34 and your camera said no": "a-shopper-was-refused-wrongly",
  "I never got an e-mail back and paid twice": "charged-for-the-check-and-refunds",
  "my son passed": "a-parent-complains-their-child-was-let-through",
  "parent complains": "a-parent-complains-their-child-was-let-through",
  "is this a scam": "is-this-page-genuine",
  blind: "a-shopper-with-a-disability-or-a-covered-face",
  wheelchair: "a-shopper-with-a-disability-or-a-covered-face",
  "passport was refused": "a-document-was-refused",
  "why was I charged": "charged-for-the-check-and-refunds",
  "can my son use my passport": "a-parent-complains-their-child-was-let-through",
  complaint: "a-parent-complains-their-child-was-let-through",
  hijab: "a-shopper-with-a-disability-or-a-covered-face",
  glasses: "a-shopper-with-a-disability-or-a-covered-face",
  twins: "a-parent-complains-their-child-was-let-through",
  "expired passport": "a-document-was-refused",
  "I passed and the shop did not ship": "passed-but-the-shop-says-not-verified-or-the-order-stays-open",
  "my daughter used my card": "a-parent-complains-their-child-was-let-through",
  "your camera said no and I am 41": "a-shopper-was-refused-wrongly",
  "it hung after my wallet": "the-wallet-does-not-go-on",
  "passport expired": "a-document-was-refused",
  racist: "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
  lawyer: "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
  police: "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
  unfair: "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
  discrimination: "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
  "speak to a human": "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
  "move closer": "the-camera-check-does-not-go-on",
  "hold still but I am": "the-camera-check-does-not-go-on",
  "the arrows never end": "the-camera-check-does-not-go-on",
  "started over three times": "the-camera-check-does-not-go-on",
  "Turn towards the light": "the-camera-check-does-not-go-on",
  "every order": "must-a-shopper-do-this-at-every-order",
  "already verified last week": "must-a-shopper-do-this-at-every-order",
  "I paid and nothing happened": "passed-but-the-shop-says-not-verified-or-the-order-stays-open",
};

test("what shoppers complain of leads to the guide for support", () => {
  const wrong = Object.entries(helped).map(([query, want]) => ({ query, want, found: index.search(query).slice(0, 2).map(({ url }) => url) }))
    .filter(({ want, found }) => !found.includes(`/docs/support#${want}`));
  assert.deepEqual(wrong, []);
  assert.ok(index.search("shopper deleted account GDPR").some(({ url }) => url === "/docs/support#a-shopper-wants-their-data-deleted-or-shown"));
});

// The same in German. Pages in English search the titles of the guide in German, and pages in German its texts too.
const geholfen = {
  gesperrt: "ein-kunde-schreibt-sie-haben-mich-gesperrt",
  "Daten löschen": "ein-kunde-will-auskunft-über-gesicht-und-daten-oder-sie-löschen-lassen",
  Auskunft: "ein-kunde-will-auskunft-über-gesicht-und-daten-oder-sie-löschen-lassen",
  "Seite geschlossen": "ein-kunde-hat-die-seite-geschlossen",
  abgelehnt: "ein-kunde-wurde-zu-unrecht-abgelehnt",
  "Ausweis abgelehnt": "ein-dokument-etwa-ein-ausweis-wurde-abgelehnt",
  "Kamera schwarz": "die-kamera-geht-nicht-auf-oder-ihr-bild-ist-schwarz",
  "Nicht gemeldet": "bestanden-aber-dem-shop-nicht-gemeldet-oder-die-bestellung-bleibt-offen",
  "Link abgelaufen": "der-link-ist-abgelaufen",
  Erstattung: "geld-für-die-prüfung-und-erstattungen",
  anmelden: "jemand-aus-dem-team-kann-sich-nicht-anmelden",
  Eltern: "ein-minderjähriger-hat-bestanden-oder-eltern-beschweren-sich",
  Betrug: "ist-diese-seite-echt-oder-betrug",
  Behinderung: "ein-kunde-mit-behinderung-oder-schleier",
  rassistisch: "ein-wütendes-schreiben-rassistisch-ungerecht-anwalt-polizei",
  Anwalt: "ein-wütendes-schreiben-rassistisch-ungerecht-anwalt-polizei",
};

const mitText = {
  Gesicht: "ein-kunde-fragt-nach-gesicht-und-daten",
  Foto: "es-geht-mit-dem-dokument-nicht-weiter",
  gelöscht: "ein-kunde-will-auskunft-über-gesicht-und-daten-oder-sie-löschen-lassen",
  "Wallet sagte OK": "es-geht-mit-der-wallet-nicht-weiter",
  abgebucht: "geld-für-die-prüfung-und-erstattungen",
  Diskriminierung: "ein-wütendes-schreiben-rassistisch-ungerecht-anwalt-polizei",
  "Pfeile hören nicht auf": "es-geht-mit-der-kamera-nicht-weiter",
  "Kommen Sie näher": "es-geht-mit-der-kamera-nicht-weiter",
  "bei jeder Bestellung": "muss-ein-kunde-das-bei-jeder-bestellung-tun",
  "bezahlt und nichts passiert": "bestanden-aber-dem-shop-nicht-gemeldet-oder-die-bestellung-bleibt-offen",
};

test("what shoppers complain of in German leads to the guide in German, which no question in English finds first", () => {
  const guide = /^\/docs\/support\.de#/;
  for (const [query, want] of Object.entries(geholfen)) {
    for (const asked of [index, inGerman]) {
      const first = asked.search(query)[0];
      assert.deepEqual([first?.url, first?.lang], [`/docs/support.de#${want}`, "de"], query);
    }
  }
  for (const query of [...Object.keys(answers), ...Object.keys(helped), "team", "link", "support", "date", "was", "person"]) {
    assert.doesNotMatch(index.search(query)[0]?.url ?? "", guide, query);
  }
  for (const [query, want] of Object.entries(mitText)) assert.equal(inGerman.search(query)[0]?.url, `/docs/support.de#${want}`);
  for (const query of ["Kamera", "Webhooks", "Link", "Wallet"]) assert.match(inGerman.search(query)[0].url, guide, query);
  assert.ok(inGerman.entries.every(({ lang, text }, i) => (lang === "de") === (i < entries.filter(({ lang }) => lang).length) && (!lang || text.length > 100 && !/[*`|]|\]\(/.test(text))));
  assert.ok(entries.every(({ url, text, lang }) => guide.test(url) === (lang === "de") && !(lang && text)));
});

// What support staff type, and a title of the shopper's page that they paste, in the language of the page.
const gefragt = {
  rückerstattung: "geld-für-die-prüfung-und-erstattungen",
  "Geld zurück": "geld-für-die-prüfung-und-erstattungen",
  löschung: "ein-kunde-will-auskunft-über-gesicht-und-daten-oder-sie-löschen-lassen",
  "schwarzer Bildschirm": "die-kamera-geht-nicht-auf-oder-ihr-bild-ist-schwarz",
  "mein Sohn ist 16": "ein-minderjähriger-hat-bestanden-oder-eltern-beschweren-sich",
  "DSGVO Auskunft": "ein-kunde-will-auskunft-über-gesicht-und-daten-oder-sie-löschen-lassen",
};

test("parts of words, and words of a shopper, lead to the guide in German, with an excerpt", () => {
  for (const [query, want] of Object.entries(gefragt)) {
    const [first] = inGerman.search(query);
    assert.equal(first?.url, `/docs/support.de#${want}`, query);
    assert.ok(first.before + first.match + first.after, query);
  }
});

test("each title with which the shopper's page ends or refuses leads to the guide for support", () => {
  const ends = /^(trouble\.(?!waiting)|notice\.(?!force_)|(fallback|spoof|onward|queue|handover\.expired)\.title).*/;
  for (const [lang, asked, guide] of [["en", index, "/docs/support#"], ["de", inGerman, "/docs/support.de#"]]) {
    const texts = JSON.parse(readFileSync(new URL(`../../../../templates/shopper/locales/${lang}.json`, import.meta.url), "utf8"));
    const titles = Object.entries(texts).filter(([key]) => key.endsWith(".title") && ends.test(key));
    assert.ok(titles.length > 25);
    const lost = titles.map(([, title]) => [title, asked.search(title)[0]?.url]).filter(([, url]) => !url?.startsWith(guide));
    assert.deepEqual(lost, []);
  }
});

test("no result is of the changelog, which says what changed and not what is", () => {
  assert.equal(entries.some(({ page }) => page === "Changelog"), false);
});

test("each synonym leads to a word of the pages, and no word that the search leaves out has one", () => {
  for (const [asked, word] of Object.entries(synonyms)) assert.ok(index.words.has(word) && !fillers.has(asked), `${asked} leads to ${word}`);
});

test("what is shown around a match is short, and begins and ends with whole words where it has any", () => {
  for (const { url, before, match, after } of index.search("session")) {
    assert.ok((before + match + after).length <= 400, url);
  }
  const filler = "abcde ".repeat(40);
  const long = "x".repeat(210);
  for (const [text, before, after] of [
    [`${filler}match ${filler}`, `… ${"abcde ".repeat(11)}`, `${" abcde".repeat(11)} …`],
    ["one match two", "one ", " two"],
    [`${long}-match-${long}`, `… ${long.slice(0, 69)}-`, `-${long.slice(0, 69)} …`],
  ]) {
    assert.deepEqual(shown({ title: "", page: "", url: "", text }, "match"), { title: "", page: "", url: "", lang: undefined, before, match: "match", after });
  }
});

test("the search on support's guide shows its sections first", () => {
  for (const [query, part] of Object.entries({
    refund: "charged-for-the-check-and-refunds", chargeback: "charged-for-the-check-and-refunds",
    "underage order": "a-parent-complains-their-child-was-let-through", headscarf: "a-shopper-with-a-disability-or-a-covered-face",
  })) assert.equal(asSupport.search(query)[0]?.url, `/docs/support#${part}`, query);
});
